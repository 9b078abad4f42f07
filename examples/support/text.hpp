#pragma once

#include <cstddef>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Text that the programs read and write: whole files, decimal numbers in them, and values in messages.
namespace incontext::examples {

/// Something that the user gave cannot be used: a file, a cell, an option. The programs print it as one line and exit
/// with 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Text that a terminal shows as one line: line ends and tabs are blanks, other control characters and bytes that are
/// not UTF-8 are question marks.
std::string one_line(std::string_view text);

/// The same; a long text is cut after its first characters, followed by "...".
std::string shown(std::string_view text, std::size_t most = 60);

/// The layout of every error message, the same as the library's: `where: problem (value = ...; needs ...)`.
template <class Value>
[[noreturn]] void throw_input_error(std::string_view where, std::string_view problem, const Value& value,
                                    std::string_view needs) {
  std::ostringstream value_text;
  value_text << value;
  std::ostringstream text;
  text << where << ": " << problem << " (value = " << shown(value_text.str()) << "; needs " << needs << ")";
  throw InputError(std::move(text).str());
}

/// Larger files, 4 GB, are no tables, records or reports.
inline constexpr std::size_t largest_file = std::size_t{1} << 32;

/// The whole content of a file of at most largest_file bytes, or of standard input for "-".
std::string read_whole_file(const std::string& path);

std::string_view trimmed(std::string_view text);

/// A decimal number `[sign] digits [. digits] [e exponent]`, correctly rounded; nothing for any other text, so that
/// "nan", "inf", "0x10" and "1,5" are refused. Like strtod it returns infinity above the largest double and 0 below the
/// smallest.
std::optional<double> parse_decimal(std::string_view text);

/// Whether the text is a number that is not finite, such as "nan", "inf" or "-Infinity".
bool names_non_finite(std::string_view text);

/// Whether the text marks a missing number: it is empty, or "NA", "N/A", "NaN", "null" or "None" in
/// upper or lower case.
bool names_missing(std::string_view text);

/// -inf or -Infinity, in any case.
bool names_minus_infinity(std::string_view text);

/// The known word that a misspelled one may mean: it begins with the given one or differs by few letters, fewer than it has; "" if none
/// does.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

/// Refuses a word that is none of the known ones, and asks for the one that it may mean.
[[noreturn]] void throw_unknown_word(std::string_view where, std::string_view word,
                                     const std::vector<std::string>& known, const char* between = "|");

}  // namespace incontext::examples
