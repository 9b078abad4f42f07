// incontext-classify as a user runs it: figures that agree with theory, what they show, files of contexts, refusals.

#include <incontext/simulate/sphere_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

using Arguments = std::vector<std::string>;

/// As few trials as the checks of these tests allow.
Json classify_report(Arguments arguments, int exit_code = 0) {
  const auto is_given = [&arguments](const std::string& name) {
    return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
  };
  const bool searches = !is_given("--gain") && !is_given("--rate") && !is_given("--search-trials");
  if (!is_given("--trials")) arguments.insert(arguments.end(), {"--trials", "4096"});
  if (searches) arguments.insert(arguments.end(), {"--search-trials", "1024"});
  return incontext::testing::report_of(INCONTEXT_CLASSIFY, arguments, exit_code);
}

void classify_refuses(const Arguments& arguments, const std::string& expected) {
  const Finished finished = run_program(INCONTEXT_CLASSIFY, arguments);
  CAPTURE(finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  CHECK(finished.errors == part("incontext-classify: " + expected));
}

/// The rows of a table whose cells have these values.
std::vector<Json> rows_where(const Json& table, const std::map<std::string, Json>& cells) {
  std::vector<Json> rows;
  for (const Json& row : table["rows"]) {
    const bool fits =
        std::all_of(cells.begin(), cells.end(), [&](const auto& cell) { return row[cell.first] == cell.second; });
    if (fits) rows.push_back(row);
  }
  return rows;
}

Json row_where(const Json& table, const std::map<std::string, Json>& cells) {
  const auto rows = rows_where(table, cells);
  REQUIRE(rows.size() == 1);
  return rows[0];
}

double number(const Json& row, const std::string& key) { return row[key].get<double>(); }

}  // namespace

TEST_CASE("every figure of incontext-classify agrees and fits a terminal, and a run repeats itself",
          "[programs][classify]") {
  const auto [figure, tables, comparisons] = GENERATE(table<std::string, std::size_t, std::size_t>(
      {{"4-metrics", 4, 2}, {"6", 3, 2}, {"7", 3, 4}, {"8a", 2, 4}, {"16-trend", 2, 4}, {"elimination", 2, 8}}));
  CAPTURE(figure);
  Arguments arguments{"--figure", figure, "--trials", "1024", "--search-trials", "128"};
  if (figure != "4-metrics" && figure != "6") arguments.insert(arguments.end(), {"--dimensions", "2,3"});
  const Json report = classify_report(arguments);
  CHECK(report["program"] == "incontext-classify");
  CHECK(report["arguments"]["figure"] == figure);
  CHECK(report["tables"].size() == tables);
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == comparisons);
  if (figure == "6") CHECK(classify_report(arguments)["tables"] == report["tables"]);
  const Finished shown = run_program(INCONTEXT_CLASSIFY, arguments);
  std::size_t widest = 0;
  for (std::size_t at = 0; at < shown.output.size();) {
    const std::size_t end = std::min(shown.output.find('\n', at), shown.output.size());
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    const auto first = shown.output.begin() + static_cast<std::ptrdiff_t>(at);
    const auto bytes = static_cast<std::ptrdiff_t>(end - at);
    widest = std::max(widest, end - at - static_cast<std::size_t>(std::count_if(first, first + bytes, continues)));
    at = end + 1;
  }
  CHECK(widest <= 100);
}

TEST_CASE("in low dimension softmax is best, then come the kernel, the fixed width and the linear rule",
          "[programs][classify]") {
  const Json report = classify_report({"--figure", "7", "--dimensions", "2", "--trials", "32768"});
  const Json row = report["tables"][0]["rows"][0];
  CHECK(number(row, "softmax") < 0.7 * number(row, "kernel"));
  CHECK(number(row, "kernel") < 0.8 * number(row, "fixed_width"));
  CHECK(number(row, "fixed_width") < 0.95 * number(row, "linear"));
  CHECK(report["tables"][0]["notes"].dump().find("holds at d = 2") != std::string::npos);
  // elimination does not help here: its best kappa is the end of the axis at which it is the linear rule
  CHECK(std::abs(number(row, "elimination") / number(row, "linear") - 1) < 0.1);
  CHECK(row_where(report["tables"][1], {{"rule", "elimination"}})["edge"] == "highest kappa");
  CHECK(row_where(report["tables"][1], {{"rule", "softmax"}})["edge"] == "");
}

