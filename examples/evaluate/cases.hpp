#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "examples/evaluate/compare.hpp"
#include "examples/evaluate/fields.hpp"
#include "examples/evaluate/registry.hpp"
#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

/// A file of cases: {"tolerance": text, "cases": [{"id", "kind", "in", "out"?, "rtol"?, "atol"?, "tolerances"?}]},
/// computed and judged. `tolerances` gives single outputs an rtol and atol of their own.
namespace incontext::examples::evaluate {

/// One field of one case.
struct EvaluatedField {
  std::string name;
  Json computed;
  std::optional<Json> reference = {};
  Deviation deviation = {};
};

struct EvaluatedCase {
  std::string id;
  std::string kind;
  bool implemented = false;
  std::vector<EvaluatedField> fields = {};
};

/// Parses JSON. Refuses text that is not JSON, with a message of one line, deeper nesting than any case needs, and a key
/// that an object has twice, because only one of its values could be used.
inline Json parse_json(const std::string& file, const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > 64) throw_input_error(file, "is nested too deeply", depth, "at most 64 levels");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw_input_error(file, "has a key twice in one object", value.get<std::string>(), "every key once");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& error) {
    throw InputError(file + ": is not JSON: " + shown(error.what(), 300));
  } catch (const Json::exception& error) {  // a number that no double can represent
    throw InputError(file + ": cannot be used: " + shown(error.what(), 300));
  }
}

namespace detail {

inline Tolerance read_tolerance(const Fields& fields, bool relative_to_largest_entry) {
  const Tolerance tolerance{.relative = fields.number("rtol"),
                            .absolute = fields.has("atol") ? fields.number("atol") : 0,
                            .relative_to_largest_entry = relative_to_largest_entry};
  for (const double value : {tolerance.relative, tolerance.absolute}) {
    if (value < 0) throw_input_error(fields.path(), "tolerance is negative", value, "0 or more");
  }
  return tolerance;
}

/// The tolerance of one output: the case's own, unless its `tolerances` name another for this output.
inline Tolerance tolerance_of(const std::string& output, const Fields& fields, bool relative_to_largest_entry) {
  const bool own = fields.has("tolerances") && fields.object("tolerances").has(output);
  return read_tolerance(own ? fields.object("tolerances").object(output) : fields, relative_to_largest_entry);
}

/// A misspelled output in `tolerances` must not leave the case's own tolerance in force.
inline void require_tolerances_of(const Json& outputs, const Fields& fields, const Json& item) {
  if (!fields.has("tolerances")) return;
  fields.object("tolerances");  // refuses anything but an object
  for (const auto& [name, tolerance] : item.at("tolerances").items()) {
    if (outputs.contains(name)) continue;
    throw_input_error(fields.path() + ".tolerances", "names no reference of the case", name, "a field of out");
  }
}

/// Finite inputs give numbers or infinities; a formula that overflows in an intermediate step has no value.
inline void require_numbers(const Json& value, const std::string& path) {
  if (value.is_number_float() && std::isnan(value.get<double>())) {
    throw InputError(path + ": has no value for these inputs, because the formula overflows in double precision");
  }
  if (!value.is_structured()) return;
  for (const auto& [name, part] : value.items()) require_numbers(part, path + "." + name);
}

}  // namespace detail

inline EvaluatedCase evaluate_case(const Json& item, const std::string& path, const Registry& registry,
                                   bool relative_to_largest_entry) {
  const Fields unnamed(item, path);
  EvaluatedCase result{.id = unnamed.text("id"), .kind = {}};
  const Fields fields(item, path.substr(0, path.rfind(": ")) + ": case " + shown(result.id));
  result.kind = fields.text("kind");
  const Fields in = fields.object("in");
  const auto evaluator = registry.find(result.kind);
  result.implemented = evaluator != registry.end();
  if (!result.implemented) return result;

  Json computed;
  try {
    computed = evaluator->second(in);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(fields.path() + ": " + error.what());
  }
  detail::require_numbers(computed, fields.path());
  const bool judged = fields.has("out");
  Json references = judged ? item.at("out") : Json::object();
  if (judged) {
    fields.object("out");  // refuses anything but an object
    detail::read_tolerance(fields, relative_to_largest_entry);
    detail::require_tolerances_of(references, fields, item);
  }
  for (const auto& [name, value] : computed.items()) {
    EvaluatedField field{.name = name, .computed = value};
    if (references.contains(name)) {
      field.reference = references[name];
      const Tolerance tolerance = detail::tolerance_of(name, fields, relative_to_largest_entry);
      field.deviation = compare(value, *field.reference, tolerance, "");
      references.erase(name);
    }
    result.fields.push_back(std::move(field));
  }
  // A reference for what this kind does not compute must not pass in silence.
  for (const auto& [name, value] : references.items()) {
    result.fields.push_back({name, nullptr, value, detail::hopeless("", "not computed")});
  }
  return result;
}

