// incontext fading as a user runs it: figures whose theory agrees and whose negative controls are rejected, refusals.

#include <incontext/statistics/estimate.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/support/controls.hpp"
#include "examples/support/report.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

using Arguments = std::vector<std::string>;

Json report_of(const Arguments& arguments, int exit_code = 0) {
  return incontext::testing::report_of("fading", arguments, exit_code);
}

void refused(const Arguments& arguments, const std::string& expected) {
  const Finished finished = run_program("fading", arguments);
  CAPTURE(finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  CHECK(finished.errors == part("incontext fading: " + expected));
}

}  // namespace

TEST_CASE("every figure of incontext fading agrees, and its controls are rejected", "[programs][fading]") {
  const auto [figure, tables, comparisons, controls] =
      GENERATE(table<std::string, std::size_t, std::size_t, std::size_t>({{"phase", 2, 30, 6},
                                                                          {"fading", 3, 9, 3},
                                                                          {"retrieval", 3, 6, 2},
                                                                          {"bounded", 3, 6, 2},
                                                                          {"diagram", 3, 8, 4}}));
  CAPTURE(figure);
  // the control at w = 0.1 is 0.3% off and needs more rows to be told from the right value
  const std::string scores = figure == "fading" ? "1e7" : "2e6";
  const Json report = report_of({"--figure", figure, "--lengths", "100,1000", "--most-scores", scores});
  CHECK(report["program"] == "incontext fading");
  REQUIRE(report["tables"].size() == tables);
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == comparisons);
  if (controls == 0) return;
  const Json rows = report["tables"].back()["rows"];
  REQUIRE(rows.size() == controls);
  for (const Json& row : rows) {
    CHECK(row["outcome"] == "rejected");
    CHECK(std::abs(row["z"].get<double>()) > 5);
  }
}

TEST_CASE("the weight of a needle among two uniform scores is the double integral", "[programs][fading]") {
  const Json row = report_of({"--figure", "bounded", "--lengths", "3", "--s", "2", "--heights", "1.1", "--trials",
                              "4096"})["tables"][1]["rows"][0];
  const double beta = 2 * std::log(3.0), needle = std::exp(beta * row["score"].get<double>());
  const int steps = 1000;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    for (int j = 0; j < steps; ++j) {
      sum += needle / (needle + std::exp(beta * (i + 0.5) / steps) + std::exp(beta * (j + 0.5) / steps));
    }
  }
  const double exact = sum / (steps * steps);
  CHECK(std::abs(row["theory"].get<double>() - exact) <= 1e-6);
  CHECK(std::abs(row["theory"].get<double>() - 1.001 * exact) > 1e-6);
}

TEST_CASE("the plane of needle and noise: the weight rises through one half at the boundary", "[programs][fading]") {
  const Json tables = report_of(
      {"--figure", "diagram", "--lengths", "10000", "--points", "4", "--most-scores", "1", "--threads", "1"})["tables"];
  const Json &boundary = tables[0]["rows"], &plane = tables[1]["rows"];
  REQUIRE(boundary.size() == 4);
  REQUIRE(plane.size() == 16);
  for (std::size_t i = 0; i < 4; ++i) {
    const double half = boundary[i]["half"], y = boundary[i]["noise"];
    CHECK(half < boundary[i]["boundary"].get<double>());
    CHECK(half > 0.85 * boundary[i]["boundary"].get<double>());
    CHECK(boundary[i]["phase"] == (y < 2 ? "averaging" : "frozen"));
    for (std::size_t j = 0; j < 4; ++j) {
      const Json& cell = plane[4 * i + j];
      CHECK(cell["noise"] == boundary[i]["noise"]);
      CHECK((cell["weight"].get<double>() > 0.5) == (cell["height"].get<double>() > half));
      if (j > 0) CHECK(cell["weight"].get<double>() > plane[4 * i + j - 1]["weight"].get<double>());
    }
  }
}

TEST_CASE("incontext fading: usual rows that cannot be judged leave a run complete, rows that were asked for do not",
          "[programs]") {
  const auto asked = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--figure", "fading", "--gap", "8", "--variance", "2", "--weights", "0.5"});
    return run_program("fading", more);
  };
  const std::vector<std::string> few{"--trials", "4096", "--most-scores", "1000000"};
  const Finished usual = asked(few);
  CAPTURE(usual.output, usual.errors);
  CHECK(usual.exit_code == 0);
  CHECK(usual.output == part("Agreement: "));
  CHECK(usual.output == part("Shown without a verdict, "));
  // The rows share their reason, which is given once.
  const std::string reason = "decide how far";
  const std::size_t first = usual.output.find(reason);
  REQUIRE(first != std::string::npos);
  CHECK(usual.output.find(reason, first + 1) == std::string::npos);
  const Finished requested = asked({few[0], few[1], few[2], few[3], "--lengths", "10,100"});
  CHECK(requested.exit_code == 3);
  CHECK(requested.output == part("Incomplete: "));
  CHECK(requested.output == part("Not judged: n = 100, SSMax"));
  const Finished exact = asked({"--no-simulation"});
  CAPTURE(exact.output, exact.errors);
  CHECK(exact.exit_code == 0);
  CHECK(exact.output == part("1100"));
  CHECK(exact.output == part("Exact values alone"));
  for (const char* word : {"simulation", "± error", "controls", "not reached"}) {
    CHECK(exact.output.find(word) == std::string::npos);
  }
}