TEST_CASE("in high dimension softmax runs to the edge, and says so", "[programs][classify]") {
  const Json report = classify_report({"--figure", "8a", "--dimensions", "20"});
  const Json row = report["tables"][0]["rows"][0];
  CHECK(row["edge"] == "lowest kappa");
  CHECK(std::abs(number(row, "loss") / number(row, "linear") - 1) < 0.05);
  // c kappa equals the linear rule's best rate, as predicted
  const double rate = std::acos(-1.0) * std::sqrt(100.0 * 5 * 20 / 6);
  CHECK(std::abs(number(row, "kappa") * number(row, "gain") / rate - 1) < 0.3);
}

TEST_CASE("with ten dimensions elimination is better than linear, and selection is not", "[programs][classify]") {
  const Json report = classify_report({"--figure", "elimination", "--dimensions", "10", "--trials", "24576"});
  const Json away = row_where(report["tables"][1], {{"side", "elimination"}});
  const Json toward = row_where(report["tables"][1], {{"side", "selection"}});
  CHECK(away["than_linear"] == "better");
  CHECK(number(away, "kappa") < 0);
  CHECK(number(away, "difference") > -0.01);  // by little
  CHECK(toward["than_linear"] != "better");
  CHECK(toward["edge"] == "lowest kappa");
}

TEST_CASE("the map has its valley where c kappa is the linear rule's rate", "[programs][classify]") {
  const Json report = classify_report({"--figure", "6"});
  const double rate = std::acos(-1.0) * std::sqrt(100.0 * 5 * 5 / 6);
  for (const Json& row : report["tables"][0]["rows"]) {
    if (number(row, "kappa") > 0.5) continue;
    CHECK(std::abs(std::log(number(row, "slope") / rate)) < 0.6);
  }
  const Json numbers = report["tables"][1];
  CHECK(numbers["rows"].size() == 17 * 33);
  double least = 10;
  for (const Json& row : numbers["rows"]) least = std::min(least, number(row, "loss"));
  CHECK(std::abs(least - 0.465) < 0.08);
  std::size_t best = 0;
  for (const Json& row : report["tables"][0]["rows"]) {
    const auto map = row["map"].get<std::string>();
    CHECK(map.size() == 33);
    best += static_cast<std::size_t>(std::count(map.begin(), map.end(), '@'));
  }
  CHECK(best == 1);
}

TEST_CASE("given parameters are taken as they are", "[programs][classify]") {
  const Json report = classify_report({"--dimension", "3", "--classes", "4", "--context-length", "40", "--rule",
                                       "softmax-no-key", "--kappa", "-2", "--gain", "-9"});
  const Json row = report["tables"][0]["rows"][0];
  CHECK(row["kappa"] == -2);
  CHECK(row["gain"] == -9);
  CHECK(row["edge"] == "given");
  // gain 0: every class alike
  const Json even = classify_report({"--rule", "kernel", "--kappa", "3", "--rate", "0"});
  CHECK(std::abs(number(row_where(even["tables"][1], {{"metric", "loss"}}), "simulation") - std::log(5.0)) < 1e-5);
  CHECK(std::abs(number(row_where(even["tables"][1], {{"metric", "loss"}}), "limit") - std::log(5.0)) < 1e-12);
  CHECK(std::abs(number(row_where(even["tables"][1], {{"metric", "sensitivity"}}), "simulation")) < 1e-6);
}

