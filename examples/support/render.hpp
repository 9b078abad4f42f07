#pragma once

#include <charconv>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "examples/support/table.hpp"

/// A report as text, as one CSV, or as JSON.
namespace incontext::examples {

struct Report;

/// Where lines of words end in a text that is not written to a terminal.
inline constexpr std::size_t usual_width = 100;

/// How wide text may be. A table that is wider than `tables` is shown in blocks of columns, each of which begins with
/// the columns that name a row.
struct TextWidth {
  std::size_t words = usual_width;
  std::size_t tables = static_cast<std::size_t>(-1);
};

/// The width of the terminal that standard output is; elsewhere the usual width for words, and none for tables, so that
/// the bytes in files and pipes do not depend on where a program runs.
TextWidth width_of_standard_output();

namespace detail {

/// The number of screen columns that a UTF-8 text takes, which is its number of code points.
std::size_t screen_width(std::string_view text);

std::string non_finite_word(double value);

/// `precision` < 0 asks for the shortest text that reads back as the same double.
std::string number_text(double value, std::chars_format format = std::chars_format::general, int precision = -1);

std::string shown_number(double value, Style style, int decimals, int digits);

/// The number as JSON, or null if JSON cannot represent it.
nlohmann::ordered_json json_number(double value);

}  // namespace detail

/// The short names of a report's tables, each its own. A table without a name has the words of its title up to a colon
/// or comma.
std::vector<std::string> table_names(const std::vector<Table>& tables);

std::string render_table(const Table& table, TextWidth width = {}, bool audit = false);

/// The text of --help with its long lines broken: of an option's description, which begins at column `description`, and
/// of paragraphs. Indented lines, which are commands to copy, stay whole.
std::string wrapped_help(std::string_view help, std::size_t description, std::size_t width);

/// Without what is for the audit, unless the report asks for it.
std::string render_text(const Report& report, TextWidth width = {});

/// The lines at the end of the text, which concern the whole report.
std::string render_verdict(const Report& report, TextWidth width = {});

/// One tidy CSV for any number of tables: a first column `table` with their names if there are several, the union of
/// their columns, and then the summary of the run, the same in every row:
///   command, complete, exit_code, run_trials, seconds, device, threads, seed, version, commit
/// An absent cell and NaN are empty; infinities are inf and -inf.
std::string render_csv(const Report& report);

/// The stable JSON of every program:
///   {"program", "version", "commit", "command": the program and its options, "arguments": {option: value},
///    "complete": true | false, "trials", "seconds", "device", "threads", "seed",
///    "tables": [{"name", "title", "columns": [{"name", "heading", "unit"}], "rows": [{name: value}], "notes": [line]}],
///    "exit_code": 0 | 1 | 3, "verdict": {"agrees": true | false | null, "text": line, ...}}
/// `arguments` has every option; null means that it had no effect or no value. `complete` is false if the run was
/// stopped early; `trials` counts all that were run, `device` and `threads` say where. A row to be judged has
/// `theory`, `simulation`, `standard_error`, `z`, `trials`, `values`, `tolerance`, `verdict` ("agrees", "disagrees",
/// "not_judged"; of a control among claims "refuted") and `reason`; one that is shown for comparison has `approximate`
/// in place of `theory`, and no verdict. `agrees` is true only if every requested row was judged and agreed, and null if
/// none disagreed but not all were judged; `verdict` is null if there is nothing to judge. Numbers are JSON numbers;
/// values that are absent, infinite or NaN are null.
std::string render_json(const Report& report);

}  // namespace incontext::examples
