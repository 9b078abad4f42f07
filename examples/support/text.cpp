#include "examples/support/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace incontext::examples {

namespace {

/// Bytes of the UTF-8 character `text` begins with; 0 where it begins with none (RFC 3629: no overlong forms, no
/// surrogates, nothing past U+10FFFF) or with a control character of two bytes (U+0080 to U+009F).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80U) return 1;
  if (first < 0xC2U || first > 0xF4U || !continues(1)) return 0;
  if (first < 0xE0U) return first == 0xC2U && second < 0xA0U ? 0 : 2;
  if (!continues(2) || (first == 0xE0U && second < 0xA0U) || (first == 0xEDU && second > 0x9FU)) return 0;
  if (first < 0xF0U) return 3;
  const bool in_range = (first != 0xF0U || second > 0x8FU) && (first != 0xF4U || second < 0x90U);
  return continues(3) && in_range ? 4 : 0;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

[[noreturn]] void throw_unreadable(const std::string& path, const std::string& problem, int error) {
  throw InputError(path + ": " + problem + ": " + std::strerror(error) + " (needs a readable file)");
}

/// A file that is closed when the object is destroyed; standard input stays open.
class ReadFile {
 public:
  explicit ReadFile(const std::string& path)
      : path_(path), descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_unreadable(path_, "cannot be opened", errno);
  }
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;
  ~ReadFile() {
    if (descriptor_ != STDIN_FILENO) ::close(descriptor_);
  }

  /// The number of bytes left in a regular file; 0 for anything else.
  std::size_t size() const {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0) return 0;
    return static_cast<std::size_t>(status.st_size);
  }

  std::size_t read(char* bytes, std::size_t most) {
    for (;;) {
      const ssize_t count = ::read(descriptor_, bytes, most);
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) throw_unreadable(path_, "cannot be read", errno);
    }
  }

 private:
  const std::string& path_;
  int descriptor_;
};

}  // namespace

std::string one_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 1 && (c == '\n' || c == '\r' || c == '\t')) {
      line += ' ';
    } else if (length == 0 || (length == 1 && std::iscntrl(static_cast<unsigned char>(c)) != 0)) {
      line += '?';
    } else {
      line += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

std::string shown(std::string_view text, std::size_t most) {
  // a character has at most four bytes, so nothing that is cut off here would be shown
  const bool cut = text.size() > 4 * (most + 1);
  std::string line = one_line(text.substr(0, 4 * (most + 1)));
  std::size_t end = 0;
  for (std::size_t characters = 0; end < line.size() && characters < most; ++characters) {
    end += utf8_length(std::string_view(line).substr(end));
  }
  if (end == line.size() && !cut) return line;
  return line.substr(0, end) + "...";
}

std::string read_whole_file(const std::string& path) {
  ReadFile file(path);
  std::string content;
  const auto require_size = [&path](std::size_t bytes) {
    if (bytes <= largest_file) return;
    throw_input_error(path, "is too large to be read as a whole", bytes,
                      "at most " + std::to_string(largest_file) + " bytes");
  };
  require_size(file.size());
  content.reserve(file.size() + 1);
  constexpr std::size_t most = std::size_t{1} << 16;
  for (std::size_t count = most; count > 0;) {
    const std::size_t have = content.size();
    require_size(have);
    content.resize(have + most);
    count = file.read(content.data() + have, most);
    content.resize(have + count);
  }
  return content;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> parse_decimal(std::string_view text) {
  const bool plus = !text.empty() && text.front() == '+';
  const std::string_view unsigned_text = text.substr(plus || (!text.empty() && text.front() == '-') ? 1 : 0);
  // from_chars also reads "inf" and "nan"
  if (unsigned_text.empty() ||
      (unsigned_text.front() != '.' && (unsigned_text.front() < '0' || unsigned_text.front() > '9')))
    return std::nullopt;
  if (plus) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  if (error != std::errc()) return std::nullopt;
  return value;
}

bool names_non_finite(std::string_view text) {
  std::string lower = lower_case(text);
  if (!lower.empty() && (lower.front() == '+' || lower.front() == '-')) lower.erase(0, 1);
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

bool names_minus_infinity(std::string_view text) {
  const std::string lower = lower_case(text);
  return lower == "-inf" || lower == "-infinity";
}

bool names_missing(std::string_view text) {
  if (text.size() > 5) return false;
  static constexpr std::array<std::string_view, 9> words{"",     "na",   "n/a",  "nan", "-nan",
                                                         "null", "none", "#n/a", "<na>"};
  return std::find(words.begin(), words.end(), lower_case(text)) != words.end();
}

namespace {

/// The least number of letters to insert, delete, replace or swap with a neighbor: the restricted distance of Damerau
/// and Levenshtein, which edits each place at most once.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::vector<std::size_t>> edits(one.size() + 1, std::vector<std::size_t>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = edits[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits.back().back();
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t fewest = std::max<std::size_t>(word.size() / 3, 1);
  for (const std::string& one : known) {
    const std::size_t edits = word.size() > 2 && one.starts_with(word) ? 1 : edits_between(word, one);
    if (edits > fewest || edits >= word.size() || (edits == fewest && !nearest.empty() && one.size() >= nearest.size()))
      continue;
    fewest = edits;
    nearest = one;
  }
  return nearest;
}

void throw_unknown_word(std::string_view where, std::string_view word, const std::vector<std::string>& known,
                        const char* between) {
  std::string needs;
  for (const std::string& one : known) needs += (needs.empty() ? "" : between) + one;
  const std::string meant = nearest_word(word, known);
  throw_input_error(where, "is unknown", word, meant.empty() ? needs : needs + "; did you mean " + meant + "?");
}

}  // namespace incontext::examples
