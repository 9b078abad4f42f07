#include "examples/support/render.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/report.hpp"
#include "examples/support/version.hpp"

namespace incontext::examples {

namespace detail {

std::size_t screen_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string non_finite_word(double value) { return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"; }

std::string number_text(double value, std::chars_format format, int precision) {
  char buffer[400];
  const auto written = precision < 0 ? std::to_chars(buffer, buffer + sizeof buffer, value)
                                     : std::to_chars(buffer, buffer + sizeof buffer, value, format, precision);
  return std::string(buffer, written.ptr);
}

std::string shown_number(double value, Style style, int decimals, int digits) {
  if (!std::isfinite(value)) return non_finite_word(value);
  if (style == Style::shortest) return number_text(value, std::chars_format::general, digits);
  if (style == Style::two_decimals) return number_text(value, std::chars_format::fixed, 2);
  if (decimals < 0 || (value != 0 && std::abs(value) < 0.5 * std::pow(10.0, -decimals))) {
    return number_text(value, std::chars_format::scientific, std::clamp(digits, 1, 4) - 1);
  }
  return number_text(value, std::chars_format::fixed, decimals);
}

nlohmann::ordered_json json_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return value;
}

}  // namespace detail

namespace {

using namespace detail;

/// The number of decimals that shows `digits` significant digits of the largest finite number and at least 4 of the
/// smallest, or -1 if the column needs exponents.
int shared_decimals(const std::vector<double>& values, int digits) {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (const double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  if (largest == 0) return 0;
  const int high = static_cast<int>(std::floor(std::log10(largest)));
  const int low = static_cast<int>(std::floor(std::log10(smallest)));
  if (high > 7 || high < -4) return -1;
  return std::clamp(std::max(digits - 1 - std::max(high, 0), 3 - low), 0, std::max(8 - high, 0));
}

/// Breaks a line at blanks so that it fits the width; continuation lines are indented.
std::string wrapped(std::string_view text, std::string_view first_indent, std::string_view next_indent,
                    std::size_t width_of_line) {
  std::string result(first_indent);
  std::size_t width = screen_width(first_indent);
  bool line_start = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!line_start && width + 1 + screen_width(word) > width_of_line) {
      result += '\n';
      result += next_indent;
      width = screen_width(next_indent);
      line_start = true;
    }
    if (!line_start) result += ' ';
    result += word;
    width += screen_width(word) + (line_start ? 0 : 1);
    line_start = false;
  }
  return result + '\n';
}

struct CellToJson {
  nlohmann::ordered_json operator()(std::monostate) const { return nullptr; }
  nlohmann::ordered_json operator()(double value) const { return json_number(value); }
  nlohmann::ordered_json operator()(std::int64_t value) const { return value; }
  nlohmann::ordered_json operator()(const std::string& value) const { return value; }
  nlohmann::ordered_json operator()(const Pending&) const { return nullptr; }
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

struct CellToCsv {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(double value) const {
    return std::isfinite(value) ? number_text(value) : std::isnan(value) ? "" : non_finite_word(value);
  }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::string& value) const { return csv_cell(value); }
  std::string operator()(const Pending&) const { return ""; }
};

/// Whether a row without a theory has a number in this column: then it is all that stands beside the simulation.
bool replaces_theory(const Table& table, std::size_t column) {
  const auto theory =
      std::find_if(table.columns.begin(), table.columns.end(), [](const Column& one) { return one.name == "theory"; });
  if (theory == table.columns.end() || table.columns[column].decimals_as == 0) return false;
  const auto at = static_cast<std::size_t>(theory - table.columns.begin());
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
    return std::holds_alternative<std::monostate>(row[at]) && !std::holds_alternative<std::monostate>(row[column]);
  });
}

/// The table for the text report: without what is for CSV and JSON alone, or for the audit, and without empty columns.
Table shown_part(const Table& table, bool audit) {
  Table part{.title = table.title, .columns = {}, .rows = {}, .notes = table.notes};
  if (audit) part.notes.insert(part.notes.end(), table.audit_notes.begin(), table.audit_notes.end());
  part.rows.resize(table.rows.size());
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    const InText in_text = table.columns[j].in_text;
    const bool filled = std::any_of(table.rows.begin(), table.rows.end(), [j](const std::vector<Cell>& row) {
      return !std::holds_alternative<std::monostate>(row[j]);
    });
    const bool wanted = in_text == InText::shown || (filled && in_text == InText::where_filled) ||
                        (filled && in_text == InText::audit && (audit || replaces_theory(table, j)));
    if (!wanted) continue;
    part.columns.push_back(table.columns[j]);
    for (std::size_t i = 0; i < table.rows.size(); ++i) part.rows[i].push_back(table.rows[i][j]);
  }
  return part;
}

}  // namespace

