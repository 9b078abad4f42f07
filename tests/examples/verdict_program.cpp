// The response of the programs to input that can be used: exit code 0 where theory and simulation agree, and 1 where they
// do not.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace verdict_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

Json temperature(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.end(), {"--trials", "4096", "--device", "serial"});
  return report_of("temperature", arguments, exit_code);
}

}  // namespace

TEST_CASE("every figure prints its tables with theory, simulation, error and z, and agrees", "[programs]") {
  for (const std::string figure : {"2a", "2b", "2c", "3a", "3b", "3c", "6", "7", "mean-shift", "scores"}) {
    CAPTURE(figure);
    const bool by_length = figure == "2a" || figure == "2c" || figure == "3a";
    const Json report =
        temperature({"--figure", figure, "--dimension", "4", by_length ? "--context-lengths" : "--context-length",
                     by_length ? "5,12,20" : "12"});
    CHECK(report["verdict"]["agrees"] == true);
    CHECK(report["arguments"]["figure"] == figure);
    int judged = 0;
    for (const Json& table : report["tables"]) {
      if (table["title"] == part("Negative controls")) continue;
      CHECK(table["notes"].back() == part("Family-wise bound"));
      for (const Json& row : table["rows"]) {
        CHECK(row["theory"].is_number() != row["approximate"].is_number());
        CHECK(row["simulation"].is_number());
        CHECK(row["standard_error"].is_number());
        CHECK(row["trials"].get<int>() > 0);
        CHECK(row["verdict"] == (row["theory"].is_number() ? Json("agrees") : Json()));
        judged += row["z"].is_number() ? 1 : 0;
      }
    }
    CHECK(judged == report["verdict"]["comparisons"]);
    CHECK(judged >= 6);
  }
}

TEST_CASE("the free sweep follows its options", "[programs]") {
  const auto row_at = [](const Json& report, double temperature) {
    for (const Json& row : report["tables"][0]["rows"]) {
      if (row["temperature"] == temperature) return row;
    }
    return Json();
  };
  const std::vector<std::string> small{"--dimension", "3", "--context-length", "8", "--temperatures", "0.8,3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return row_at(temperature(more), 3.0);
  };
  const Json plain = with({});
  CHECK(temperature(small)["arguments"]["temperatures"] == Json({0.8, 3}));
  REQUIRE(plain["theory"].is_number());
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{"--input-scale", "2"},
                                                                                    {"--task-scale", "2"},
                                                                                    {"--noise-variance", "0.7"},
                                                                                    {"--test-noise-variance", "0.7"},
                                                                                    {"--mean-shift", "1"},
                                                                                    {"--task-mean", "1"},
                                                                                    {"--test-task-mean", "1"},
                                                                                    {"--query", "included"},
                                                                                    {"--offset", "removed"},
                                                                                    {"--scoring", "linear"}}) {
    CAPTURE(more);
    const Json shifted = with(more);
    CHECK(shifted["theory"] != plain["theory"]);
    CHECK(shifted["simulation"] != plain["simulation"]);
  }
  for (const char* estimator : {"conditional", "sufficient-statistics"}) {
    const Json faster = with({"--estimator", estimator});
    CHECK(faster["theory"] == plain["theory"]);
    CHECK(faster["standard_error"].get<double>() < 0.8 * plain["standard_error"].get<double>());
  }
  std::vector<std::string> by_softmax = small;
  by_softmax.insert(by_softmax.end(), {"--scoring", "softmax"});
  const Json report = temperature(by_softmax);
  const Json softmax = row_at(report, 3.0);
  CHECK(softmax["verdict"] == "agrees");
  CHECK(softmax["approximate_softmax"] == plain["theory"]);
  CHECK(std::abs(softmax["theory"].get<double>() / plain["theory"].get<double>() - 1) > 1e-3);
  // Where no exact law is known, nothing is judged.
  by_softmax.insert(by_softmax.end(), {"--query", "included", "--mean-shift", "1"});
  const Json unknown = temperature(by_softmax, 3);
  CHECK(row_at(unknown, 3.0)["z"].is_null());
  CHECK(row_at(unknown, 3.0)["theory"].is_null());
  CHECK(unknown["verdict"]["text"] == part("Nothing was judged: no row has both an exact theory and a simulation."));
}

