#pragma once

#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracles/kinds/compare.hpp"
#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// A file of cases: {"tolerance": text, "cases": [{"id", "kind", "in", "out"?, "rtol"?, "atol"?, "tolerances"?}]},
/// computed and judged. `tolerances` gives single outputs an rtol and atol of their own.
namespace incontext::oracles {

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

/// JSON from text. A key that an object has twice is refused, because only one of its values could be used.
inline Json parse_json(const std::string& text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  return Json::parse(text, [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw_input_error("JSON", "has a key twice in one object", value.get<std::string>(), "every key once");
    }
    return true;
  });
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
  const Fields fields(item, "case " + shown(result.id));
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

/// Whether the file's `tolerance` says that tolerances are relative to the largest entry of an array.
inline bool by_largest_entry(const Json& document) {
  return document.contains("tolerance") &&
         document["tolerance"].get<std::string>().find("largest |entry|") != std::string::npos;
}

/// Every case of a file of reference values.
inline std::vector<EvaluatedCase> evaluate_cases(const Json& document, const Registry& registry) {
  std::vector<EvaluatedCase> cases;
  for (const Json& item : document.at("cases")) {
    cases.push_back(
        evaluate_case(item, "case number " + std::to_string(cases.size() + 1), registry, by_largest_entry(document)));
  }
  return cases;
}

/// What keeps a case from agreeing with its references, in a line; empty if nothing does. A case of a kind that is unknown,
/// and one without references, agree with nothing.
inline std::string problem_of(const EvaluatedCase& one) {
  if (!one.implemented) return one.id + ": kind " + one.kind + " is unknown";
  bool has_reference = false;
  for (const EvaluatedField& field : one.fields) {
    if (!field.reference) continue;
    has_reference = true;
    if (field.deviation.agrees()) continue;
    return one.id + ": " + field.name + field.deviation.place + ": " + field.deviation.problem + ", computed " +
           field.computed.dump() + ", reference " + field.reference->dump();
  }
  return has_reference ? "" : one.id + ": has no reference";
}

}  // namespace incontext::oracles
