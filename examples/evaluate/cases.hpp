#pragma once

#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "examples/evaluate/compare.hpp"
#include "examples/evaluate/fields.hpp"
#include "examples/evaluate/registry.hpp"
#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

/// A file of cases: {"tolerance": text, "cases": [{"id", "kind", "in", "out"?, "rtol"?, "atol"?}]}, computed and
/// judged.
namespace incontext::examples {

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

/// Parses JSON; refuses what is not JSON in one line, and nesting deeper than any case needs.
inline Json parse_json(const std::string& file, const std::string& text) {
  const auto limit_depth = [&file](int depth, Json::parse_event_t, Json&) {
    if (depth > 64) throw_input_error(file, "is nested too deeply", depth, "at most 64 levels");
    return true;
  };
  try {
    return Json::parse(text, limit_depth);
  } catch (const Json::parse_error& error) {
    throw InputError(file + ": is not JSON: " + error.what());
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

/// Finite inputs give numbers or infinities; where a formula overflows on the way it has no value.
inline void require_numbers(const Json& value, const std::string& path) {
  if (value.is_number_float() && std::isnan(value.get<double>())) {
    throw InputError(path + ": has no value for these inputs: they are beyond what double precision can work out");
  }
  if (!value.is_structured()) return;
  for (const auto& [name, part] : value.items()) require_numbers(part, path + "." + name);
}

}  // namespace detail

inline EvaluatedCase evaluate_case(const Json& item, const std::string& path, const Registry& registry,
                                   bool relative_to_largest_entry) {
  const Fields unnamed(item, path);
  EvaluatedCase result{.id = unnamed.text("id"), .kind = {}};
  const Fields fields(item, path.substr(0, path.rfind(": ")) + ": case " + result.id);
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
  const Tolerance tolerance = judged ? detail::read_tolerance(fields, relative_to_largest_entry) : Tolerance{};
  Json references = judged ? item.at("out") : Json::object();
  if (judged) fields.object("out");  // refuses anything but an object
  for (const auto& [name, value] : computed.items()) {
    EvaluatedField field{.name = name, .computed = value};
    if (references.contains(name)) {
      field.reference = references[name];
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

inline std::vector<EvaluatedCase> evaluate_cases(const std::string& file, const std::string& text,
                                                 const Registry& registry) {
  const Json document = parse_json(file, text);
  const Fields fields(document, file);
  const bool by_largest =
      fields.has("tolerance") && fields.text("tolerance").find("largest |entry|") != std::string::npos;
  if (!fields.has("cases") || !document["cases"].is_array()) {
    throw_input_error(file, "has no array of cases", "cases", "\"cases\": [...]");
  }
  std::vector<EvaluatedCase> cases;
  for (const Json& item : document["cases"]) {
    const std::string path = file + ": case number " + std::to_string(cases.size() + 1);
    cases.push_back(evaluate_case(item, path, registry, by_largest));
  }
  return cases;
}

namespace detail {

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

/// The table people read: scalars to 12 digits, arrays by their sizes and their worst entry.
/// For CSV and JSON (`complete`) every number stands in full beside its reference.
inline Report report_cases(const std::vector<EvaluatedCase>& cases, bool complete) {
  Report report{.program = "incontext-evaluate"};
  Table table{.title = "Computed values of every case, compared with the reference where there is one",
              .columns = {{"case"}, {"field"}, {"computed"}}};
  if (complete) table.columns.insert(table.columns.end(), {{"kind"}, {"reference"}});
  table.columns.push_back(
      {.name = "error_over_tolerance", .heading = "err/tol", .digits = 2, .style = Style::shortest});
  table.columns.push_back({"verdict"});
  std::int64_t agreeing = 0, disagreeing = 0, unjudged = 0, missing = 0, fields = 0;
  for (const EvaluatedCase& item : cases) {
    bool agrees = true, judged = false;
    const auto add = [&](const std::string& field, Cell computed, Cell reference, Cell ratio, std::string verdict) {
      std::vector<Cell> row{item.id, field, std::move(computed)};
      if (complete) row.insert(row.end(), {item.kind, std::move(reference)});
      row.insert(row.end(), {std::move(ratio), std::move(verdict)});
      table.add_row(std::move(row));
    };
    if (!item.implemented) {
      ++missing;
      add("", complete ? Cell{} : Cell{"not implemented"}, {}, {}, complete ? "not implemented" : "");
      continue;
    }
    for (const EvaluatedField& field : item.fields) {
      const Cell computed = complete ? Cell{Nested{field.computed}} : Cell{detail::shown_value(field.computed)};
      if (!field.reference) {
        add(field.name, computed, {}, {}, "");
        continue;
      }
      judged = true;
      ++fields;
      agrees = agrees && field.deviation.agrees();
      add(field.name, computed, Nested{*field.reference}, field.deviation.error_over_tolerance,
          field.deviation.agrees() ? "agrees" : "DISAGREES");
      if (field.deviation.agrees()) continue;
      table.notes.push_back(item.id + ": " + field.name + field.deviation.place + ": " + field.deviation.problem +
                            ", computed " + detail::nested_text({field.computed}) + ", reference " +
                            detail::nested_text({*field.reference}));
    }
    (judged ? agrees ? agreeing : disagreeing : unjudged) += 1;
  }
  report.tables.push_back(std::move(table));
  report.verdict.agrees = disagreeing == 0;
  report.verdict.text = (disagreeing == 0 ? "Agreement: " : "DISAGREEMENT: ") + std::to_string(cases.size()) +
                        " cases, " + std::to_string(agreeing) + " agree (" + std::to_string(fields) + " fields), " +
                        std::to_string(disagreeing) + " disagree, " + std::to_string(unjudged) +
                        " without reference, " + std::to_string(missing) + " not implemented.";
  report.verdict.details = {{"cases", cases.size()},         {"agree", agreeing},
                            {"disagree", disagreeing},       {"fields_compared", fields},
                            {"without_reference", unjudged}, {"not_implemented", missing}};
  return report;
}

}  // namespace incontext::examples
