// incontext temperature as a user runs it: the Bayes ridge and the rate at which attention comes near it, and controls
// that every figure rejects.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/report_of.hpp"

namespace temperature_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

Json report(const Arguments& arguments) { return report_of("temperature", arguments, 0); }

int rejected_controls(const Json& report) {
  int rejected = 0;
  for (const Json& row : report["tables"].back()["rows"]) rejected += row["outcome"] == "rejected" ? 1 : 0;
  return rejected;
}

}  // namespace

TEST_CASE("the Bayes ridge on drawn labels has its posterior's risk, and attention comes near it at the paper's rate",
          "[programs][temperature]") {
  const Json all = report({"--figure", "2a", "--context-lengths", "20,100"});
  REQUIRE(all["tables"].size() == 3);
  const Json& rows = all["tables"][1]["rows"];
  REQUIRE(rows.size() == 6);
  for (const Json& row : rows) CHECK(row["verdict"] == "agrees");
  const double near = rows[4]["theory"], nearer = rows[5]["theory"], limit = rows[5]["limit"];
  CHECK(std::abs(limit - 23) < 1e-9);  // d (tr R + s2) + tr R, d = 20, R = I / d, s2 = 0.1
  CHECK(std::abs(nearer - limit) < 0.11 * std::abs(near - limit));
  CHECK(rejected_controls(all) == 6);
  CHECK(all["verdict"]["controls_that_passed"] == 0);
  // neither applies under a shift
  CHECK(report({"--figure", "2a", "--context-lengths", "20,100", "--input-scale", "2"})["tables"].size() == 1);
}

TEST_CASE("optimal temperatures and rows of data have controls that are rejected", "[programs][temperature]") {
  const Json noise = report({"--figure", "3c", "--shifts", "1,25"});
  CHECK(rejected_controls(noise) == 3);
  CHECK(noise["verdict"]["controls"] == 3);
  const Json shifts = report({"--figure", "6", "--shifts", "2"});
  CHECK(rejected_controls(shifts) >= 6);
  CHECK(shifts["verdict"]["controls_that_passed"] == 0);
  const std::string data = std::string(INCONTEXT_SOURCE_DIR) + "/examples/data/diabetes.csv";
  CHECK(rejected_controls(report({"--data", data, "--labels", "progression"})) >= 1);
  CHECK(rejected_controls(report({"--data", data, "--without", "progression"})) >= 1);
}

TEST_CASE("the leading order beside an error has the offset of that error", "[programs][temperature]") {
  const auto leading = [](const std::string& offset) {
    const Json row = report({"--temperatures", "1", "--trials", "4096", "--offset", offset})["tables"][0]["rows"][0];
    return row["leading_order"].get<double>() / row["theory"].get<double>() - 1;
  };
  CHECK(std::abs(leading("kept") / leading("removed") - 1) < 0.2);  // both are off by 1 / l
  const Json included = report({"--temperatures", "1", "--trials", "4096", "--query", "included"});
  CHECK(included["tables"][0]["rows"][0]["leading_order"].is_null());
}

}  // namespace temperature_program_test
