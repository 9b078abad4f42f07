#include "examples/support/text.hpp"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

namespace incontext::examples {

std::string read_whole_file(const std::string& path) {
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

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> parse_decimal(std::string_view text) {
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

bool names_non_finite(std::string_view text) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (!lower.empty() && (lower.front() == '+' || lower.front() == '-')) lower.erase(0, 1);
  return lower == "nan" || lower == "na" || lower == "n/a" || lower == "inf" || lower == "infinity";
}

}  // namespace incontext::examples
