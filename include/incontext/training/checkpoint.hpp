#pragma once

#include <cstddef>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/training/detail/checkpoint_text.hpp"
#include "incontext/training/detail/replace_file.hpp"
#include "incontext/training/trainer.hpp"

/// States of training in files.
namespace incontext::training {

/// Writes a state to a file. The file is complete or not there: a new file with a random name beside it is renamed at
/// the end. Symbolic links and access rights of an older file are kept. `settings` is one line that says what is being
/// trained; load_checkpoint asks for the same line.
///
/// Source    a text of ours: settings, steps, and every number in hexadecimal, so that no bit is lost; last a hash.
/// Errors    std::runtime_error that names the file if it cannot be written.
/// Accuracy  exact: tests/training/checkpoint.cpp.
inline void save_checkpoint(const std::string& path, std::string_view settings, const TrainingState& state) {
  std::ostringstream text;
  text << detail::checkpoint_format << '\n' << settings << "\nsteps " << state.adam.steps << '\n';
  detail::write_numbers(text, "first_loss", {state.first_loss});
  detail::write_numbers(text, "parameters", state.parameters);
  detail::write_numbers(text, "first", state.adam.first);
  detail::write_numbers(text, "second", state.adam.second);
  const std::string body = text.str();
  detail::replace_file(path, body + "hash " + std::to_string(detail::hash_of(body)) + "\n");
}

/// Reads a state from a file that save_checkpoint wrote with the same settings.
///
/// Errors    std::runtime_error that names the file if it cannot be read, is cut, altered or no checkpoint, or is of
///           other settings. The file is never changed.
/// Accuracy  exact: tests/training/checkpoint.cpp.
inline TrainingState load_checkpoint(const std::string& path, std::string_view settings) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("training::load_checkpoint: cannot read '" + path + "'");
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line != detail::checkpoint_format) {
    detail::refuse_checkpoint(path, "is no checkpoint of this release");
  }
  const std::size_t end = text.rfind("hash ");
  if (end == std::string::npos ||
      text.substr(end) != "hash " + std::to_string(detail::hash_of(text.substr(0, end))) + "\n") {
    detail::refuse_checkpoint(path, "is damaged");
  }
  std::getline(in, line);
  if (line != settings) {
    detail::refuse_checkpoint(path, "is a checkpoint of other settings: " + detail::first_difference(line, settings) +
                                        " ('" + line + "', not '" + std::string(settings) + "')");
  }
  TrainingState state;
  std::string word;
  if (!(in >> word >> state.adam.steps) || word != "steps" || state.adam.steps < 0) {
    detail::refuse_checkpoint(path, "is damaged");
  }
  const std::vector<double> first_loss = detail::read_numbers(in, "first_loss", path);
  if (first_loss.size() != 1) detail::refuse_checkpoint(path, "is damaged");
  state.first_loss = first_loss.front();
  state.parameters = detail::read_numbers(in, "parameters", path);
  state.adam.first = detail::read_numbers(in, "first", path);
  state.adam.second = detail::read_numbers(in, "second", path);
  return state;
}

}  // namespace incontext::training
