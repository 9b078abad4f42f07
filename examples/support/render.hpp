#pragma once

#include <charconv>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "examples/support/table.hpp"

/// A report as text for a terminal of 100 columns, as one CSV, or as JSON.
namespace incontext::examples {

struct Report;

inline constexpr std::size_t terminal_width = 100;

namespace detail {

/// Columns on the screen a UTF-8 text takes: its code points.
std::size_t screen_width(std::string_view text);

std::string non_finite_word(double value);

/// `precision` < 0 asks for the shortest text that reads back as the same double.
std::string number_text(double value, std::chars_format format = std::chars_format::general, int precision = -1);

std::string shown_number(double value, Style style, int decimals, int digits);

nlohmann::ordered_json json_number(double value);

std::string nested_text(const Nested& nested);

}  // namespace detail

std::string render_table(const Table& table);

std::string render_text(const Report& report);

/// One CSV whatever the number of tables: the union of their columns, and a first column `table` where there are
/// several.
std::string render_csv(const Report& report);

/// The stable JSON of every program:
///   {"program", "version", "arguments": {option: value},
///    "tables": [{"title", "columns": [{"name", "heading", "unit"}], "rows": [{name: value}], "notes": [line]}],
///    "verdict": {"agrees": true | false, "text": line, ...}}
/// Numbers are JSON numbers; those JSON cannot hold are the words "inf", "-inf", "nan"; an absent cell is null.
std::string render_json(const Report& report);

}  // namespace incontext::examples