TEST_CASE("long contexts have the loss of their limit, for every rule, on the circle and off it",
          "[programs][classify]") {
  const auto z = [](const Arguments& rule, const std::string& length, const std::string& trials) {
    Arguments arguments{"--classes", "3", "--context-length", length, "--trials", trials};
    arguments.insert(arguments.end(), rule.begin(), rule.end());
    const Json at = row_where(classify_report(arguments)["tables"][1], {{"metric", "loss"}});
    return (number(at, "simulation") - number(at, "limit")) /
           std::hypot(number(at, "standard_error"), number(at, "limit_error"));
  };
  for (const Arguments& rule : {Arguments{"--dimension", "2", "--rule", "softmax", "--kappa", "9", "--gain", "5"},
                                {"--dimension", "2", "--rule", "softmax-no-key", "--kappa", "9", "--gain", "5"},
                                {"--dimension", "2", "--rule", "kernel", "--kappa", "9", "--rate", "60"},
                                {"--dimension", "2", "--rule", "linear", "--rate", "40"},
                                {"--dimension", "3", "--rule", "softmax-no-key", "--kappa", "4", "--gain", "5"},
                                {"--dimension", "3", "--rule", "kernel", "--kappa", "4", "--rate", "60"},
                                {"--dimension", "3", "--rule", "linear", "--rate", "40"}}) {
    CAPTURE(rule);
    CHECK(std::abs(z(rule, "3000", "512")) <= 5);
    CHECK(z(rule, "3", "4096") > 5);
  }
}

TEST_CASE("what context noise lacks to a Gaussian is within what the linear rule's judgment allows",
          "[programs][classify]") {
  const auto [d, n] = GENERATE(table<std::string, std::string>({{"2", "4"}, {"2", "10"}, {"3", "4"}}));
  const double length = std::stod(n), rate = std::acos(-1.0) * std::sqrt(length * 2 * std::stod(d) / 6);
  for (const double factor : {1.0, 10.0}) {
    CAPTURE(d, n, factor);
    const Json table = classify_report({"--classes", "2", "--dimension", d, "--context-length", n, "--rule", "linear",
                                        "--rate", std::to_string(factor * rate), "--trials", "400000"},
                                       3)["tables"][1];
    const Json loss = row_where(table, {{"metric", "loss"}}), accuracy = row_where(table, {{"metric", "accuracy"}});
    for (const Json& row : {loss, accuracy}) {  // resolved better than the closed form is known
      CHECK(row["z"].is_null());
      CHECK(row["verdict"] == "not_judged");
      CHECK(row["reason"] == part("is below the error of the theory"));
    }
    // n times the relative error, as 0.4 and 0.6 bound it
    const auto lack = [&](const Json& row, double base) {
      return std::pair{length * std::abs(number(row, "simulation") - number(row, "theory")) / base,
                       length * number(row, "standard_error") / base};
    };
    const auto [of_loss, loss_error] = lack(loss, number(loss, "theory"));
    const auto [of_wrong, wrong_error] = lack(accuracy, 1 - number(accuracy, "theory"));
    CHECK(of_loss <= 0.4);
    CHECK(of_wrong <= 0.6);
    // power: the errors are not 0
    if (d == "2" && n == "4") CHECK(of_loss > 3 * loss_error);
    if (d == "2" && n == "4") CHECK(of_wrong > 3 * wrong_error);
  }
}

TEST_CASE("one rate fits either dense or sparse neighborhoods, and softmax both", "[programs][classify]") {
  const Json report = incontext::testing::report_of(INCONTEXT_CLASSIFY, {"--figure", "8b", "--trials", "4096"});
  const Json &losses = report["tables"][0], &rates = report["tables"][1];
  const auto both = [&](const std::string& rule) { return number(row_where(losses, {{"rule", rule}}), "both"); };
  CHECK(both("softmax, best on both") < 0.7 * both("kernel, best on both"));
  CHECK(both("softmax, no key") < 0.7 * both("kernel, best on both"));
  const Json dense = row_where(rates, {{"neighborhood", "dense"}});
  const Json sparse = row_where(rates, {{"neighborhood", "sparse"}});
  CHECK(number(sparse, "best_rate") > 5 * number(dense, "best_rate"));
  CHECK(std::abs(std::log(number(dense, "median") / number(dense, "best_rate"))) < 0.5);
  CHECK(std::abs(std::log(number(sparse, "median") / number(sparse, "best_rate"))) < 0.5);
}

