// Runs incontext evaluate over every file of reference values: all numbers agree, and a wrong one does not.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "examples/evaluate/cases.hpp"
#include "support/catch.hpp"
#include "tests/examples/run_program.hpp"

namespace incontext::testing {
namespace {

using examples::evaluate::Json;

Json oracles_of(const std::string& room) {
  return Json::parse(content_of(std::string(INCONTEXT_ORACLES) + "/" + room + ".json"));
}

Finished evaluate(const Json& document) { return run_program("evaluate", {"-", "--format", "json"}, document.dump()); }

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
Json spoiled(const Json& entry, const examples::evaluate::Tolerance& tolerance, double scale) {
  const auto number = examples::evaluate::oracle_number(entry);
  if (!number || !std::isfinite(*number)) return "another word";
  const double size = std::max(scale, std::abs(*number));
  const double tolerated = tolerance.relative * size + tolerance.absolute;
  return *number + std::max({1e-6 * std::abs(*number), 10 * tolerated, 1e-300});
}

struct Counts {
  std::size_t cases = 0, fields = 0, numbers = 0;
};

/// One file: every case agrees with all its references, of which there are `expected`, and with no number changed.
void check_file(const std::string& room, const Counts& expected) {
  const Json document = oracles_of(room);
  const bool by_largest = document["tolerance"].get<std::string>().find("largest |entry|") != std::string::npos;
  const Finished finished = evaluate(document);
  INFO(finished.errors);
  REQUIRE(finished.exit_code == 0);
  const Json report = Json::parse(finished.output);
  CHECK(report["verdict"]["agree"] == expected.cases);
  CHECK(report["verdict"]["cases"] == document["cases"].size());
  CHECK(report["verdict"]["fields_compared"] == expected.fields);

  std::size_t row = 0, numbers = 0;
  const Json& rows = report["tables"][0]["rows"];
  for (const Json& one : document["cases"]) {
    for (; row < rows.size() && rows[row]["case"] == one["id"]; ++row) {
      if (rows[row]["reference"].is_null()) continue;
      const std::string name = rows[row]["field"];
      const auto tolerance =
          examples::evaluate::detail::tolerance_of(name, examples::evaluate::Fields(one, one["id"]), by_largest);
      Json reference = one["out"].at(name);
      const double scale = by_largest ? examples::evaluate::detail::largest_entry(reference) : 0;
      for (Json* entry : entries_of(reference)) {
        ++numbers;
        const Json right = *entry;
        *entry = spoiled(right, tolerance, scale);
        INFO(one["id"] << " " << name << ": " << right << " against " << *entry);
        CHECK_FALSE(examples::evaluate::compare(rows[row]["computed"], reference, tolerance, "").agrees());
        *entry = right;
      }
    }
  }
  CHECK(row == rows.size());
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
  check_file("baselines", {.cases = 33, .fields = 94, .numbers = 94});
}

TEST_CASE("the program names every field of a file in which a wrong value is planted", "[oracles]") {
  for (const std::string room : {"regression", "scoring", "classification", "baselines"}) {
    const Json document = oracles_of(room);
    for (const Json& wrong : {Json("nan"), Json(nullptr), Json(12345.678)}) {
      CAPTURE(room, wrong);
      Json planted = document;
      for (Json& one : planted["cases"]) {
        for (Json& field : one["out"]) *entries_of(field).back() = wrong;
      }
      const Finished finished = evaluate(planted);
      CHECK(finished.exit_code == 1);
      const Json report = Json::parse(finished.output);
      CHECK(report["verdict"]["disagree"] == document["cases"].size());
      for (const Json& row : report["tables"][0]["rows"]) {
        INFO(row["case"] << " " << row["field"]);
        if (!row["reference"].is_null()) CHECK(row["verdict"] == "disagrees");
      }
    }
  }
}

TEST_CASE("one number planted in a copy of a file makes the program fail and name its case", "[oracles]") {
  const TemporaryFolder folder;
  for (const std::string room : {"regression", "scoring", "classification", "baselines"}) {
    CAPTURE(room);
    Json document = oracles_of(room);
    Json& one = document["cases"][document["cases"].size() / 2];
    Json* entry = entries_of(one["out"]).front();
    *entry = *examples::evaluate::oracle_number(*entry) * (1 + 1e-6);
    const Finished finished = run_program("evaluate", {folder.write(room + ".json", document.dump())});
    CHECK(finished.exit_code == 1);
    CHECK((finished.output + finished.errors).find("Disagrees: " + one["id"].get<std::string>()) != std::string::npos);
  }
}

}  // namespace incontext::testing