namespace {

/// The number of leading columns that name a row: those before the first group of decimals. The first column alone, if
/// they would take more than half of the width.
std::size_t key_columns_of(const Table& table, const std::vector<std::size_t>& width, std::size_t limit) {
  std::size_t keys = 0, taken = 0;
  while (keys < width.size() && table.columns[keys].decimals_as == 0) taken += 2 + width[keys++];
  return keys == 0 || keys == width.size() || taken > limit / 2 ? 1 : keys;
}

/// Columns by number, in blocks that fit the limit; every block but the first begins with the keys.
std::vector<std::vector<std::size_t>> blocks_of(const Table& table, const std::vector<std::size_t>& width,
                                                std::size_t limit) {
  std::vector<std::vector<std::size_t>> blocks(1);
  std::size_t total = 0;
  for (const std::size_t one : width) total += 2 + one;
  if (total <= limit) {
    for (std::size_t j = 0; j < width.size(); ++j) blocks.front().push_back(j);
    return blocks;
  }
  const std::size_t keys = key_columns_of(table, width, limit);
  std::size_t key_width = 0, taken = 0;
  for (std::size_t j = 0; j < keys; ++j) key_width += 2 + width[j];
  for (std::size_t j = 0; j < width.size(); ++j) {
    if (j > keys && taken + 2 + width[j] > limit && blocks.back().size() > keys) {
      blocks.emplace_back();
      for (std::size_t k = 0; k < keys; ++k) blocks.back().push_back(k);
      taken = key_width;
    }
    blocks.back().push_back(j);
    taken += 2 + width[j];
  }
  return blocks;
}

}  // namespace

std::string render_table(const Table& whole, TextWidth most, bool audit) {
  const Table table = shown_part(whole, audit);
  const std::size_t columns = table.columns.size();
  std::map<int, int> group_decimals;
  std::vector<int> decimals(columns);
  const auto numbers_of = [&](std::size_t j) {
    std::vector<double> numbers;
    for (const auto& row : table.rows) {
      if (const double* value = std::get_if<double>(&row[j])) numbers.push_back(*value);
    }
    return numbers;
  };
  for (std::size_t j = 0; j < columns; ++j) {
    decimals[j] = shared_decimals(numbers_of(j), table.columns[j].digits);
    const int group = table.columns[j].decimals_as;
    if (group == 0) continue;
    // The first column of a group sets the scale: an error shows as many decimals as the number it belongs to.
    decimals[j] = group_decimals.try_emplace(group, decimals[j]).first->second;
  }

  std::vector<std::vector<std::string>> cells(table.rows.size() + 1, std::vector<std::string>(columns));
  std::vector<std::size_t> width(columns);
  std::vector<bool> left(columns, true);
  for (std::size_t j = 0; j < columns; ++j) {
    const Column& column = table.columns[j];
    std::string heading = column.heading.empty() ? column.name : column.heading;
    if (column.heading.empty()) std::replace(heading.begin(), heading.end(), '_', ' ');
    cells[0][j] = column.unit.empty() ? heading : heading + " [" + column.unit + "]";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Cell& cell = table.rows[i][j];
      if (const double* value = std::get_if<double>(&cell)) {
        cells[i + 1][j] = shown_number(*value, column.style, decimals[j], column.digits);
      } else if (const std::int64_t* count = std::get_if<std::int64_t>(&cell)) {
        cells[i + 1][j] = std::to_string(*count);
      } else if (const std::string* word = std::get_if<std::string>(&cell)) {
        cells[i + 1][j] = *word;
      }
      if (std::holds_alternative<double>(cell) || std::holds_alternative<std::int64_t>(cell)) left[j] = false;
    }
    for (const auto& row : cells) width[j] = std::max(width[j], screen_width(row[j]));
  }

  std::string text = wrapped(table.title, "", "  ", most.words) + '\n';
  const auto blocks = blocks_of(table, width, most.tables);
  for (const std::vector<std::size_t>& block : blocks) {
    if (&block != &blocks.front()) text += '\n';
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string line;
      for (const std::size_t j : block) {
        const std::string pad(width[j] - screen_width(cells[i][j]), ' ');
        line += "  " + (left[j] ? cells[i][j] + pad : pad + cells[i][j]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
      if (i > 0) continue;
      for (const std::size_t j : block) text += "  " + std::string(width[j], '-');
      text += '\n';
    }
  }
  if (!table.notes.empty()) text += '\n';
  for (const std::string& note : table.notes) text += wrapped(note, "  ", "    ", most.words);
  return text;
}