TEST_CASE("the same run gives the same bytes, another seed others", "[programs]") {
  const auto bytes = [](const std::string& seed) {
    return temperature({"--dimension", "3", "--context-length", "8", "--seed", seed})["tables"].dump();
  };
  CHECK(bytes("5") == bytes("5"));
  CHECK(bytes("5") != bytes("6"));
}

TEST_CASE(
    "real inputs have an exact theory, a Gaussian one and a simulation, with labels from the law or from the file",
    "[programs]") {
  const std::string data = std::string(INCONTEXT_SOURCE_DIR) + "/examples/data/diabetes.csv";
  const Json law = temperature({"--data", data, "--without", "progression", "--standardize", "--context-length", "30"});
  CHECK(law["verdict"]["agrees"] == true);
  for (const Json& row : law["tables"][0]["rows"]) {
    if (row["predictor"] == "Bayes ridge") continue;
    CHECK(row["gaussian_theory"] != row["theory"]);
    CHECK(std::abs(row["gaussian_theory"].get<double>() / row["theory"].get<double>() - 1) < 0.05);
  }
  const Json own = temperature({"--data", data, "--labels", "progression", "--standardize", "--context-length", "30"});
  CHECK(own["verdict"]["agrees"] == true);
  CHECK(own["tables"][0]["rows"][0]["least_squares_theory"] != own["tables"][0]["rows"][0]["theory"]);
  const Json some = temperature({"--data", data, "--columns", "bmi,s5", "--context-length", "30"});
  CHECK(some["tables"][0]["title"] == part("d = 2"));
}

TEST_CASE("the units of the inputs do not matter but for the mean", "[programs]") {
  // With a prior that gives every input the same share, the error of centered inputs does not depend on their units.
  const TemporaryFolder folder;
  Eigen::MatrixXd rows = Eigen::MatrixXd::Random(40, 3);
  rows.rowwise() -= rows.colwise().mean().eval();
  const std::string raw = folder.write("raw.npy", incontext::examples::npy_bytes(rows));
  rows.col(1) *= 1000;
  const std::string scaled = folder.write("scaled.npy", incontext::examples::npy_bytes(rows));
  const auto theory = [](const Json& report) { return report["tables"][0]["rows"][0]["theory"].get<double>(); };
  const double expected = theory(temperature({"--data", raw}));
  CHECK(std::abs(theory(temperature({"--data", scaled})) / expected - 1) < 1e-9);
  CHECK(std::abs(theory(temperature({"--data", scaled, "--standardize"})) / expected - 1) < 1e-9);
  rows.rowwise() += Eigen::RowVector3d(5, 7000, -3);
  const std::string moved = folder.write("moved.npy", incontext::examples::npy_bytes(rows));
  CHECK(std::abs(theory(temperature({"--data", moved, "--center"})) / expected - 1) < 1e-9);
  const Json uncentered = temperature({"--data", moved});
  CHECK(theory(uncentered) > 2 * expected);
  CHECK(uncentered["tables"][0]["notes"][0] == part("The inputs are not centered"));
}

TEST_CASE("scores of attention give the moment-ratio temperature", "[programs]") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("scores.npy", incontext::examples::npy_bytes(Eigen::MatrixXd::Constant(6, 6, 2)));
  const Finished finished = run_program("temperature", {"--scores", file, "--format", "json"});
  REQUIRE(finished.exit_code == 0);
  CHECK(Json::parse(finished.output)["tables"][0]["rows"][0]["value"] == 2.0);
  CHECK(Json::parse(finished.output)["verdict"].is_null());  // nothing is there to be judged
}

TEST_CASE("the output file holds the format asked for, quiet leaves the screen empty", "[programs]") {
  const TemporaryFolder folder;
  const std::string output = folder.file("report.json");
  const std::vector<std::string> small{"--dimension", "2",    "--context-length", "4",
                                       "--trials",    "2048", "--format",         "json"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return run_program("temperature", more);
  };
  const Finished loud = run({"--output", output});
  CHECK(loud.exit_code == 0);
  CHECK(loud.output == part("Agreement"));
  CHECK(Json::parse(content_of(output))["program"] == "incontext temperature");
  const Finished quiet = run({"--output", output, "--quiet"});
  CHECK(quiet.exit_code == 0);
  CHECK(quiet.output.empty());
  CHECK(folder.names() == std::vector<std::string>{"report.json"});
}

}  // namespace verdict_program_test
