// incontext baselines as a user runs it: exact curves that the same readers, run on drawn contexts, agree with.

#include <incontext/baselines/reference_curves.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/report_of.hpp"

namespace baselines_program_test {

using Json = nlohmann::json;

namespace {

Json report_of(const std::vector<std::string>& arguments, int exit_code = 0) {
  return incontext::testing::report_of("baselines", arguments, exit_code);
}

}  // namespace

TEST_CASE("incontext baselines agrees, and rejects the limit of large sizes where it can", "[programs][baselines]") {
  const Json report = report_of({"--trials", "262144", "--seed", "3", "--context-lengths", "10,20,40"});
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == 13);
  CHECK(report["verdict"]["controls"] == 3);
  for (const Json& row : report["tables"].back()["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("the table of incontext baselines has the library's curves, in every unit", "[programs][baselines]") {
  const Json report = report_of({"--dimension", "7", "--context-lengths", "0,3,7,90", "--noise-variance", "0.3",
                                 "--task-variance", "0.2", "--input-variance", "2", "--layers", "2", "--looped", "3",
                                 "--per-dimension", "--without-query-noise", "--no-simulation"});
  CHECK(report["tables"].size() == 1);
  const auto curves = incontext::baselines::reference_curves<double>({.dimension = 7,
                                                                      .noise_variance = 0.3,
                                                                      .task_variance = 0.2,
                                                                      .input_variance = 2,
                                                                      .layers = {2},
                                                                      .looped = {3},
                                                                      .query_noise = false,
                                                                      .per_dimension = true},
                                                                     {0, 3, 7, 90});
  REQUIRE(curves.size() == 6);
  const Json& rows = report["tables"][0]["rows"];
  REQUIRE(rows.size() == 4);
  for (const auto& curve : curves) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CAPTURE(curve.name, k);
      const Json& cell = rows[k][curve.name];
      if (std::isinf(curve.values[k])) {
        CHECK(cell.is_null());
      } else {
        CHECK(cell == curve.values[k]);
      }
    }
  }
}

TEST_CASE("layers pretrained on few tasks or stopped early are columns, with their standard errors",
          "[programs][baselines]") {
  const Json report = report_of({"--dimension", "5", "--context-lengths", "0,4,30", "--pretraining-tasks", "3,40",
                                 "--sgd-tasks", "100", "--pools", "30", "--pool-seed", "4", "--no-simulation"});
  const auto curves = incontext::baselines::reference_curves<double>({.dimension = 5,
                                                                      .noise_variance = 0.1,
                                                                      .task_variance = 0.05,
                                                                      .layers = {1, 2, 4},
                                                                      .pretraining_tasks = {3, 40},
                                                                      .sgd_tasks = {100},
                                                                      .pool_draws = {.pools = 30, .seed = 4}},
                                                                     {0, 4, 30});
  const Json& rows = report["tables"][0]["rows"];
  REQUIRE(rows.size() == 3);
  int pools = 0;
  for (const auto& curve : curves) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CAPTURE(curve.name, k);
      if (std::isfinite(curve.values[k])) CHECK(rows[k].at(curve.name) == curve.values[k]);
      if (curve.standard_errors.empty()) continue;
      CHECK(rows[k].at(curve.name + "_standard_error") == curve.standard_errors[k]);
      ++pools;
    }
  }
  CHECK(pools == 12);
  CHECK(rows[2].contains("sgd_100"));
}

TEST_CASE("without noise there is no Bayes row to judge, and no limit", "[programs][baselines]") {
  const Json report = report_of({"--noise-variance", "0", "--context-lengths", "30", "--trials", "8192"});
  CHECK(report["verdict"]["agrees"] == true);
  for (const Json& row : report["tables"][1]["rows"]) CHECK(row["reader"] != "bayes");
  CHECK(!report["tables"][0]["rows"][0].contains("bayes_limit"));
}

}  // namespace baselines_program_test
