#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <istream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/floating_point.hpp"

/// The text of a checkpoint: lists of numbers in hexadecimal, and a hash.
namespace incontext::training::detail {

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

}  // namespace incontext::training::detail