namespace {

/// Lower case letters and digits, with underscores between the words; at most about forty characters.
std::string name_from(std::string_view title) {
  constexpr std::size_t longest = 40;
  std::string name;
  bool word_ended = false;
  for (const char c : title.substr(0, title.find_first_of(":,"))) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    if (!kept) {
      word_ended = !name.empty() && c != '\'';
      if (word_ended && name.size() >= longest) break;
      continue;
    }
    if (word_ended) name += '_';
    word_ended = false;
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name.empty() ? "table" : name;
}

constexpr const char* stopped_early = "Stopped early: rows that were not reached are empty.\n";

}  // namespace

std::vector<std::string> table_names(const std::vector<Table>& tables) {
  std::vector<std::string> names;
  for (const Table& table : tables) {
    const std::string own = table.name.empty() ? name_from(table.title) : table.name;
    std::string name = own;
    for (int number = 2; std::find(names.begin(), names.end(), name) != names.end(); ++number) {
      name = own + "_" + std::to_string(number);
    }
    names.push_back(std::move(name));
  }
  return names;
}

TextWidth width_of_standard_output() {
  winsize size = {};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  constexpr std::size_t least = 40;
  const std::size_t columns = std::max<std::size_t>(size.ws_col, least);
  return {.words = columns, .tables = columns};
}

namespace {

/// Where the description begins in a line of a list: behind a gap, at the end of the margin, or at `usual` behind an
/// option whose name leaves a single blank. 0 for a command to copy.
std::size_t description_column(std::string_view line, std::size_t usual) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return 0;
  constexpr std::size_t widest_indent_of_commands = 4;
  const std::size_t gap = line.find("  ", start);
  if (gap != std::string_view::npos) {
    const std::size_t behind = line.find_first_not_of(' ', gap);
    return behind == std::string_view::npos ? 0 : behind;
  }
  if (start > widest_indent_of_commands) return start;
  const bool is_option = line[start] == '-' && usual > 0 && line.size() > usual && line[usual - 1] == ' ';
  return is_option ? usual : 0;
}

}  // namespace

std::string wrapped_help(std::string_view help, std::size_t description, std::size_t width) {
  const auto next_line = [&help] {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view line = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    return line;
  };
  constexpr std::size_t narrowest_description = 8;
  // whether a description goes on in the next line
  const auto continues = [](std::string_view next, std::size_t column) {
    const std::string_view line = next.substr(0, next.find('\n'));
    return line.find_first_not_of(' ') == column && line.find("  ", column) == std::string_view::npos;
  };
  const auto is_prose = [](std::string_view text) { return !text.empty() && text[0] != ' ' && text[0] != '\n'; };
  std::string text;
  while (!help.empty()) {
    const std::string_view line = next_line();
    if (is_prose(line)) {
      std::string lines(line), sentence(line);
      bool fits = screen_width(line) <= width;
      while (sentence.back() != '.' && sentence.back() != ':' && is_prose(help)) {  // the sentence goes on
        const std::string_view more = next_line();
        fits = fits && screen_width(more) <= width;
        lines.append("\n").append(more);
        sentence.append(" ").append(more);
      }
      text += fits ? lines + '\n' : wrapped(sentence, "", "", width);
      continue;
    }
    std::size_t column = screen_width(line) > width ? description_column(line, description) : 0;
    if (column + narrowest_description > width) column = std::min(column, line.find_first_not_of(' '));
    std::string sentence(line.substr(column));
    while (column > 0 && continues(help, column)) sentence.append(" ").append(next_line().substr(column));
    text += column > 0 ? wrapped(sentence, line.substr(0, column), std::string(column, ' '), width)
                       : std::string(line) + '\n';
  }
  return text;
}

std::string render_text(const Report& report, TextWidth width) {
  std::string text;
  for (const Table& table : report.tables) {
    if (report.audit || !table.audit) text += render_table(table, width, report.audit) + '\n';
  }
  return text + render_verdict(report, width);
}