/// `progress` is told how many cases are done, of how many.
inline std::vector<EvaluatedCase> evaluate_cases(
    const std::string& file, const std::string& text, const Registry& registry,
    const std::function<void(std::size_t done, std::size_t all)>& progress = [](std::size_t, std::size_t) {}) {
  const Json document = parse_json(file, text);
  const Fields fields(document, file);
  const bool by_largest =
      fields.has("tolerance") && fields.text("tolerance").find("largest |entry|") != std::string::npos;
  if (!fields.has("cases") || !document["cases"].is_array()) {
    throw_input_error(file, "has no array of cases", "cases", "\"cases\": [...]");
  }
  if (document["cases"].empty()) throw_input_error(file, "has an empty list of cases", "[]", "at least one case");
  std::vector<EvaluatedCase> cases;
  for (const Json& item : document["cases"]) {
    const std::string path = file + ": case number " + std::to_string(cases.size() + 1);
    cases.push_back(evaluate_case(item, path, registry, by_largest));
    progress(cases.size(), document["cases"].size());
  }
  return cases;
}

namespace detail {

using examples::detail::nested_text, examples::detail::number_text;

/// A scalar to 12 digits; an array by its sizes, an object by its number of fields.
inline std::string shown_value(const Json& value) {
  if (value.is_number_float()) return number_text(value.get<double>(), std::chars_format::general, 12);
  if (value.is_object()) return "{" + std::to_string(value.size()) + " fields}";
  if (!value.is_array()) return nested_text({value});
  std::string sizes;
  for (const Json* level = &value; level->is_array() && !level->empty(); level = &(*level)[0]) {
    sizes += (sizes.empty() ? "" : " x ") + std::to_string(level->size());
  }
  return "[" + sizes + " numbers]";
}

}  // namespace detail

namespace detail {

/// Whether all numbers in a computed value are finite.
inline bool all_finite(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  if (!value.is_structured()) return true;
  return std::all_of(value.begin(), value.end(), [](const Json& item) { return all_finite(item); });
}

/// The verdict on a field or a case, with its reason.
struct Finding {
  std::string verdict = {};  ///< agrees, disagrees or not_judged; empty if there is nothing to judge
  std::string reason = {};
};

inline Finding finding_of(const EvaluatedField& field, bool has_references) {
  if (field.reference) {
    if (field.deviation.agrees()) return {"agrees"};
    return {"disagrees", field.name + field.deviation.place + ": " + field.deviation.problem + ", computed " +
                             nested_text({field.computed}) + ", reference " + nested_text({*field.reference})};
  }
  if (!all_finite(field.computed)) {
    return {"not_judged", field.name + " is " + nested_text({field.computed}) + ", and no reference says so"};
  }
  if (!has_references) return {"not_judged", "no reference"};
  return {};
}

/// The worst of a case's findings, with the first reason for it.
struct CaseFinding {
  Finding worst = {"agrees"};
  std::int64_t compared = 0;
  bool not_finite = false;

