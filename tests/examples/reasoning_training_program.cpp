// incontext train reasoning as a user runs it, at a size that takes a second.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace reasoning_training_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

TEST_CASE("incontext train judges the plateau, counts Eureka moments and rejects its controls", "[programs][train]") {
  const Json report = incontext::testing::report_of(
      "train", {"reasoning", "--width", "8", "--seeds", "2", "--steps", "100", "--every", "50", "--threads", "1"}, 0);
  REQUIRE(report["tables"].size() == 3);
  const Json plateau = report["tables"][0]["rows"][0];
  CHECK(plateau["verdict"] == "agrees");
  CHECK(std::abs(plateau["theory"].get<double>() - 10.0 / 11 * 0.6931130) < 1e-5);
  const Json& moments = report["tables"][1]["rows"];
  REQUIRE(moments.size() == 2);
  for (const Json& row : moments) {
    CHECK(row["runs"] == 2);
    CHECK(row["moments"] == 0);  // 100 steps are too few
    CHECK(row["ratio_lower"] == 0);
    CHECK(std::abs(row["ratio_upper"].get<double>() - (1 - std::sqrt(0.025))) < 1e-12);  // Clopper and Pearson, 0 of 2
  }
  for (const Json& row : report["tables"][2]["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("incontext train refuses options of the other task, and methods that do not exist", "[programs][train]") {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const auto run = run_program("train", arguments);
    CHECK(run.exit_code == 2);
    return run.errors;
  };
  CHECK(refused({"reasoning", "--dimension", "3"}).find("--dimension") != std::string::npos);
  CHECK(refused({"classification", "--figure", "ends", "--methods", "softmax"}).find("--methods") != std::string::npos);
  CHECK(refused({"reasoning", "--methods", "magic"}).find("magic") != std::string::npos);
  CHECK(refused({"reasoning", "--width", "10"}).find("--width") != std::string::npos);
  CHECK(refused({"reasoning", "--steps", "50"}).find("--steps") != std::string::npos);
}

}  // namespace reasoning_training_program_test
