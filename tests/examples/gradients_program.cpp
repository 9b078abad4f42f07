// incontext gradients as a user runs it: figures whose theory agrees, what each of them shows, refusals.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace gradients_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

using Arguments = std::vector<std::string>;

Json report_of(Arguments arguments, int exit_code = 0) {
  arguments.insert(arguments.end(), {"--dimension", "16", "--context-length", "64"});
  return incontext::testing::report_of("gradients", arguments, exit_code);
}

void refused(const Arguments& arguments, const std::string& expected) {
  const Finished finished = run_program("gradients", arguments);
  CAPTURE(finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  CHECK(finished.errors == part("incontext gradients: " + expected));
}

}  // namespace

TEST_CASE("every figure of incontext gradients agrees", "[programs][gradients]") {
  const auto [figure, tables, comparisons] = GENERATE(table<std::string, std::size_t, std::size_t>(
      {{"temperature", 3, 21}, {"frozen", 3, 15}, {"schedule", 3, 21}, {"normsoftmax", 2, 10}, {"queries", 2, 14}}));
  CAPTURE(figure);
  const Json report = report_of({"--figure", figure});
  CHECK(report["program"] == "incontext gradients");
  REQUIRE(report["tables"].size() == tables);
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == comparisons);
  for (const Json& row : report["tables"][0]["rows"]) {
    CHECK(row["theory"].is_number());
    CHECK(row["standard_error"].get<double>() > 0);
    CHECK(std::abs(row["simulation"].get<double>() / row["theory"].get<double>() - 1) < 0.2);
  }
}

TEST_CASE("two groups and the Jacobian's ends agree, their near misses are rejected", "[programs][gradients]") {
  const auto [figure, comparisons] = GENERATE(table<std::string, std::size_t>({{"groups", 15}, {"ends", 13}}));
  CAPTURE(figure);
  const Json report = incontext::testing::report_of("gradients", {"--figure", figure, "--context-length", "64"}, 0);
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == comparisons);
  CHECK(report["verdict"]["controls"].get<int>() >= 5);
  CHECK(report["verdict"]["controls_that_passed"] == 0);
}

TEST_CASE("every epoch of the schedule that is shown has its own temperature", "[programs][gradients]") {
  double last = 0;
  for (const Json& row : report_of({"--figure", "schedule"})["tables"][0]["rows"]) {
    CHECK(row["temperature"].get<double>() > last);
    last = row["temperature"];
  }
}

TEST_CASE("the ratio is linear in 1/tau while the scores are narrow", "[programs][gradients]") {
  const Json rows = report_of({"--temperatures", "100,1000"})["tables"][0]["rows"];
  const double wide = rows[0]["simulation"], narrow = rows[1]["simulation"];
  CHECK(std::abs(wide / narrow - 10) < 1e-2);
  const double slope = rows[1]["theory"].get<double>() / rows[1]["score_stddev"].get<double>();
  CHECK(std::abs(slope / (std::sqrt(64.0 / 16) * std::sqrt(1 + 16.0 / 64)) - 1) < 0.03);
}