  void add(const Finding& finding, bool has_reference) {
    compared += has_reference ? 1 : 0;
    not_finite = not_finite || (finding.verdict == "not_judged" && finding.reason != "no reference");
    const bool worse = finding.verdict == "disagrees" || (finding.verdict == "not_judged" && worst.verdict == "agrees");
    if (worse && worst.verdict != "disagrees") worst = finding;
  }
};

/// The numbers of cases by verdict.
struct CaseCounts {
  std::int64_t agree = 0, disagree = 0, without_reference = 0, not_finite = 0, not_implemented = 0, fields = 0;
};

inline Verdict verdict_of(std::size_t cases, const CaseCounts& n, std::vector<std::string> rows) {
  const std::int64_t left = n.without_reference + n.not_finite + n.not_implemented;
  Verdict verdict{.rows = std::move(rows)};
  if (n.disagree > 0) verdict.agrees = false;
  if (n.disagree == 0 && left == 0) verdict.agrees = true;
  verdict.text = (n.disagree > 0 ? "DISAGREEMENT: "
                  : left > 0     ? "Incomplete: "
                                 : "Agreement: ") +
                 std::to_string(cases) + (cases == 1 ? " case, " : " cases, ") + std::to_string(n.agree) + " agree (" +
                 std::to_string(n.fields) + " fields), " + std::to_string(n.disagree) + " disagree, " +
                 std::to_string(n.without_reference) + " without reference, " + std::to_string(n.not_finite) +
                 " not finite, " + std::to_string(n.not_implemented) + " not implemented.";
  verdict.details = {{"cases", cases},
                     {"agree", n.agree},
                     {"disagree", n.disagree},
                     {"fields_compared", n.fields},
                     {"without_reference", n.without_reference},
                     {"not_finite", n.not_finite},
                     {"not_implemented", n.not_implemented}};
  return verdict;
}

}  // namespace detail

enum class ReportedRows {
  not_agreeing,  ///< without those that agree with their references: what people want to see
  all,
  in_full  ///< all, with every number of an array, for CSV and JSON
};

/// The table for people has scalars to 12 digits, and of an array its sizes and its worst entry.
inline Report report_cases(const std::vector<EvaluatedCase>& cases, ReportedRows reported) {
  const bool complete = reported == ReportedRows::in_full;
  Report report;
  Table table{.title = reported == ReportedRows::not_agreeing
                           ? "Computed values that do not agree with their references, or are not judged"
                           : "Computed values of every case, compared with the reference where there is one",
              .columns = {{"case"},
                          {"field"},
                          {"computed"},
                          {.name = "kind", .in_text = InText::hidden},
                          {.name = "reference", .in_text = InText::hidden},
                          {.name = "error_over_tolerance", .heading = "err/tol", .digits = 2, .style = Style::shortest},
                          {"verdict"},
                          {.name = "reason", .in_text = InText::hidden}}};
  const auto word = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
  detail::CaseCounts counts;
  std::vector<std::string> rows;
  for (const EvaluatedCase& item : cases) {
    if (!item.implemented) {
      ++counts.not_implemented;
      const std::string reason = "kind " + item.kind + " is unknown";
      table.add_row({item.id, Cell(), Cell(), item.kind, Cell(), Cell(), "not_judged", reason});
      rows.push_back("Not judged: " + item.id + ": " + reason + ".");
      continue;
    }
    const bool has_references = std::any_of(item.fields.begin(), item.fields.end(),
                                            [](const EvaluatedField& field) { return field.reference.has_value(); });
    detail::CaseFinding found;
    for (const EvaluatedField& field : item.fields) {
      const detail::Finding finding = detail::finding_of(field, has_references);
      found.add(finding, field.reference.has_value());
      if (reported == ReportedRows::not_agreeing && (finding.verdict.empty() || finding.verdict == "agrees")) continue;
      const Cell computed = complete ? Cell{Nested{field.computed}} : Cell{detail::shown_value(field.computed)};
      table.add_row({item.id, field.name, computed, item.kind,
                     field.reference ? Cell(Nested{*field.reference}) : Cell(),
                     field.reference ? Cell(field.deviation.error_over_tolerance) : Cell(), word(finding.verdict),
                     word(finding.verdict == "agrees" ? "" : finding.reason)});
    }
    counts.fields += found.compared;
    if (found.worst.verdict == "agrees") {
      ++counts.agree;
      continue;
    }
    const bool disagrees = found.worst.verdict == "disagrees";
    ++(disagrees ? counts.disagree : found.not_finite ? counts.not_finite : counts.without_reference);
    rows.push_back((disagrees ? "Disagrees: " : "Not judged: ") + item.id + ": " + found.worst.reason + ".");
  }
  if (!table.rows.empty() || reported != ReportedRows::not_agreeing) report.tables.push_back(std::move(table));
  report.verdict = detail::verdict_of(cases.size(), counts, std::move(rows));
  return report;
}

}  // namespace incontext::examples::evaluate