TEST_CASE("means that depend on rare rows are not judged, with a reason, and medians are printed beside them",
          "[programs][fading]") {
  const Json few = report_of({"--figure", "fading", "--height", "6", "--lengths", "100000", "--most-scores", "1"}, 3);
  const Json rows = few["tables"][0]["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["z"].is_number());  // softmax averages over many competitors
  CHECK(rows[1]["map"] == "SSMax");
  CHECK(rows[1]["z"].is_null());
  CHECK(rows[1]["verdict"] == "not_judged");
  CHECK(rows[1]["reason"] == part("a few rare trials decide"));
  CHECK(few["verdict"]["agrees"].is_null());
  CHECK(few["verdict"]["comparisons"] == 2);
  CHECK(few["verdict"]["judged"] == 1);
  const Json phase = report_of({"--lengths", "1000", "--score-stddevs", "0.5", "--trials", "4096"});
  const Json ipr = phase["tables"][0]["rows"][0];
  CHECK(ipr["quantity"] == "Y_2");
  CHECK(ipr["median"].get<double>() < 0.8 * ipr["simulation"].get<double>());
  CHECK(ipr["largest_share"].get<double>() > 1.0 / 4096);
  const Json long_rows =
      report_of({"--lengths", "100000", "--score-stddevs", "0.5", "--most-scores", "1"}, 3)["tables"][0]["rows"];
  CHECK(long_rows[1]["quantity"] == "max a");
  CHECK(long_rows[1]["z"].is_null());    // a few of the 128 rows determine the mean of the largest weight
  CHECK(long_rows[2]["z"].is_number());  // entropy
}

TEST_CASE("incontext fading gives the same numbers on every device", "[programs][fading]") {
  const auto rows = [](const std::string& device) {
    return report_of({"--figure", "retrieval", "--lengths", "50", "--trials", "500", "--device", device})["tables"];
  };
  const Json serial = rows("serial");
  CHECK(rows("openmp") == serial);
  CHECK(rows("tbb") == serial);
}

TEST_CASE("the optimum's figure: log n among bounded competitors, a constant among normal ones", "[programs][fading]") {
  const Json report = report_of({"--figure", "optimum", "--lengths", "20,50", "--trials", "20000"});
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == 30);
  CHECK(report["verdict"]["controls_that_passed"] == 0);
  const Json lines = report["tables"][1]["rows"];
  REQUIRE(lines.size() == 5);
  CHECK(std::abs(report["tables"][0]["rows"][2]["p_1000"].get<double>() - 2) < 1e-4);
  for (const std::size_t bounded : {0U, 1U}) {
    CHECK(lines[bounded]["log_residual"].get<double>() < 0.4 * lines[bounded]["root_residual"].get<double>());
  }
  CHECK(std::abs(lines[2]["log_slope"].get<double>()) < 1e-4);
  CHECK(lines[4]["root_residual"].get<double>() < 1e-3 * lines[4]["log_residual"].get<double>());
  CHECK(std::abs(lines[4]["root_slope"].get<double>() - 0.8 * std::sqrt(2.0)) < 1e-3);
}

TEST_CASE("a control that should have been rejected and was not is a disagreement", "[programs][fading]") {
  using namespace incontext;
  const statistics::Estimate estimate(statistics::Moments{.count = 100, .mean = 0.3, .sum_of_squares = 99 * 1e-4});
  const auto verdict_of = [&](double claimed, double exact) {
    examples::Controls controls;
    controls.add({"limit", std::int64_t{10}, "here"}, claimed, exact, estimate);
    examples::Verdict verdict{.agrees = true, .text = "Agreement."};
    controls.join(verdict);
    return std::make_pair(verdict.agrees.value(), std::get<std::string>(controls.table().rows.at(0).back()));
  };
  CHECK(verdict_of(0.5, 0.3) == std::make_pair(true, std::string("rejected")));
  CHECK(verdict_of(0.3, 0.5) == std::make_pair(false, std::string("NOT REJECTED")));
  CHECK(verdict_of(0.3, 0.305) == std::make_pair(true, std::string("cannot tell")));
}

TEST_CASE("incontext fading refuses what cannot be used, by name and value", "[bad-input][fading]") {
  refused({"--figure", "gap"},
          "--figure: is unknown (value = gap; needs phase|fading|retrieval|bounded|diagram|optimum)");
  refused({"--lengths", "100,2"}, "--lengths: is too small (value = 2; needs at least 3)");
  refused({"--lengths", "1e10"}, "--lengths: is too large");
  refused({"--figure", "retrieval", "--s", "0"}, "--s: ");
  refused({"--figure", "retrieval", "--score-stddevs", "1"}, "--score-stddevs: has no meaning with --figure retrieval");
  refused({"--points", "4"}, "--points: has no meaning with --figure phase");
  refused({"--figure", "diagram", "--points", "0"}, "--points: is too small (value = 0; needs at least 1)");
  refused({"--figure", "diagram", "--s", "1"}, "--s: has no meaning with --figure diagram");
  refused({"--height", "3"}, "--height: has no meaning with --figure phase");
  refused({"--score-stddevs", "0.5,-1"}, "--score-stddevs: ");
  refused({"--trials", "100", "--relative-error", "0.1"}, "--trials excludes --relative-error");
}