TEST_CASE("the score standard deviation follows the layer's options", "[programs][gradients]") {
  const auto score_stddev = [](const Arguments& more) {
    Arguments arguments{"--temperatures", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return report_of(arguments)["tables"][0]["rows"][0]["score_stddev"].get<double>();
  };
  const double usual = score_stddev({});
  CHECK(std::abs(usual / (0.02 * 0.02 * 16 * 8 / 2) - 1) < 1e-12);
  CHECK(std::abs(score_stddev({"--weight-stddev", "0.04"}) / usual - 4) < 1e-12);
  CHECK(std::abs(score_stddev({"--key-dimension", "16"}) / usual - 0.5) < 1e-12);
}

TEST_CASE("frozen rows: the root mean square grows, the median vanishes", "[programs][gradients]") {
  const Json rows = report_of({"--figure", "frozen", "--score-stddevs", "8,32"})["tables"][0]["rows"];
  CHECK(rows[1]["simulation"].get<double>() > rows[0]["simulation"].get<double>());
  CHECK(rows[1]["median"].get<double>() < 0.05 * rows[0]["median"].get<double>());
}

TEST_CASE("a mean that few trials carry is not judged", "[programs][gradients]") {
  const Json report = report_of({"--figure", "frozen", "--score-stddevs", "1,1000", "--trials", "256"}, 3);
  const Json row = report["tables"][0]["rows"][1];
  CHECK(row["z"].is_null());
  CHECK(row["verdict"] == "not_judged");
  CHECK(row["reason"] == part("of the 256 trials contribute to the mean"));
  CHECK(report["tables"][0]["rows"][0]["z"].is_number());
  CHECK(report["verdict"]["comparisons"] == 6);
  CHECK(report["verdict"]["judged"] == 4);
}

TEST_CASE("Heat Treatment starts where it is told and ends at the root of the key dimension", "[programs][gradients]") {
  const Json rows =
      report_of({"--figure", "schedule", "--epochs", "7", "--start-temperature", "0.5"})["tables"][0]["rows"];
  CHECK(rows.size() == 4);  // it has arrived after half of the epochs
  CHECK(rows.front()["temperature"] == 0.5);
  CHECK(rows.back()["temperature"] == 8);
  CHECK(rows.front()["simulation"].get<double>() > 3 * rows.back()["simulation"].get<double>());
}

TEST_CASE("NormSoftmax has an approximation only where some rows have a standard deviation above 1 and others below",
          "[programs][gradients]") {
  const Json rows = report_of({"--figure", "normsoftmax", "--scales", "1,156,2000"})["tables"][0]["rows"];
  REQUIRE(rows.size() == 6);
  CHECK(rows[1]["z"].is_number());
  CHECK(std::abs(rows[3]["score_stddev"].get<double>() - 1) < 0.1);
  CHECK(rows[3]["theory"].is_null());
  CHECK(rows[3]["approximate"].is_number());
  CHECK(rows[3]["verdict"].is_null());
}

TEST_CASE("a deeply frozen row's median has a closed form beside it", "[programs][gradients]") {
  const Json rows =
      report_of({"--figure", "frozen", "--score-stddevs", "4,32", "--trials", "16384"})["tables"][0]["rows"];
  CHECK(rows[0]["frozen_median"].is_null());
  const double median = rows[1]["median"], closed = rows[1]["frozen_median"];
  CHECK(std::abs(std::log(closed / median)) < 0.3);
  CHECK(std::abs(std::log(rows[1]["simulation"].get<double>() / median)) > 5);  // the root mean square
}

TEST_CASE("NormSoftmax does not see the scale", "[programs][gradients]") {
  const Json rows = report_of({"--figure", "normsoftmax", "--scales", "0.01,1"})["tables"][0]["rows"];
  REQUIRE(rows.size() == 4);
  CHECK(rows[1]["simulation"] != rows[3]["simulation"]);  // draws of their own
  CHECK(std::abs(rows[1]["simulation"].get<double>() / rows[3]["simulation"].get<double>() - 1) < 0.05);
  CHECK(rows[1]["theory"] == rows[3]["theory"]);
  CHECK(rows[2]["simulation"].get<double>() > 90 * rows[0]["simulation"].get<double>());
}

TEST_CASE("the same run of incontext gradients gives the same bytes, another seed others", "[programs][gradients]") {
  const auto bytes = [](const std::string& seed) {
    return report_of({"--trials", "256", "--seed", seed})["tables"].dump();
  };
  CHECK(bytes("5") == bytes("5"));
  CHECK(bytes("5") != bytes("6"));
}

TEST_CASE("incontext gradients refuses by name and value", "[programs][gradients][bad-input]") {
  refused({"--figure", "training"}, "--figure: is unknown");
  refused({"--temperatures", "1,0"}, "--temperatures");
  refused({"--score-stddevs", "1"}, "--score-stddevs");
  refused({"--figure", "frozen", "--weight-stddev", "1"}, "--weight-stddev");
  refused({"--figure", "schedule", "--epochs", "1"}, "--epochs: is too small");
  refused({"--weight-stddev", "-1"}, "--weight-stddev");
  refused({"--trials", "1"}, "--trials: is too small");
}

}  // namespace gradients_program_test
