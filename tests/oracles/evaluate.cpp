// Computes every case of every file of reference values: all numbers agree, and a wrong one does not.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/oracles/kinds/attention.hpp"
#include "tests/oracles/kinds/baselines.hpp"
#include "tests/oracles/kinds/cases.hpp"
#include "tests/oracles/kinds/classification.hpp"
#include "tests/oracles/kinds/laws.hpp"
#include "tests/oracles/kinds/regression.hpp"
#include "tests/oracles/kinds/scoring.hpp"
#include "tests/oracles/kinds/softmax.hpp"
#include "tests/oracles/kinds/temperature_rules.hpp"
#include "tests/oracles/kinds/training.hpp"

namespace incontext::oracles {
namespace {

const Registry& all_kinds() {
  static const Registry registry = [] {
    Registry all;
    for (const auto& add :
         {register_regression, register_laws, register_scoring, register_attention, register_softmax_error,
          register_training, register_baselines, register_temperature_rules, register_classification}) {
      Registry kinds;
      add(kinds);
      for (const auto& [kind, compute] : kinds) {
        if (!all.emplace(kind, compute).second) throw std::logic_error("two kinds of one name: " + kind);
      }
    }
    return all;
  }();
  return registry;
}

Json oracles_of(const std::string& room) {
  std::ifstream file(std::string(INCONTEXT_ORACLES) + "/" + room + ".json");
  return parse_json({std::istreambuf_iterator<char>(file), {}});
}

/// Every number and word in a value, however nested.
std::vector<Json*> entries_of(Json& value) {
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
Json spoiled(const Json& entry, const Tolerance& tolerance, double scale) {
  const auto number = oracle_number(entry);
  if (!number || !std::isfinite(*number)) return "another word";
  const double size = std::max(scale, std::abs(*number));
  const double tolerated = tolerance.relative * size + tolerance.absolute;
  return *number + std::max({1e-6 * std::abs(*number), 10 * tolerated, 1e-300});
}

struct Counts {
  std::size_t cases = 0, fields = 0, numbers = 0;
};

/// One file: every case agrees with all its references, of which there are `expected`, and with no number changed. What has
/// no reference is finite.
void check_file(const std::string& room, const Counts& expected) {
  const Json document = oracles_of(room);
  const bool by_largest = by_largest_entry(document);
  const std::vector<EvaluatedCase> cases = evaluate_cases(document, all_kinds());
  std::size_t fields = 0, numbers = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Json& one = document["cases"][i];
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
      ++fields;
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
  CHECK(cases.size() == expected.cases);
  CHECK(fields == expected.fields);
  CHECK(numbers == expected.numbers);
}

}  // namespace

TEST_CASE("regression: every reference value is reproduced, and no other number", "[oracles]") {
  check_file("regression", {.cases = 49, .fields = 144, .numbers = 190});
}

TEST_CASE("scoring and laws: every reference value is reproduced, and no other number", "[oracles]") {
  check_file("scoring", {.cases = 151, .fields = 837, .numbers = 2442});
}

TEST_CASE("classification: every reference value is reproduced, and no other number", "[oracles]") {
  check_file("classification", {.cases = 108, .fields = 251, .numbers = 1997});
}

TEST_CASE("baselines: every reference value is reproduced, and no other number", "[oracles]") {
  check_file("baselines", {.cases = 44, .fields = 109, .numbers = 109});
}

TEST_CASE("temperature rules: every reference value is reproduced, and no other number", "[oracles]") {
  check_file("temperature_rules", {.cases = 72, .fields = 82, .numbers = 82});
}

TEST_CASE("a wrong value planted in any field is noticed, and the case is named", "[oracles]") {
  for (const std::string room : {"regression", "scoring", "classification", "baselines", "temperature_rules"}) {
    const Json document = oracles_of(room);
    for (const Json& wrong : {Json("nan"), Json(nullptr), Json(12345.678)}) {
      CAPTURE(room, wrong);
      Json planted = document;
      for (Json& one : planted["cases"]) {
        for (Json& field : one["out"]) *entries_of(field).back() = wrong;
      }
      for (const EvaluatedCase& one : evaluate_cases(planted, all_kinds())) {
        CHECK(problem_of(one).starts_with(one.id + ": "));
        for (const EvaluatedField& field : one.fields) {
          CAPTURE(one.id, field.name);
          if (field.reference) CHECK_FALSE(field.deviation.agrees());
        }
      }
    }
  }
}

}  // namespace incontext::oracles
