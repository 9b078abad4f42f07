// incontext softmax-error as a user runs it.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/run_program.hpp"

namespace softmax_error_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

/// Of scores m x_j . x_q and values v y_j, at d = 4 and l = 50 unless the arguments say otherwise.
Json report_of(std::vector<std::string> arguments, int exit_code = 0) {
  const auto has = [&](const std::string& name) {
    return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
  };
  const auto varies = [&](const std::string& what) {
    const auto vary = std::find(arguments.begin(), arguments.end(), "--vary");
    return vary != arguments.end() && *(vary + 1) == what;
  };
  const bool dimension = !has("--dimension") && !varies("dimension");
  const bool length = !has("--context-length") && !varies("context-length");
  arguments.insert(arguments.end(), {"--attention", "scaled"});
  if (dimension) arguments.insert(arguments.end(), {"--dimension", "4"});
  if (length) arguments.insert(arguments.end(), {"--context-length", "50"});
  arguments.insert(arguments.end(), {"--format", "json"});
  if (std::find(arguments.begin(), arguments.end(), "--trials") == arguments.end()) {
    arguments.insert(arguments.end(), {"--trials", "8192"});
  }
  const Finished finished = run_program("softmax-error", arguments);
  CAPTURE(finished.errors);
  REQUIRE(finished.exit_code == exit_code);
  return Json::parse(finished.output);
}

Json row_at(const Json& report, const std::string& attention, double parameter) {
  for (const Json& row : report["tables"][0]["rows"]) {
    const auto found = row.contains("temperature") ? row["temperature"] : row["parameter"];
    if (row["attention"] == attention && found == parameter) return row;
  }
  return Json();
}

}  // namespace

TEST_CASE("incontext softmax-error prints the exact error on record, and agrees with both trials", "[programs]") {
  const Json oracles = Json::parse(content_of(std::string(INCONTEXT_ORACLES) + "/regression.json"))["cases"];
  const auto oracle = std::find_if(oracles.begin(), oracles.end(),
                                   [](const Json& one) { return one["id"] == "softmax_error_isotropic_exact-1"; });
  REQUIRE(oracle != oracles.end());
  // d = 4, l = 50, m = v = 1, a = 1, b = 1/4, s2 = .1: the parabola of approximate softmax, its offset kept.
  const auto parabola = [](double t) { return 1.1 + 1.1 / 50 - 2 * 0.98 / t + 4 * 49.0 / 2500 * 13.6 / (t * t); };
  for (const std::string estimator : {"reduced", "literal"}) {
    const Json report = report_of({"--temperatures", "2.2,1,5", "--task-variance", "0.25", "--estimator", estimator});
    CHECK(report["verdict"]["agrees"] == true);
    CHECK(report["verdict"]["comparisons"] == 5);
    CHECK(report["arguments"]["temperatures"] == Json({2.2, 1, 5}));
    const Json row = row_at(report, "softmax", 2.2);
    CHECK(std::abs(row["theory"].get<double>() - std::stod((*oracle)["out"]["error"].get<std::string>())) < 1e-9);
    CHECK(std::abs(row["approximate_softmax"].get<double>() - parabola(2.2)) < 1e-12);
    CHECK(row_at(report, "softmax", 5)["second_order"].is_number());
    CHECK(row["second_order"].is_null());  // above the lowest temperature, 1.41, and below sqrt(3) times that
    CHECK(row_at(report, "softmax", 1)["second_order"].is_null());
  }
}

TEST_CASE("incontext softmax-error: every table compares, names its domain and finds the optimum", "[programs]") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--temperatures", "1,5"},
                                             {"--vary", "context-length", "--context-lengths", "3,10"},
                                             {"--vary", "dimension", "--dimensions", "1,8", "--temperatures", "1,5"},
                                             {"--vary", "map", "--exponents", "2"}}) {
    CAPTURE(arguments);
    const Json report = report_of(arguments);
    CHECK(report["verdict"]["agrees"] == true);
    REQUIRE(report["tables"].size() == 2);
    int judged = 0;
    for (const Json& row : report["tables"][0]["rows"]) {
      for (const char* name : {"theory", "bayes", "simulation", "standard_error", "z"}) CHECK(row[name].is_number());
      CHECK(row["bayes"].get<double>() < row["theory"].get<double>());
      if (row.contains("temperature")) {
        const bool is_low = row["temperature"].get<double>() <= std::sqrt(3) * std::sqrt(2);
        if (is_low) CHECK(row["second_order"].is_null());
      }
      if (row["second_order"].is_number()) CHECK(row["theory"].get<double>() < row["second_order"].get<double>());
      ++judged;
    }
    CHECK(judged == report["verdict"]["comparisons"]);
    CHECK(report["tables"][0]["notes"][0] == part("absent up to τ = 2.4495"));
    for (const Json& row : report["tables"][1]["rows"]) {
      if (row.contains("map") && row["map"] == part("SSA")) continue;
      CHECK(row["saving"].get<double>() >= 0);
      CHECK(row["error"].get<double>() <= row["error_there"].get<double>());
    }
  }
}