TEST_CASE("a disagreement is a disagreement: a wrong theory for two classes", "[programs][classify]") {
  // the closed form of another dimension, ten times its error away
  const Json report = classify_report({"--figure", "16-trend", "--dimensions", "3", "--class-counts", "2"});
  const Json row = row_where(report["tables"][1], {{"rate_is", "theory's"}});
  const Json other = classify_report({"--figure", "16-trend", "--dimensions", "4", "--class-counts", "2"});
  const double wrong = number(row_where(other["tables"][1], {{"rate_is", "theory's"}}), "theory");
  const double bound = report["verdict"]["bound"].get<double>();
  CHECK(std::abs(number(row, "z")) <= bound);
  CHECK(std::abs(number(row, "simulation") - wrong) / number(row, "standard_error") > bound);
}

TEST_CASE("contexts are written as the simulator draws them", "[programs][classify]") {
  using namespace incontext;
  const TemporaryFolder folder;
  const std::string file = folder.file("contexts.npy");
  const Arguments arguments{"--contexts", file, "--contexts-count", "7",  "--dimension", "3",
                            "--classes",  "4",  "--context-length", "12", "--rule",      "linear",
                            "--rate",     "5",  "--trials",         "64", "--seed",      "20250917"};
  classify_report(arguments);
  CHECK(folder.names() == std::vector<std::string>{"contexts-labels.npy", "contexts.npy"});
  const Eigen::MatrixXd inputs = examples::read_npy(file);
  const Eigen::MatrixXd labels = examples::read_npy(folder.file("contexts-labels.npy"));
  REQUIRE(inputs.rows() == 7 * 13);
  REQUIRE(inputs.cols() == 3);
  REQUIRE(labels.rows() == 7);
  REQUIRE(labels.cols() == 13);
  for (Eigen::Index i = 0; i < 7; ++i) {
    CAPTURE(i);
    const auto drawn = simulate::draw_sphere_context<double>({3, 4, 12}, 20250917, static_cast<std::uint64_t>(i));
    std::vector<double> points = drawn.inputs, numbers(drawn.labels.begin(), drawn.labels.end());
    points.insert(points.end(), drawn.query.begin(), drawn.query.end());
    numbers.push_back(static_cast<double>(drawn.query_label));
    const Eigen::MatrixXd written = inputs.middleRows(13 * i, 13).transpose();  // points one after the other
    const Eigen::VectorXd classes = labels.row(i);
    CHECK(std::vector<double>(written.reshaped().begin(), written.reshaped().end()) == points);
    CHECK(std::vector<double>(classes.begin(), classes.end()) == numbers);
    CHECK(std::abs(written.col(0).norm() - 1) <= 1e-12);
  }
  const std::string before = content_of(file);
  classify_report(arguments);
  CHECK(content_of(file) == before);
}

TEST_CASE("what refuses a figure leaves no contexts behind", "[bad-input][classify]") {
  const TemporaryFolder folder;
  classify_refuses({"--contexts", folder.file("x.npy"), "--rule", "softmax", "--gain", "0"}, "--gain: is 0");
  CHECK(folder.names().empty());
}

TEST_CASE("hundreds of classes take as many draws as their cells ask for", "[programs][classify]") {
  const Json report = classify_report({"--classes", "260", "--context-length", "260", "--rule", "softmax", "--kappa",
                                       "20", "--gain", "30", "--trials", "256"});
  const Json loss = row_where(report["tables"][1], {{"metric", "loss"}});
  CHECK(number(loss, "limit") > 0);
  CHECK(number(loss, "limit") < std::log(260.0));
  CHECK(number(loss, "limit_error") > 0);
}

