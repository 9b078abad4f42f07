#pragma once

#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

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
std::string read_whole_file(const std::string& path);

std::string_view trimmed(std::string_view text);

/// A decimal number `[sign] digits [. digits] [e exponent]`, correctly rounded; nothing for any other text, so that
/// "nan", "inf", "0x10" and "1,5" are refused. As strtod: infinity past the largest double, 0 below the smallest.
std::optional<double> parse_decimal(std::string_view text);

/// "nan", "inf", "-Infinity", "NA" and their kin: numbers that are not finite, worth a message of their own.
bool names_non_finite(std::string_view text);

}  // namespace incontext::examples