TEST_CASE("incontext softmax-error: the second order is absent where its own term is too large", "[programs]") {
  // At d = 40, l = 1000 and the optimal temperature of softmax it would be 5.74 beside 0.589.
  const Json report =
      report_of({"--dimension", "40", "--context-length", "1000", "--temperatures", "3,12", "--trials", "1024"});
  for (const Json& row : report["tables"][0]["rows"]) {
    if (!row["second_order"].is_number()) continue;
    CHECK(std::abs(row["second_order"].get<double>() / row["theory"].get<double>() - 1) < 0.1);
  }
  for (const Json& row : report["tables"][1]["rows"]) {
    CHECK(row_at(report, "softmax, τ*", row["optimal"].get<double>())["second_order"].is_null());
  }
  CHECK(row_at(report, "softmax", 12)["second_order"].is_number());
  CHECK(report["tables"][0]["notes"][0] == part("where its term in 1/l is more than 50%"));
}

TEST_CASE("incontext softmax-error has by default the layer of incontext temperature, in one law with the same options",
          "[programs]") {
  using Arguments = std::vector<std::string>;
  for (const Arguments& law : std::vector<Arguments>{
           {"--input-scale", "2", "--context-length", "40"},
           {"--dimension", "5", "--input-variance", "2", "--task-variance", "0.3", "--test-noise-variance", "0.4"}}) {
    const auto tables = [&](const std::string& program, Arguments more) {
      more.insert(more.end(), law.begin(), law.end());
      more.insert(more.end(), {"--temperatures", "3", "--no-simulation", "--format", "json"});
      const Finished finished = run_program(program, more);
      CAPTURE(finished.errors);
      REQUIRE(finished.exit_code == 0);
      const Json report = Json::parse(finished.output);
      CHECK(report["verdict"]["agrees"].is_null());
      CHECK(report["trials"] == 0);
      return report["tables"];
    };
    const auto at_three = [](const Json& table) {
      for (const Json& row : table["rows"]) {
        if (row["temperature"] == 3.0) return row["theory"].get<double>();
      }
      return 0.0;
    };
    const double one = at_three(tables("softmax-error", {})[0]);
    const double other = at_three(tables("temperature", {"--scoring", "softmax"})[0]);
    CHECK(one > 0);
    CHECK(std::abs(one / other - 1) < 1e-8);
  }
}

TEST_CASE("incontext softmax-error: SSMax at its best scale is softmax at its best temperature", "[programs]") {
  const Json optima = report_of({"--vary", "map", "--exponents", "2"})["tables"][1]["rows"];
  CHECK(std::abs(optima[0]["error"].get<double>() / optima[1]["error"].get<double>() - 1) < 1e-9);
  CHECK(std::abs(optima[0]["optimal"].get<double>() * optima[1]["optimal"].get<double>() * std::log(50.0) - 1) < 1e-9);
}

TEST_CASE("an error that falls to the end of the search is shown as such, and not simulated",
          "[programs][softmax-error]") {
  // d = 20, l = 100: SSA with a larger base always errs less
  const Finished finished =
      run_program("softmax-error", {"--vary", "map", "--exponents", "1.5,3", "--trials", "4096", "--format", "json"});
  CHECK(finished.exit_code == 0);
  const Json report = Json::parse(finished.output);
  const Json& optima = report["tables"][1];
  int edges = 0;
  for (const Json& row : optima["rows"]) edges += row["optimal"] == "edge of the search" ? 1 : 0;
  CHECK(edges == 2);
  CHECK(optima["notes"].dump() == part("the highest value that was searched"));
  for (const Json& row : report["tables"][0]["rows"]) {
    CHECK_FALSE(row["attention"].get<std::string>().ends_with("b*"));
    CHECK(row["theory"].is_number());
  }
}

TEST_CASE("incontext softmax-error: every option of the law counts", "[programs]") {
  const std::vector<std::string> small{"--dimension", "2", "--context-length", "6", "--temperatures", "1.6"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return row_at(report_of(more), "softmax", 1.6);
  };
  const Json plain = with({});
  REQUIRE(plain["theory"].is_number());
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{"--input-variance", "2"},
                                                                                    {"--task-variance", "2"},
                                                                                    {"--noise-variance", "0.7"},
                                                                                    {"--key-query-scale", "0.5"},
                                                                                    {"--label-value", "0.5"}}) {
    CAPTURE(more);
    CHECK(with(more)["theory"] != plain["theory"]);
    CHECK(with(more)["simulation"] != plain["simulation"]);
  }
}

TEST_CASE("incontext softmax-error refuses options that cannot be used", "[bad-input]") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& expected) {
    const Finished finished = run_program("softmax-error", arguments);
    CAPTURE(arguments);
    CHECK(finished.exit_code == 2);
    CHECK(finished.errors == part(expected));
    CHECK(finished.output.empty());
  };
  refused({"--vary", "color"}, "--vary: is unknown (value = color;");
  refused({"--temperatures", "1,0"}, "--temperatures: is not positive (value = 0;");
  refused({"--context-length", "1"}, "--context-length: is too small (value = 1;");
  refused({"--vary", "context-length", "--context-lengths", "5,1"}, "--context-lengths: is too small (value = 1;");
  refused({"--vary", "dimension", "--dimensions", "0"}, "--dimensions: is too small (value = 0;");
  refused({"--vary", "map", "--exponents", "0.5"}, "--exponents: is too small (value = 0.5;");
  refused({"--vary", "map", "--estimator", "literal"}, "--estimator: does not support");
  refused({"--dimensions", "3"}, "--dimensions: has no meaning with --vary temperature");
  refused({"--key-query-scale", "-1"}, "--key-query-scale: is out of range (value = -1;");
}

}  // namespace softmax_error_program_test
