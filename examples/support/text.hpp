#pragma once

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

/// Text the programs read: whole files, and decimal numbers in them.
namespace incontext::examples {

/// What a user handed over cannot be used: a file, a cell, an option. The programs print it as one line and exit
/// with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The layout every refusal shares with the library's own: `where: problem (value = ...; needs ...)`.
template <class Value>
[[noreturn]] void throw_input_error(std::string_view where, std::string_view problem, const Value& value,
                                    std::string_view needs) {
  std::ostringstream text;
  text << where << ": " << problem << " (value = " << value << "; needs " << needs << ")";
  throw InputError(std::move(text).str());
}

/// The whole of a file, or of standard input for "-". Binary, nothing translated.
inline std::string read_whole_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw_input_error(path, "cannot be read", path, "a file, not a folder");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw_input_error(path, "cannot be opened", path, "a readable file");
  std::string content{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw_input_error(path, "cannot be read to its end", path, "a readable file");
  return content;
}

inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// A decimal number `[sign] digits [. digits] [e exponent]`, correctly rounded; nothing for any other text, so that
/// "nan", "inf", "0x10" and "1,5" are refused. As strtod: infinity past the largest double, 0 below the smallest.
inline std::optional<double> parse_decimal(std::string_view text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::size_t at = 0;
  const auto sign = [&] { at += at < text.size() && (text[at] == '+' || text[at] == '-') ? 1 : 0; };
  const auto digits = [&] {
    const std::size_t first = at;
    while (digit(at)) ++at;
    return at - first;
  };
  sign();
  std::size_t mantissa = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    mantissa += digits();
  }
  if (mantissa == 0) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    sign();
    if (digits() == 0) return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  return std::strtod(std::string(text).c_str(), nullptr);
}

/// "nan", "inf", "-Infinity", "NA" and their kin: numbers that are not finite, worth a message of their own.
inline bool names_non_finite(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!lower.empty() && (lower.front() == '+' || lower.front() == '-')) lower.erase(0, 1);
  return lower == "nan" || lower == "na" || lower == "n/a" || lower == "inf" || lower == "infinity";
}

}  // namespace incontext::examples