TEST_CASE("incontext-classify gives the same numbers on every device", "[programs][classify]") {
  const auto tables = [](const std::string& device) {
    return classify_report({"--figure", "elimination", "--dimensions", "3", "--trials", "500", "--search-trials", "100",
                            "--device", device})["tables"];
  };
  const Json serial = tables("serial");
  CHECK(tables("openmp") == serial);
  CHECK(tables("tbb") == serial);
}

TEST_CASE("incontext-classify refuses what cannot be used, by name and value", "[bad-input][classify]") {
  classify_refuses({"--figure", "5"},
                   "--figure: is unknown (value = 5; needs 4-metrics|6|7|8a|8b|16-trend|elimination)");
  classify_refuses({"--dimension", "1"}, "--dimension: is too small (value = 1; needs at least 2)");
  classify_refuses({"--classes", "513"}, "--classes: is too large (value = 513; needs at most 512)");
  classify_refuses({"--figure", "7", "--dimensions", "5,1"},
                   "--dimensions: is too small (value = 1; needs at least 2)");
  classify_refuses({"--classes", "101"}, "--context-length: is smaller than the number of classes (value = 100;");
  classify_refuses({"--classes", "7"},
                   "--context-length: is not balanced (value = 100; needs 98 or 105, a multiple of the 7 classes)");
  classify_refuses({"--figure", "8a", "--context-lengths", "100,101"},
                   "--context-lengths: is not balanced (value = 101;");
  classify_refuses({"--figure", "16-trend", "--class-counts", "2,3"},
                   "--context-length: is not balanced (value = 100;");
  classify_refuses({"--rule", "kernel", "--kappa", "-1", "--rate", "3"},
                   "--kappa: is negative: no kernel (value = -1;");
  classify_refuses({"--figure", "8b", "--kappa", "-1"}, "--kappa: is not positive (value = -1;");
  classify_refuses({"--rule", "kernel", "--gain", "3"}, "--gain: has no meaning with --rule kernel");
  classify_refuses({"--rule", "softmax", "--rate", "3"}, "--rate: has no meaning with --rule softmax");
  classify_refuses({"--rule", "linear", "--kappa", "3"}, "--kappa: has no meaning with --rule linear");
  classify_refuses({"--kappa", "3"}, "--kappa: has no meaning with all rules");
  classify_refuses({"--rule", "softmax-no-key", "--gain", "0"},
                   "--gain: is 0: every kappa errs alike (value = 0; needs --kappa, or another value)");
  classify_refuses({"--rule", "kernel", "--rate", "0"}, "--rate: is 0: every kappa errs alike (value = 0;");
  classify_refuses({"--rule", "kernel", "--rate", "-5"}, "--rate: is negative (value = -5; needs 0 <= value)");
  classify_refuses({"--rule", "linear", "--rate", "-5"}, "--rate: is negative (value = -5;");
  classify_refuses({"--rule", "softmax", "--kappa", "1e9"}, "--kappa: is too large (value = 1e+09;");
  classify_refuses({"--rule", "softmax-no-key", "--kappa", "nan"}, "--kappa: ");
  classify_refuses({"--figure", "6", "--rule", "linear"}, "--rule: has one kappa only (value = linear;");
  classify_refuses({"--figure", "8b", "--dimension", "3"}, "--dimension: has no meaning with --figure 8b");
  classify_refuses({"--figure", "8b", "--crowding", "0.99"}, "--crowding: is reached by no context");
  classify_refuses({"--contexts-count", "3"}, "--contexts-count: has no meaning with no --contexts");
  classify_refuses({"--contexts", "/nowhere/x.npy"}, "--contexts: cannot be written: ");
  classify_refuses({"--contexts", "x.npy", "--contexts-count", "1e6", "--dimension", "1000"},
                   "--contexts-count: makes files too large");
  classify_refuses({"--output", "/nowhere/x"}, "--output: cannot be written: ");
  classify_refuses({"--trials", "100", "--relative-error", "0.1"}, "--trials excludes --relative-error");
}
