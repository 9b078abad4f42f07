// incontext-train affine, quantifier and needle as a user runs them, at sizes that take a second.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace sequence_training_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

TEST_CASE("incontext-train finds the inverse temperature of every row length, and rejects its controls",
          "[programs][train]") {
  const Json report = incontext::testing::report_of(INCONTEXT_TRAIN, {"needle", "--threads", "1"}, 0);
  REQUIRE(report["tables"].size() == 3);
  for (const int table : {0, 1}) {
    REQUIRE(report["tables"][table]["rows"].size() == 4);
    for (const Json& row : report["tables"][table]["rows"]) CHECK(row["verdict"] == "agrees");
  }
  CHECK(std::abs(report["tables"][1]["rows"][0]["theory"].get<double>() - 3) < 1e-3);  // Bayes' m/v
  for (const Json& row : report["tables"][2]["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("incontext-train trains on affine functions, and no answer leaves the bound of the weights",
          "[programs][train]") {
  const Json report = incontext::testing::report_of(INCONTEXT_TRAIN,
                                                    {"affine", "--maps", "softmax,ssmax", "--steps", "60", "--batch",
                                                     "8", "--width", "8", "--tested", "64", "--threads", "1"},
                                                    0);
  REQUIRE(report["tables"].size() == 4);
  for (const Json& row : report["tables"][0]["rows"]) CHECK(row["verdict"] == "agrees");
  CHECK(report["tables"][1]["rows"].size() == 2 * 2 * 8);
  const Json& bounds = report["tables"][2]["rows"];
  REQUIRE(bounds.size() == 4);
  for (const Json& row : bounds) {
    const bool has_norms = row["model"] == "full";
    CHECK(row["bound"].is_number() == has_norms);
    if (!has_norms) continue;
    CHECK(row["largest_answer"].get<double>() < 1.5 * row["bound"].get<double>());
    CHECK(row["over_least"].get<double>() >= 1);
  }
}

TEST_CASE("incontext-train counts right answers to quantifiers, by map and length", "[programs][train]") {
  const auto run =
      run_program(INCONTEXT_TRAIN, {"quantifier", "--maps", "softmax", "--seeds", "1", "--steps", "20", "--batch", "8",
                                    "--width", "8", "--tested", "32", "--threads", "1", "--format", "json"});
  CHECK((run.exit_code == 0 || run.exit_code == 1));  // 20 steps may teach nothing, which the control then says
  const Json report = Json::parse(run.output);
  CHECK(report["tables"][0]["rows"][0]["verdict"] == "agrees");
  const Json& rows = report["tables"][1]["rows"];
  REQUIRE(rows.size() == 2 * 6);
  for (const Json& row : rows) {
    CHECK(row["lower"].get<double>() <= row["right"].get<double>());
    CHECK(row["right"].get<double>() <= row["upper"].get<double>());
  }
}

TEST_CASE("incontext-train refuses what the sequences' tasks have no use for", "[programs][train]") {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const auto run = run_program(INCONTEXT_TRAIN, arguments);
    CHECK(run.exit_code == 2);
    return run.errors;
  };
  CHECK(refused({"affine", "--dimension", "3"}).find("--dimension") != std::string::npos);
  CHECK(refused({"affine", "--maps", "magic"}).find("magic") != std::string::npos);
  CHECK(refused({"affine", "--width", "10"}).find("--width") != std::string::npos);
  CHECK(refused({"needle", "--maps", "softmax"}).find("--maps") != std::string::npos);
  CHECK(refused({"reasoning", "--maps", "softmax"}).find("--maps") != std::string::npos);
}

}  // namespace sequence_training_program_test
