#include "examples/support/csv_records.hpp"

#include <algorithm>

#include "examples/support/text.hpp"

// Splits text into records and cells. A record is a line, or several where a quoted cell holds line ends; what the cells
// mean is not known here.

namespace incontext::examples {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Takes the next line that is neither a comment nor blank.
std::string_view take_line(std::string_view& text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!trimmed(line).empty() && line.front() != '#') return trimmed(line);
  }
  return {};
}

/// The words of a line between blanks; one in quotation marks may hold some.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  bool quoted = false;
  for (std::size_t i = 0, first = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (quoted || !is_blank(line[i]))) continue;
    if (i > first) words.push_back(line.substr(first, i - first));
    first = i + 1;
  }
  return words;
}

/// Whether blanks separate these lines: as many words, or in the first one fewer, and one of the second is a number.
bool are_separated_by_blanks(std::string_view line, std::string_view next) {
  const auto names = words_of(line), cells = words_of(next);
  const bool fits = cells.size() == names.size() || cells.size() == names.size() + 1;
  return names.size() > 1 && fits &&
         std::any_of(cells.begin(), cells.end(), [](std::string_view cell) { return parse_decimal(cell).has_value(); });
}

}  // namespace

char separator_of(std::string_view text, Header header) {
  const std::string_view line = take_line(text);
  std::string bare;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c != ' ') bare += c;
  }
  if (bare.find(';') != std::string::npos) return ';';
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const bool beside_comma = (i > 0 && bare[i - 1] == ',') || (i + 1 < bare.size() && bare[i + 1] == ',');
    if (bare[i] == '\t' && !beside_comma) return '\t';
  }
  if (bare.find(',') != std::string::npos) return ',';
  const std::string_view first = line.substr(0, line.find(' ')), next = take_line(text);
  if (header != Header::required && (parse_decimal(first) || names_non_finite(first))) return ' ';
  return are_separated_by_blanks(line, next) ? ' ' : ',';
}

std::optional<double> parse_cell(std::string_view cell, char separator) {
  const std::size_t comma = separator == ',' ? std::string_view::npos : cell.find(',');
  if (comma == std::string_view::npos) return parse_decimal(cell);
  std::string with_point(cell);
  if (with_point.find('.') != std::string::npos) return std::nullopt;
  with_point[comma] = '.';
  return parse_decimal(with_point);
}

bool Records::next() {
  if (at_ >= text_.size()) return false;
  start_ = {at_, line_};
  cells_.clear();
  copies_.clear();
  comment_ = begins_comment();
  if (comment_) {
    at_ = std::min(text_.find('\n', at_), text_.size());  // quotation marks have no meaning in a comment
  } else if (separator_ == ' ') {
    split_at_blanks();
  } else {
    split();
  }
  if (at_ < text_.size()) {
    ++at_;  // the line's end
    ++line_;
  }
  return true;
}

bool is_error_value(std::string_view cell) {
  if (cell.size() < 3 || cell.front() != '#' || (cell.back() != '!' && cell.back() != '?')) return false;
  cell = cell.substr(1, cell.size() - 2);
  return cell.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_") == std::string_view::npos;
}

bool Records::begins_comment() {
  if (text_[at_] != '#') return false;
  const std::size_t end = std::min(text_.find_first_of(std::string{separator_, '\n'}, at_), text_.size());
  const std::string_view cell = trimmed(text_.substr(at_, end - at_));
  if (names_missing(cell) || is_error_value(cell)) return false;
  const bool blank_follows = at_ + 1 < text_.size() && is_blank(text_[at_ + 1]);
  cells_of_comment_ = blank_follows ? 0 : cells_in_line();
  return blank_follows || cells_of_row_ == 0 || cells_of_comment_ != cells_of_row_;
}

/// Of this line, where separators inside a cell in quotation marks do not count.
std::size_t Records::cells_in_line() const {
  std::string_view line = text_.substr(at_, text_.find('\n', at_) - at_);
  while (!line.empty() && is_blank(line.back()) && line.back() != separator_) line.remove_suffix(1);
  std::size_t cells = 1;
  bool begins = true, quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (begins || quoted)) quoted = !quoted;
    const bool ends = separator_ == ' ' ? is_blank(line[i]) && !is_blank(line[i + 1]) : line[i] == separator_;
    begins = ends && !quoted;
    if (begins) ++cells;
  }
  return cells;
}

void Records::split() {
  for (;;) {
    read_cell();
    if (at_ >= text_.size() || text_[at_] != separator_) return;
    ++at_;
  }
}

void Records::read_cell() {
  if (at_ < text_.size() && text_[at_] == '"') {
    read_quoted_cell();
    return;
  }
  const std::size_t first = at_;
  while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
  cells_.push_back(trimmed(text_.substr(first, at_ - first)));
}

void Records::read_quoted_cell() {
  std::string& cell = copies_.emplace_back();
  for (++at_;; ++at_) {
    if (at_ >= text_.size()) {
      throw InputError(file_ + ": line " + std::to_string(start_.line) +
                       ": quoted cell is never closed (needs a second quotation mark)");
    }
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] != '"') {
      cell += text_[at_];
    } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
      cell += text_[++at_];
    } else {
      ++at_;
      break;
    }
  }
  const auto ends = [this](char c) { return c == '\n' || (separator_ == ' ' ? is_blank(c) : c == separator_); };
  while (at_ < text_.size() && !ends(text_[at_])) cell += text_[at_++];
  cells_.push_back(trimmed(cell));
}

void Records::split_at_blanks() {
  while (at_ < text_.size() && text_[at_] != '\n') {
    const std::size_t first = at_;
    if (text_[at_] == '"') {
      read_quoted_cell();
    } else {
      while (at_ < text_.size() && text_[at_] != '\n' && !is_blank(text_[at_])) ++at_;
      if (at_ > first) cells_.push_back(text_.substr(first, at_ - first));
    }
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  if (cells_.empty()) cells_.emplace_back();
}

}  // namespace incontext::examples
