// incontext classify as a user runs it: figures that agree with theory, what they show, files of contexts, refusals.

#include <incontext/simulate/classification/sphere_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  const bool is_laws = std::find(arguments.begin(), arguments.end(), "laws") != arguments.end();
  const bool searches = !is_given("--gain") && !is_given("--rate") && !is_given("--search-trials") && !is_laws;
  if (!is_given("--trials")) arguments.insert(arguments.end(), {"--trials", "4096"});
  if (searches) arguments.insert(arguments.end(), {"--search-trials", "1024"});
  return incontext::testing::report_of("classify", arguments, exit_code);
}

void classify_refuses(const Arguments& arguments, const std::string& expected) {
  const Finished finished = run_program("classify", arguments);
  CAPTURE(finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  CHECK(finished.errors == part("incontext classify: " + expected));
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

TEST_CASE("incontext classify shows the approximate loss of two classes within its range alone", "[programs]") {
  const auto loss_of = [](const std::string& rule, const std::string& kappa, const std::string& size, double gain) {
    const std::string option = rule == "kernel" ? "--rate" : "--gain";
    const Json rows =
        classify_report({"--classes", "2", "--dimension", "3", "--context-length", size, "--rule", rule, "--kappa",
                         kappa, option, std::to_string(gain), "--trials", "4096"})["tables"][1]["rows"];
    for (const Json& row : rows) {
      if (row["metric"] == "loss") return row;
    }
    return Json();
  };
  // At kappa = 8 the approximation is 0.191 and the loss 0.227: before, the one stood beside the other without a word.
  const Json beyond = loss_of("softmax-no-key", "8", "40", 8);
  CHECK(beyond["simulation"].is_number());
  CHECK(beyond["approximate"].is_null());
  const Json within = loss_of("softmax-no-key", "0.5", "40", 8);
  CHECK(std::abs(within["approximate"].get<double>() / within["simulation"].get<double>() - 1) < 0.05);
  CHECK(loss_of("softmax-no-key", "8", "4000", 8)["approximate"].is_number());
  CHECK(loss_of("kernel", "8", "40", 128)["approximate"].is_null());
}

}  // namespace

TEST_CASE("every figure of incontext classify agrees and fits a terminal, and a run repeats itself",
          "[programs][classify]") {
  const auto [figure, tables, comparisons] =
      GENERATE(table<std::string, std::size_t, std::size_t>({{"rules", 6, 21},
                                                             {"4", 3, 6},
                                                             {"5", 3, 6},
                                                             {"6", 5, 10},
                                                             {"7", 5, 24},
                                                             {"8a", 4, 30},
                                                             {"16", 4, 18},
                                                             {"valley", 4, 6},
                                                             {"rates", 4, 16},
                                                             {"elimination", 4, 20},
                                                             {"onset", 4, 2}}));
  CAPTURE(figure);
  Arguments arguments{"--figure", figure, "--trials", "1024", "--search-trials", "128"};
  const std::vector<std::string> of_one_dimension{"rules", "4", "5", "6", "valley"};
  const bool has_dimensions =
      std::find(of_one_dimension.begin(), of_one_dimension.end(), figure) == of_one_dimension.end();
  if (has_dimensions) arguments.insert(arguments.end(), {"--dimensions", "2,3"});
  if (figure == "7") arguments.insert(arguments.end(), {"--context-lengths", "20,40"});
  const Json report = classify_report(arguments);
  CHECK(report["program"] == "incontext classify");
  CHECK(report["arguments"]["figure"] == figure);
  CHECK(report["tables"].size() == tables);
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["verdict"]["comparisons"] == comparisons);
  CHECK(report["verdict"]["controls_that_passed"] == 0);
  if (figure == "6") CHECK(classify_report(arguments)["tables"] == report["tables"]);
  const Finished shown = run_program("classify", arguments);
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

TEST_CASE("softmax, then kernel, then fixed width, then linear: in low dimension and in long contexts",
          "[programs][classify]") {
  const auto row = [](const std::string& d, const std::string& n) {
    const Json report =
        classify_report({"--figure", "7", "--dimensions", d, "--context-lengths", n, "--trials", "16384"});
    return row_where(report["tables"][1], {{"d", std::stoi(d)}, {"n", std::stoi(n)}});
  };
  const Json low = row("2", "100"), wide = row("5", "20"), late = row("5", "400");
  CHECK(low["order"] == "yes");
  CHECK(wide["order"] != "yes");
  CHECK(late["order"] == "yes");
  // the kernel rule is as accurate and errs more: it lacks confidence
  CHECK(number(low, "loss_gap") < -0.07);
  CHECK(std::abs(number(low, "accuracy_gap")) < 0.01);
}

TEST_CASE("the laws of the rules that adapt are judged, and near misses rejected", "[programs][classify]") {
  const Json report = classify_report({"--figure", "laws", "--trials", "8192"});
  CHECK(report["verdict"]["comparisons"].get<int>() >= 40);
  CHECK(report["verdict"]["controls_that_passed"] == 0);
  const Json controls = report["tables"].back();
  CHECK(rows_where(controls, {{"outcome", "rejected"}}).size() >= 12);
  const Json referee = report["tables"][1];
  CHECK(rows_where(referee, {{"rule", "softmax"}, {"verdict", "agrees"}}).size() == 1);
  CHECK(rows_where(referee, {{"rule", "kernel"}, {"verdict", "agrees"}}).size() == 2);
}

TEST_CASE("boundaries: linear attention loses narrow cells that softmax keeps, in strips and in numbers",
          "[programs][classify]") {
  const Json report = classify_report({"--figure", "6", "--trials", "8192"});
  const Json linear = row_where(report["tables"][0], {{"rule", "linear"}});
  const Json softmax = row_where(report["tables"][0], {{"rule", "softmax"}});
  CHECK(number(softmax, "share") > number(linear, "share") + 0.03);
  CHECK(number(softmax, "wrong_points") < number(linear, "wrong_points"));
  const Json numbers = report["tables"][1];
  REQUIRE(numbers["rows"].size() == 300);
  double right = 0, all = 0;
  for (const Json& row : numbers["rows"]) {
    right += row["softmax"] == row["label"] ? 1 : 0;
    all += 1;
  }
  CHECK(right / all > 0.85);
  // the strip says what the numbers say
  const auto map = softmax["map"].get<std::string>();
  REQUIRE(map.size() == 60);
  for (std::size_t i = 0; i < 60; ++i) {
    const Json row = numbers["rows"][5 * i + 2];
    const auto c = static_cast<char>(row["softmax"].get<int>());
    CHECK(map[i] == static_cast<char>((row["softmax"] == row["label"] ? 'a' : 'A') + c));
  }
}

TEST_CASE("constructed attention is its step, and 10% off it is not", "[programs][classify]") {
  for (const std::string figure : {"4", "5"}) {
    CAPTURE(figure);
    const Json report = classify_report({"--figure", figure});
    const Json same = row_where(report["tables"][0], {{"weights", "as constructed"}});
    CHECK(number(same, "predictions_difference") <= 1e-14);
    CHECK(std::abs(number(same, "cosine") - 1) <= 1e-12);
    CHECK(number(same, "sensitivity_difference") <= 1e-12);
    for (const Json& row : report["tables"][0]["rows"]) {
      if (row["weights"] != "as constructed") CHECK(number(row, "predictions_difference") > 1e-3);
    }
  }
}

TEST_CASE("the partition function varies most where its width is best in low dimension", "[programs][classify]") {
  const Json rows = classify_report({"--figure", "8a", "--dimensions", "2,5"})["tables"][0]["rows"];
  const auto spread_at_best = [&](int d) {
    for (const Json& row : rows) {
      if (row["d"] == d && !row["best"].is_null()) return number(row, "balanced");
    }
    return -1.0;
  };
  CHECK(spread_at_best(2) > 4 * spread_at_best(5));
  CHECK(spread_at_best(5) > 0);
}

TEST_CASE("the context length from which a kernel pays grows with the dimension", "[programs][classify]") {
  const Json report = classify_report({"--figure", "onset", "--dimensions", "3,6", "--trials", "8192"});
  const Json rows = report["tables"][0]["rows"];
  const double low = number(row_where(report["tables"][0], {{"d", 3}}), "onset");
  const double high = number(row_where(report["tables"][0], {{"d", 6}}), "onset");
  CHECK((low > 3 && low < 15));
  CHECK((high > 35 && high < 90));
  CHECK(std::abs(number(rows[0], "limit") - 4.80) < 0.01);
}

TEST_CASE("shared prototypes: contexts a set apart have the same cells", "[programs][classify]") {
  using namespace incontext;
  const simulate::SphereTask task{3, 4, 12, simulate::ContextLaw::balanced, 2};
  const auto drawn = [&](std::uint64_t i) { return simulate::draw_sphere_context<double>(task, 7, i); };
  CHECK(drawn(0).prototypes == drawn(2).prototypes);
  CHECK(drawn(1).prototypes == drawn(5).prototypes);
  CHECK(drawn(0).prototypes != drawn(1).prototypes);
  CHECK(drawn(0).inputs != drawn(2).inputs);
  const auto alone = simulate::draw_sphere_context<double>({3, 4, 12}, 7, 1);
  CHECK(drawn(1).prototypes == alone.prototypes);
  CHECK(drawn(1).inputs == alone.inputs);
  classify_report({"--prototype-sets", "2", "--rule", "linear", "--rate", "7", "--trials", "512"});
}

TEST_CASE("in high dimension softmax runs to the edge, and says so", "[programs][classify]") {
  const Json report = classify_report({"--figure", "16", "--dimensions", "20"});
  const Json row = report["tables"][0]["rows"][0];
  CHECK(row["edge"] == "lowest kappa");
  CHECK(std::abs(number(row, "difference")) < 0.05 * number(row, "loss"));
  // c kappa is the linear rule's best rate, as predicted
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
  const Json report = classify_report({"--figure", "valley"});
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
  const std::string trials = n == "10" ? "400000" : "100000";  // what is missing falls like 1 / n
  const double length = std::stod(n), rate = std::acos(-1.0) * std::sqrt(length * 2 * std::stod(d) / 6);
  for (const double factor : {1.0, 10.0}) {
    CAPTURE(d, n, factor);
    const Json table = classify_report({"--classes", "2", "--dimension", d, "--context-length", n, "--rule", "linear",
                                        "--rate", std::to_string(factor * rate), "--trials", trials},
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
  const Json report = incontext::testing::report_of("classify", {"--figure", "8b", "--trials", "4096"});
  const Json &losses = report["tables"][0], &rates = report["tables"][1];
  const auto both = [&](const std::string& rule) { return number(row_where(losses, {{"rule", rule}}), "both"); };
  CHECK(both("softmax, best on both") < 0.7 * both("kernel, best on both"));
  CHECK(both("softmax, no key") < 0.7 * both("kernel, best on both"));
  const Json dense = row_where(rates, {{"neighborhood", "dense"}});
  const Json sparse = row_where(rates, {{"neighborhood", "sparse"}});
  CHECK(number(sparse, "best_rate") > 5 * number(dense, "best_rate"));
  CHECK(report["verdict"]["agrees"] == true);
  const Json& attention = report["tables"][2];
  CHECK(rows_where(attention, {{"verdict", "agrees"}}).size() == 4);
  CHECK(rows_where(report["tables"][3], {{"verdict", "agrees"}}).size() == 3);
  const Json& controls = report["tables"].back();
  CHECK(row_where(controls, {{"theory", "probability, softmax without its key"}, {"of", "sparse"}})["outcome"] ==
        "rejected");
  CHECK(row_where(controls, {{"theory", "Var Z of independent points"}})["outcome"] == "rejected");
  // a kernel narrow enough for the best rate of both kinds to be near the median of theirs
  const Json narrow =
      incontext::testing::report_of("classify", {"--figure", "8b", "--kappa", "30", "--trials", "4096"});
  for (const std::string neighborhood : {"dense", "sparse"}) {
    const Json row = row_where(narrow["tables"][1], {{"neighborhood", neighborhood}});
    CHECK(std::abs(std::log(number(row, "median") / number(row, "best_rate"))) < 0.5);
  }
}

TEST_CASE("a disagreement is a disagreement: a wrong theory for two classes", "[programs][classify]") {
  // the closed form of another dimension, ten times its error away
  const Json report = classify_report({"--figure", "rates", "--dimensions", "3", "--class-counts", "2"});
  const Json row = row_where(report["tables"][1], {{"rate_is", "theory's"}});
  const Json other = classify_report({"--figure", "rates", "--dimensions", "4", "--class-counts", "2"});
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
  // NumPy's header, then 7 x 13 x 3 doubles; 7 x 13 integers
  const auto payload = [](const std::string& bytes, const std::string& type, const std::string& shape) {
    const std::size_t end = bytes.find('\n') + 1;
    CHECK(bytes.substr(0, 6) == "\x93NUMPY");
    CHECK(bytes.substr(0, end) == part("'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape));
    CHECK(end % 64 == 0);
    return bytes.substr(end);
  };
  const std::string inputs = payload(content_of(file), "<f8", "(7, 13, 3)");
  const std::string labels = payload(content_of(folder.file("contexts-labels.npy")), "<i8", "(7, 13)");
  REQUIRE(inputs.size() == 7 * 13 * 3 * 8);
  REQUIRE(labels.size() == 7 * 13 * 8);
  for (std::size_t i = 0; i < 7; ++i) {
    CAPTURE(i);
    const auto drawn = simulate::draw_sphere_context<double>({3, 4, 12}, 20250917, i);
    std::vector<double> points = drawn.inputs, written(39);
    points.insert(points.end(), drawn.query.begin(), drawn.query.end());
    std::vector<std::int64_t> classes = drawn.labels, numbers(13);
    classes.push_back(drawn.query_label);
    std::memcpy(written.data(), inputs.data() + i * 39 * 8, 39 * 8);
    std::memcpy(numbers.data(), labels.data() + i * 13 * 8, 13 * 8);
    CHECK(written == points);
    CHECK(numbers == classes);
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

TEST_CASE("incontext classify gives the same numbers on every device", "[programs][classify]") {
  const auto tables = [](const std::string& device) {
    return classify_report({"--figure", "elimination", "--dimensions", "3", "--trials", "500", "--search-trials", "100",
                            "--device", device})["tables"];
  };
  const Json serial = tables("serial");
  CHECK(tables("openmp") == serial);
  CHECK(tables("tbb") == serial);
}

TEST_CASE("incontext classify refuses what cannot be used, by name and value", "[bad-input][classify]") {
  classify_refuses(
      {"--figure", "9"},
      "--figure: is unknown (value = 9; needs rules|laws|4|5|6|7|8a|8b|16|valley|rates|elimination|onset)");
  classify_refuses({"--dimension", "1"}, "--dimension: is too small (value = 1; needs at least 2)");
  classify_refuses({"--classes", "513"}, "--classes: is too large (value = 513; needs at most 512)");
  classify_refuses({"--figure", "7", "--dimensions", "5,1"},
                   "--dimensions: is too small (value = 1; needs at least 2)");
  classify_refuses({"--classes", "101"}, "--context-length: is smaller than the number of classes (value = 100;");
  classify_refuses({"--classes", "7"},
                   "--context-length: is not balanced (value = 100; needs 98 or 105, a multiple of the 7 classes)");
  classify_refuses({"--figure", "16", "--context-lengths", "100,101"},
                   "--context-lengths: is not balanced (value = 101;");
  classify_refuses({"--figure", "rates", "--class-counts", "2,3"}, "--context-length: is not balanced (value = 100;");
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
  classify_refuses({"--figure", "valley", "--rule", "linear"}, "--rule: has one kappa only (value = linear;");
  classify_refuses({"--figure", "8b", "--dimension", "3"}, "--dimension: has no meaning with --figure 8b");
  classify_refuses({"--figure", "8b", "--crowding", "0.99"}, "--crowding: is reached by no context");
  classify_refuses({"--contexts-count", "3"}, "--contexts-count: has no meaning with no --contexts");
  classify_refuses({"--contexts", "/nowhere/x.npy"}, "--contexts: cannot be written: ");
  classify_refuses({"--contexts", "x.npy", "--contexts-count", "1e6", "--dimension", "1000"},
                   "--contexts-count: makes files too large");
  classify_refuses({"--output", "/nowhere/x"}, "--output: cannot be written: ");
  classify_refuses({"--trials", "100", "--relative-error", "0.1"}, "--trials excludes --relative-error");
}
