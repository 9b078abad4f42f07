#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <ostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "incontext/core/floating_point.hpp"
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
inline void save_checkpoint(const std::string& path, std::string_view settings, const TrainingState& state);

/// Reads a state from a file that save_checkpoint wrote with the same settings.
///
/// Errors    std::runtime_error that names the file if it cannot be read, is cut, altered or no checkpoint, or is of
///           other settings. The file is never changed.
/// Accuracy  exact: tests/training/checkpoint.cpp.
inline TrainingState load_checkpoint(const std::string& path, std::string_view settings);

// A file that appears complete or not at all.
namespace detail {

/// The file that a name refers to through symbolic links; it need not exist.
inline std::filesystem::path linked_file(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int links = 0; links < most_links; ++links) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return path;
    path = path.parent_path() / std::filesystem::read_symlink(path, error);  // an absolute one replaces all
    if (error) break;
  }
  return path;
}

/// Writes a new file, of a name that nobody can foresee, and gives it the name and the access rights of the older one.
inline void replace_file(const std::string& name, std::string_view content) {
  namespace fs = std::filesystem;
  const fs::path target = linked_file(name);
  char suffix[16];
  std::snprintf(suffix, sizeof suffix, ".%08x", std::random_device()());
  const fs::path temporary = target.parent_path() / (target.filename().string().substr(0, 230) + suffix);
  const auto refuse = [&](const std::error_code& why) {
    throw std::runtime_error("training::save_checkpoint: cannot write '" + name + "': " + why.message());
  };
  const auto last_error = [] { return std::error_code(errno, std::generic_category()); };
  std::FILE* file = std::fopen(temporary.c_str(), "wbx");  // x: no other file, no link
  if (file == nullptr) refuse(last_error());
  std::error_code error;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = last_error();
  if (std::fclose(file) != 0 && !error) error = last_error();
  std::error_code absent;
  const fs::file_status older = fs::status(target, absent);
  if (!error && fs::exists(older)) fs::permissions(temporary, older.permissions(), error);
  if (!error) fs::rename(temporary, target, error);
  if (!error) return;
  std::remove(temporary.c_str());
  refuse(error);
}

}  // namespace detail

// The text of a checkpoint: lists of numbers in hexadecimal, and a hash.
namespace detail {

/// The first line.
inline constexpr std::string_view checkpoint_format = "incontext checkpoint 2";

/// The 64-bit FNV-1a hash, which a file that was cut or altered does not have.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

inline void write_numbers(std::ostream& out, const char* name, const std::vector<double>& numbers) {
  out << name << ' ' << numbers.size() << '\n';
  char text[40];
  for (const double number : numbers) {
    std::snprintf(text, sizeof text, "%a\n", number);
    out << text;
  }
}

[[noreturn]] inline void refuse_checkpoint(const std::string& path, const std::string& why) {
  throw std::runtime_error("training::load_checkpoint: '" + path + "' " + why + "; the file is left as it is");
}

/// The first word in which two lines of settings differ, with the word before it, which names it.
inline std::string first_difference(const std::string& saved, std::string_view given) {
  std::istringstream in_saved(saved);
  std::istringstream in_given{std::string(given)};
  std::string before, one, other;
  while (true) {
    const bool is_longer = static_cast<bool>(in_saved >> one);
    if (!(in_given >> other)) return is_longer ? "it has also " + one : "they differ in white space";
    if (!is_longer) return "this run has also " + other;
    if (one != other) break;
    before = one;
  }
  if (!before.empty()) before += ' ';
  return "it has " + before + one + ", this run " + before + other;
}

inline std::vector<double> read_numbers(std::istream& in, const char* name, const std::string& path) {
  std::string word;
  std::size_t size = 0;
  if (!(in >> word >> size) || word != name || size > (std::size_t{1} << 32)) refuse_checkpoint(path, "is damaged");
  std::vector<double> numbers;
  while (numbers.size() < size && in >> word) numbers.push_back(std::strtod(word.c_str(), nullptr));
  if (numbers.size() < size) refuse_checkpoint(path, "is damaged");
  return numbers;
}

}  // namespace detail

inline void save_checkpoint(const std::string& path, std::string_view settings, const TrainingState& state);

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

}  // namespace incontext::training
