#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "incontext/training/detail/checkpoint_text.hpp"
#include "incontext/training/trainer.hpp"

/// States of training in files.
namespace incontext::training {

/// Writes a state to a file. The file is complete or not there: a temporary file beside it is renamed at the end.
/// `settings` is one line that says what is being trained; load_checkpoint asks for the same line.
///
/// Source    a text of ours: settings, steps, and every number in hexadecimal, so that no bit is lost; last a hash.
/// Errors    std::runtime_error that names the file if it cannot be written.
/// Accuracy  exact: tests/training/checkpoint.cpp.
/// Runs on   host
inline void save_checkpoint(const std::string& path, std::string_view settings, const TrainingState& state) {
  std::ostringstream text;
  text << "incontext checkpoint 1\n" << settings << "\nsteps " << state.adam.steps << '\n';
  detail::write_numbers(text, "parameters", state.parameters);
  detail::write_numbers(text, "first", state.adam.first);
  detail::write_numbers(text, "second", state.adam.second);
  const std::string body = text.str(), temporary = path + ".part";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << body << "hash " << detail::hash_of(body) << '\n';
    out.flush();
    if (!out) {
      std::remove(temporary.c_str());
      throw std::runtime_error("training::save_checkpoint: cannot write '" + temporary + "'");
    }
  }
  std::error_code failed;
  std::filesystem::rename(temporary, path, failed);
  if (failed) {
    std::remove(temporary.c_str());
    throw std::runtime_error("training::save_checkpoint: cannot write '" + path + "': " + failed.message());
  }
}

/// Reads a state from a file that save_checkpoint wrote with the same settings.
///
/// Errors    std::runtime_error that names the file if it cannot be read, is cut, altered or no checkpoint, or is of
///           other settings. The file is never changed.
/// Accuracy  exact: tests/training/checkpoint.cpp.
/// Runs on   host
inline TrainingState load_checkpoint(const std::string& path, std::string_view settings) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("training::load_checkpoint: cannot read '" + path + "'");
  std::ostringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line != "incontext checkpoint 1") detail::refuse_checkpoint(path, "is no checkpoint");
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
  if (!(in >> word >> state.adam.steps) || word != "steps") detail::refuse_checkpoint(path, "is damaged");
  state.parameters = detail::read_numbers(in, "parameters", path);
  state.adam.first = detail::read_numbers(in, "first", path);
  state.adam.second = detail::read_numbers(in, "second", path);
  return state;
}

}  // namespace incontext::training
