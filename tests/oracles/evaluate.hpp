#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/oracles/kinds/cases.hpp"

/// Computes every case of a file of reference values: all numbers agree, and a wrong one does not.
namespace incontext::oracles {

inline Json oracles_of(const std::string& room) {
  std::ifstream file(std::string(INCONTEXT_ORACLES) + "/" + room + ".json");
  return parse_json({std::istreambuf_iterator<char>(file), {}});
}

/// Every number and word in a value, however nested.
inline std::vector<Json*> entries_of(Json& value) {
  if (!value.is_structured()) return {&value};
  std::vector<Json*> all;
  for (Json& item : value) {
    const std::vector<Json*> part = entries_of(item);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// What no computation of this entry gives: another word, or a number that is off by one part in 10^6 of `scale`, and
/// by ten tolerances at least.
inline Json spoiled(const Json& entry, const Tolerance& tolerance, double scale) {
  const auto number = oracle_number(entry);
  if (!number || !std::isfinite(*number)) return "another word";
  const double size = std::max(scale, std::abs(*number));
  const double tolerated = tolerance.relative * size + tolerance.absolute;
  return *number + std::max({1e-6 * std::abs(*number), 10 * tolerated, 1e-300});
}

/// The kinds of these rooms, no two of one name.
inline Registry kinds_of(std::initializer_list<void (*)(Registry&)> rooms) {
  Registry all;
  for (const auto& add : rooms) {
    Registry kinds;
    add(kinds);
    for (const auto& [kind, compute] : kinds) {
      if (!all.emplace(kind, compute).second) throw std::logic_error("two kinds of one name: " + kind);
    }
  }
  return all;
}

/// Every case agrees with all its references, and with no number changed. What has no reference is finite. No case, no
/// reference and no kind is left out.
inline void check_file(Json document, const Registry& kinds) {
  const bool by_largest = by_largest_entry(document);
  const std::vector<EvaluatedCase> cases = evaluate_cases(document, kinds);
  std::size_t numbers = 0, expected = 0;
  std::set<std::string> used;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Json& one = document["cases"][i];
    expected += entries_of(one["out"]).size();
    used.insert(cases[i].kind);
    CHECK(problem_of(cases[i]).empty());
    for (const EvaluatedField& field : cases[i].fields) {
      CAPTURE(cases[i].id, field.name);
      if (!field.reference) {
        Json computed = field.computed;
        for (const Json* entry : entries_of(computed)) {
          if (entry->is_number()) CHECK(std::isfinite(entry->get<double>()));
        }
        continue;
      }
      const Tolerance tolerance = detail::tolerance_of(field.name, Fields(one, cases[i].id), by_largest);
      Json reference = *field.reference;
      const double scale = by_largest ? detail::largest_entry(reference) : 0;
      for (Json* entry : entries_of(reference)) {
        ++numbers;
        const Json right = *entry;
        *entry = spoiled(right, tolerance, scale);
        INFO(right << " against " << *entry);
        CHECK_FALSE(compare(field.computed, reference, tolerance, "").agrees());
        *entry = right;
      }
    }
  }
  CHECK(numbers == expected);
  CHECK(used.size() == kinds.size());
}

/// A wrong value planted in any field is noticed, and the case is named.
inline void check_that_wrong_values_are_noticed(const Json& document, const Registry& kinds) {
  for (const Json& wrong : {Json("nan"), Json(nullptr), Json(12345.678)}) {
    CAPTURE(wrong);
    Json planted = document;
    for (Json& one : planted["cases"]) {
      for (Json& field : one["out"]) *entries_of(field).back() = wrong;
    }
    for (const EvaluatedCase& one : evaluate_cases(planted, kinds)) {
      CHECK(problem_of(one).starts_with(one.id + ": "));
      for (const EvaluatedField& field : one.fields) {
        CAPTURE(one.id, field.name);
        if (field.reference) CHECK_FALSE(field.deviation.agrees());
      }
    }
  }
}

/// Both, for tests/oracles/<file>.json.
inline void check_oracles(const std::string& file, std::initializer_list<void (*)(Registry&)> rooms) {
  const Json document = oracles_of(file);
  const Registry kinds = kinds_of(rooms);
  check_file(document, kinds);
  check_that_wrong_values_are_noticed(document, kinds);
}

}  // namespace incontext::oracles