std::string render_verdict(const Report& report, TextWidth width) {
  if (!report.verdict) return report.run.complete ? "" : stopped_early;
  std::string text = report.run.complete ? "" : stopped_early;
  text += wrapped(report.verdict->text, "", "  ", width.words);
  for (const std::string& row : report.verdict->rows) text += wrapped(row, "  ", "    ", width.words);
  return text;
}

namespace {

/// The summary of the run as columns of CSV: their names and the cells of one row.
std::vector<std::pair<std::string, std::string>> run_cells(const Report& report) {
  const auto count = [](const auto& number) { return number ? std::to_string(*number) : std::string(); };
  const RunSummary& run = report.run;
  return {{"command", csv_cell(report.command)},
          {"complete", run.complete ? "true" : "false"},
          {"exit_code", std::to_string(exit_code_of(report))},
          {"run_trials", count(run.trials)},
          {"seconds", number_text(run.seconds)},
          {"device", run.device.value_or("")},
          {"threads", count(run.threads)},
          {"instructions", run.instructions.value_or("")},
          {"seed", count(run.seed)},
          {"version", version()},
          {"commit", commit()}};
}

/// The union of the columns of all tables.
std::vector<std::string> column_names(const Report& report) {
  std::vector<std::string> names;
  for (const Table& table : report.tables) {
    for (const Column& column : table.columns) {
      if (std::find(names.begin(), names.end(), column.name) == names.end()) names.push_back(column.name);
    }
  }
  return names;
}

}  // namespace

std::string render_csv(const Report& report) {
  const std::vector<std::string> names = column_names(report);
  const bool several = report.tables.size() > 1;
  std::string text = several ? "table," : "", run;
  for (const std::string& name : names) text += csv_cell(name) + ',';
  for (const auto& [name, cell] : run_cells(report)) {
    text += name + ',';
    run += cell + ',';
  }
  text.back() = run.back() = '\n';
  const std::vector<std::string> tables = table_names(report.tables);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = report.tables[i];
    for (const auto& row : table.rows) {
      if (several) text += tables[i] + ',';
      for (const std::string& name : names) {
        for (std::size_t j = 0; j < row.size(); ++j) {
          if (table.columns[j].name == name) text += std::visit(CellToCsv{}, row[j]);
        }
        text += ',';
      }
      text += run;
    }
  }
  return text;
}

int exit_code_of(const Report& report) {
  if (report.verdict && report.verdict->agrees == false) return exit_disagreement;
  const bool judged = !report.verdict || report.verdict->agrees == true || !report.run.simulated;
  return judged && report.run.complete ? exit_agreement : exit_incomplete;
}

std::string render_json(const Report& report) {
  using json = nlohmann::ordered_json;
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(); };
  json document = {{"program", report.program},
                   {"version", version()},
                   {"commit", commit()},
                   {"command", report.command},
                   {"arguments", report.arguments},
                   {"complete", report.run.complete},
                   {"trials", or_null(report.run.trials)},
                   {"seconds", report.run.seconds},
                   {"device", or_null(report.run.device)},
                   {"threads", or_null(report.run.threads)},
                   {"instructions", or_null(report.run.instructions)},
                   {"seed", or_null(report.run.seed)}};
  if (report.run.processes) document["processes"] = *report.run.processes;
  document["tables"] = json::array();
  const std::vector<std::string> names = table_names(report.tables);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Table& table = report.tables[i];
    json columns = json::array();
    for (const Column& column : table.columns) {
      columns.push_back({{"name", column.name},
                         {"heading", column.heading.empty() ? column.name : column.heading},
                         {"unit", column.unit}});
    }
    json rows = json::array();
    for (const auto& row : table.rows) {
      json object = json::object();
      for (std::size_t j = 0; j < row.size(); ++j) {
        object[table.columns[j].name] = std::visit(CellToJson{}, row[j]);
      }
      rows.push_back(std::move(object));
    }
    std::vector<std::string> notes = table.notes;
    notes.insert(notes.end(), table.audit_notes.begin(), table.audit_notes.end());
    document["tables"].push_back(
        {{"name", names[i]}, {"title", table.title}, {"columns", columns}, {"rows", rows}, {"notes", notes}});
  }
  document["exit_code"] = exit_code_of(report);
  document["verdict"] = nullptr;
  if (report.verdict) {
    document["verdict"] = {{"agrees", or_null(report.verdict->agrees)}, {"text", report.verdict->text}};
    document["verdict"].update(report.verdict->details);
  }
  return document.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace incontext::examples
