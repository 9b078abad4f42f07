// incontext tasks as a user runs it: baselines that agree, the printed tables and their fits, controls.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace tasks_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

Json report_of(const std::vector<std::string>& arguments, int exit_code = 0) {
  return incontext::testing::report_of("tasks", arguments, exit_code);
}

/// The row of a model in a table.
Json row_of(const Json& table, const std::string& model) {
  for (const Json& row : table["rows"]) {
    if (row["model"] == model) return row;
  }
  return {};
}

}  // namespace

TEST_CASE("every figure of incontext tasks agrees and rejects its controls", "[programs][tasks]") {
  const auto [figure, tables, comparisons, controls] =
      GENERATE(table<std::string, std::size_t, std::size_t, std::size_t>(
          {{"baselines", 4, 25, 6}, {"boundary", 4, 3, 6}, {"deviant", 3, 3, 5}}));
  CAPTURE(figure);
  const Json report = report_of({"--figure", figure});
  CHECK(report["program"] == "incontext tasks");
  REQUIRE(report["tables"].size() == tables);
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == comparisons);
  CHECK(report["verdict"]["controls"] == controls);
  CHECK(report["verdict"]["controls_that_passed"] == 0);
  for (const Json& row : report["tables"].back()["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("a mean that rare inputs make is not judged, and wide inputs lose no report", "[programs][tasks]") {
  for (const std::string inputs : {"300", "1000", "100000", "1e6"}) {
    for (const std::string seed : {"1", "2"}) {
      CAPTURE(inputs, seed);
      const Json report = report_of({"--input-stddev", inputs, "--trials", "20000", "--seed", seed}, 3);
      CHECK(report["verdict"]["disagreements"] == 0);
      const Json& rows = report["tables"][0]["rows"];
      CHECK(rows[1]["answer"] == "Bayes, one example");
      CHECK(rows[1]["verdict"] == "not_judged");
      CHECK(names(rows[1]["reason"].get<std::string>(), "rare inputs near 0", "--input-stddev"));
      CHECK(rows[3]["verdict"] == "agrees");
    }
  }
}

TEST_CASE("events that are expected too rarely are not judged, and say so", "[programs][tasks]") {
  const Json report = report_of({"--trials", "1000", "--lengths", "1,10"}, 3);
  CHECK(report["verdict"]["disagreements"] == 0);
  int left = 0;
  for (const Json& row : report["tables"][1]["rows"]) {
    const double p = row["theory"];
    const bool is_mean = row["what"] == "\"no\" to \"every\", mean error";
    const bool is_rare = !is_mean && 1000 * std::min(p, 1 - p) < 50;
    CAPTURE(row);
    CHECK((row["verdict"] == "not_judged") == is_rare);
    if (is_rare) CHECK(row["reason"] == "too few events: increase --trials");
    left += is_rare ? 1 : 0;
  }
  CHECK(left > 2);
  CHECK(report["verdict"]["not_judged"] == left);
}

TEST_CASE("the chance level of the reasoning task is that of always d, not a coin's", "[programs][tasks]") {
  const Json report = report_of({"--trials", "1048576"});
  double coin = 0, always_d = 0;
  for (const Json& row : report["tables"][2]["rows"]) {
    if (row["what"] == "right: a coin between c and d") coin = row["theory"];
    if (row["what"] == "right: always d") always_d = row["theory"];
  }
  CHECK(std::abs(coin - 6.0 / 11) < 1e-15);
  CHECK(std::abs(always_d - 731.0 / 1331) < 1e-15);
}

TEST_CASE("one bound fits most of the printed rows, and not SSA's", "[programs][tasks]") {
  const Json report = report_of({"--figure", "boundary", "--trials", "100000"});
  const Json& fits = report["tables"][0];
  REQUIRE(fits["rows"].size() == 21);
  int within = 0;
  for (const Json& row : fits["rows"]) within += row["within"] == "yes" ? 1 : 0;
  CHECK(within == 17);
  for (const std::string model : {"SSA", "Llama 3.3 70b"}) CHECK(row_of(fits, model)["within"] == "no");
  const Json softmax = row_of(fits, "Softmax");
  CHECK(std::abs(softmax["bound"].get<double>() - 14.39) < 0.01);
  CHECK(softmax["residual"].get<double>() < 0.2 * softmax["proportional_residual"].get<double>());
  CHECK(std::abs(row_of(report["tables"][1], "Softmax")["bound_at_10"].get<double>() - 12.396) < 1e-3);
}

TEST_CASE("the printed error of deviant inputs is larger than that of the answer 0", "[programs][tasks]") {
  const Json printed = report_of({"--figure", "deviant", "--trials", "100000"})["tables"][0]["rows"];
  REQUIRE(printed.size() == 11);
  CHECK(printed.back()["paper"].get<double>() > printed.back()["no_example"].get<double>());
  CHECK(printed.front()["paper"].get<double>() < printed.front()["deviant_alone"].get<double>());
  for (const Json& row : printed) CHECK(row["clipped"].get<double>() < 1e-4);
}

TEST_CASE("all devices draw the same sequences", "[programs][tasks]") {
  const auto tables = [](const std::string& device) {
    return report_of({"--trials", "60000", "--device", device})["tables"];
  };
  const Json serial = tables("serial");
  CHECK(tables("openmp") == serial);
  CHECK(tables("tbb") == serial);
}

}  // namespace tasks_program_test
