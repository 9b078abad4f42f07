// Every option of every program in every mode either changes the report or is refused by name, and the options that a
// report states are those that the run used.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace options_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

/// An option and a value that is not its default; flags have none.
struct Option {
  std::string name;
  std::string value;
};

/// A program, the options that set a mode, and those that make the run short.
struct Mode {
  std::string program;
  Arguments mode;
  Arguments small;
};

Arguments joined(const Arguments& a, const Arguments& b) {
  Arguments all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// The report of a run without the record of the tested option.
Json seen(const Finished& finished) {
  Json report = Json::parse(finished.output);
  for (const char* key : {"arguments", "command", "seconds", "verdict"}) report.erase(key);
  return report;
}

/// Runs on one thread, because starting threads takes longer than these runs.
Arguments serial(const Mode& at) {
  const bool simulates =
      at.program != "scores" && std::find(at.mode.begin(), at.mode.end(), "--scores") == at.mode.end();
  const bool is_given = std::find(at.mode.begin(), at.mode.end(), "--device") != at.mode.end();
  return simulates && !is_given ? Arguments{"--device", "serial"} : Arguments{};
}

/// Tries every option in a mode. Those that the mode or its short form already gives are left out.
void try_options(const Mode& at, const std::vector<Option>& options) {
  const Arguments base = joined(joined(at.mode, at.small), joined(serial(at), {"--format", "json"}));
  const Finished plain = run_program(at.program, base);
  CAPTURE(at.program, at.mode, plain.errors);
  REQUIRE(plain.exit_code != 2);
  const Json before = seen(plain);
  for (const Option& option : options) {
    if (std::find(base.begin(), base.end(), option.name) != base.end()) continue;
    Arguments arguments = base;
    arguments.push_back(option.name);
    if (!option.value.empty()) arguments.push_back(option.value);
    const Finished finished = run_program(at.program, arguments);
    CAPTURE(option.name, option.value, finished.errors);
    if (finished.exit_code == 2) {
      const std::string words = finished.errors.substr(finished.errors.find(": ") + 2);
      if (!(words == part("has no meaning with every parameter given"))) CHECK(words == part(option.name.substr(2)));
    } else {
      CHECK(seen(finished) != before);
    }
    const Json stated = Json::parse(plain.output)["arguments"];
    CHECK(stated.contains(option.name.substr(2)));
  }
}

/// The options of every program that simulates.
const std::vector<Option> run_options{{"--seed", "2"}, {"--threads", "3"}, {"--replace-by-partial", ""}};

}  // namespace

TEST_CASE("every program that simulates uses or refuses the options of a run", "[programs][options]") {
  try_options({"temperature", {}, {"--trials", "64", "--dimension", "2"}}, run_options);
  try_options({"softmax-error", {}, {"--trials", "64", "--context-length", "5"}}, run_options);
  try_options({"gradients", {}, {"--trials", "64", "--dimension", "4"}}, run_options);
  try_options({"fading", {}, {"--trials", "1500", "--lengths", "20"}}, run_options);
  try_options({"classify", {"--rule", "linear", "--rate", "7"}, {"--trials", "64"}}, run_options);
  try_options({"baselines", {}, {"--trials", "64", "--context-lengths", "5"}}, run_options);
  try_options({"temperature", {"--device", "openmp"}, {"--trials", "64", "--dimension", "2"}}, run_options);
}

TEST_CASE("incontext temperature: every option counts or is refused, in every mode", "[programs][options]") {
  const TemporaryFolder folder;
  const std::string covariance = folder.write("covariance.csv", "a,b,c\n2,0.5,0\n0.5,1,0\n0,0,0.5\n");
  const std::string data = std::string(INCONTEXT_SOURCE_DIR) + "/examples/data/diabetes.csv";
  const std::string scores = folder.write(
      "scores.npy",
      incontext::examples::npy_bytes(Eigen::MatrixXd::Identity(3, 3) * 2 + Eigen::MatrixXd::Constant(3, 3, 1)));
  const std::vector<Option> options{{"--temperatures", "0.8,3"},
                                    {"--input-variance", "1.5"},
                                    {"--task-variance", "0.7"},
                                    {"--no-simulation", ""},
                                    {"--noise-variance", "0.7"},
                                    {"--test-noise-variance", "0.6"},
                                    {"--input-scale", "2"},
                                    {"--task-scale", "2"},
                                    {"--mean-shift", "0.5"},
                                    {"--input-covariance", covariance},
                                    {"--task-covariance", covariance},
                                    {"--test-input-covariance", covariance},
                                    {"--test-task-covariance", covariance},
                                    {"--task-mean", "0.5"},
                                    {"--test-task-mean", "0.7"},
                                    {"--query", "included"},
                                    {"--offset", "removed"},
                                    {"--scoring", "linear"},
                                    {"--estimator", "conditional"},
                                    {"--context-lengths", "7,9"},
                                    {"--shifts", "0.7"},
                                    {"--columns", "bmi,age"},
                                    {"--without", "sex"},
                                    {"--labels", "progression"},
                                    {"--center", ""},
                                    {"--standardize", ""},
                                    {"--causal", ""},
                                    {"--self-column", "2"},
                                    {"--self-scores", scores},
                                    {"--dimension", "4"},
                                    {"--context-length", "9"}};
  const Arguments small{"--dimension", "3", "--trials", "64"};
  std::vector<Mode> modes{{"temperature", {}, joined(small, {"--context-length", "6"})},
                          {"temperature", {"--scoring", "linear"}, joined(small, {"--context-length", "6"})},
                          {"temperature", {"--scoring", "softmax"}, joined(small, {"--context-length", "6"})},
                          {"temperature", {"--data", data}, {"--trials", "256"}},
                          {"temperature", {"--data", data, "--standardize"}, {"--trials", "256"}},
                          {"temperature", {"--data", data, "--labels", "progression"}, {"--trials", "256"}},
                          {"temperature", {"--scores", scores}, {}}};
  for (const std::string figure : {"2a", "2b", "2c", "3a", "3b", "3c", "6", "7", "mean-shift", "scores"}) {
    // in every row of these figures is an optimum of softmax, or an average over queries
    const bool many = figure == "3c" || figure == "6" || figure == "mean-shift";
    modes.push_back({"temperature", {"--figure", figure}, many ? joined(small, {"--shifts", "0.5"}) : small});
  }
  std::vector<Option> of_figures = options;  // figures remove the offset if nothing is said
  for (Option& option : of_figures) {
    if (option.name == "--offset") option.value = "kept";
  }
  for (const Mode& mode : modes)
    try_options(mode, mode.mode.size() > 1 && mode.mode[0] == "--figure" ? of_figures : options);
}

TEST_CASE("incontext softmax-error: every option counts or is refused, in every mode", "[programs][options]") {
  const std::vector<Option> options{{"--temperatures", "2.5"},    {"--context-lengths", "7"},
                                    {"--dimensions", "3"},        {"--scales", "0.7"},
                                    {"--exponents", "2"},         {"--input-variance", "2"},
                                    {"--task-variance", "0.7"},   {"--noise-variance", "0.7"},
                                    {"--key-query-scale", "0.5"}, {"--label-value", "0.5"},
                                    {"--estimator", "literal"},   {"--dimension", "3"},
                                    {"--context-length", "8"},    {"--test-noise-variance", "0.6"},
                                    {"--input-scale", "2"},       {"--task-scale", "2"},
                                    {"--mean-shift", "0.5"},      {"--task-mean", "0.5"},
                                    {"--test-task-mean", "0.7"},  {"--query", "included"},
                                    {"--attention", "scaled"}};
  // Optima are slow: few laws are tried, and of the maps only their own options.
  const Arguments small{"--trials", "64", "--temperatures", "1"};
  const Arguments by_length = joined(small, {"--context-lengths", "5", "--dimension", "4"}),
                  of_four = joined(small, {"--context-length", "5", "--dimension", "4"}),
                  by_dimension = joined(small, {"--dimensions", "2"});
  try_options({"softmax-error", {}, of_four}, options);
  try_options({"softmax-error", {"--attention", "scaled"}, of_four}, options);
  try_options({"softmax-error", {}, joined(small, {"--context-length", "5"})}, {{"--dimension", "3"}});
  try_options({"softmax-error", {"--vary", "context-length"}, by_length}, options);
  try_options({"softmax-error", {"--vary", "dimension"}, by_dimension}, options);
  try_options({"softmax-error", {"--vary", "map"}, joined(small, {"--dimension", "4"})}, {{"--scales", "0.7"},
                                                                                          {"--exponents", "2"},
                                                                                          {"--dimensions", "3"},
                                                                                          {"--context-lengths", "7"},
                                                                                          {"--estimator", "literal"}});
  try_options({"softmax-error", {"--context-length", "5"}, {"--trials", "64"}}, {{"--temperatures", "2.5"}});
}

TEST_CASE("incontext gradients: every option counts or is refused, in every mode", "[programs][options]") {
  const std::vector<Option> options{
      {"--temperatures", "2"},   {"--score-stddevs", "2"},   {"--epochs", "9"},         {"--start-temperature", "0.7"},
      {"--scales", "2"},         {"--weight-stddev", "0.5"}, {"--key-dimension", "16"}, {"--dimension", "5"},
      {"--context-length", "9"}, {"--gaps", "0.7"},          {"--key-dimensions", "3"}};
  for (const std::string figure : {"temperature", "frozen", "schedule", "normsoftmax", "queries"}) {
    try_options({"gradients", {"--figure", figure}, {"--trials", "64", "--dimension", "4"}}, options);
  }
  for (const std::string figure : {"groups", "ends"}) {
    try_options({"gradients", {"--figure", figure}, {"--trials", "64"}}, options);
  }
}

TEST_CASE("incontext tasks: every option counts or is refused, in every mode", "[programs][options]") {
  const std::vector<Option> options{
      {"--input-stddev", "0.7"}, {"--function-stddev", "2"}, {"--lengths", "3"}, {"--largest-value", "5"}};
  for (const std::string figure : {"baselines", "boundary", "deviant"}) {
    try_options({"tasks", {"--figure", figure}, {"--trials", "2000"}}, options);
  }
}

TEST_CASE("incontext baselines: every option counts or is refused", "[programs][options]") {
  try_options({"baselines", {"--pretraining-tasks", "3"}, {"--trials", "64", "--context-lengths", "3,9"}},
              {{"--pools", "5"}, {"--pool-seed", "2"}});
  try_options({"baselines", {}, {"--trials", "500", "--context-lengths", "3,9"}}, {{"--dimension", "4"},
                                                                                   {"--noise-variance", "0.2"},
                                                                                   {"--task-variance", "0.2"},
                                                                                   {"--input-variance", "2"},
                                                                                   {"--layers", "3"},
                                                                                   {"--looped", "2"},
                                                                                   {"--pretraining-tasks", "3"},
                                                                                   {"--pools", "5"},
                                                                                   {"--pool-seed", "2"},
                                                                                   {"--sgd-tasks", "40"},
                                                                                   {"--without-query-noise", ""},
                                                                                   {"--per-dimension", ""},
                                                                                   {"--no-simulation", ""}});
}

TEST_CASE("incontext fading: every option counts or is refused, in every mode", "[programs][options]") {
  const std::vector<Option> options{{"--lengths", "40"},        {"--s", "0.7"},       {"--variance", "0.7"},
                                    {"--score-stddevs", "0.6"}, {"--gap", "3"},       {"--weights", "0.7"},
                                    {"--height", "3"},          {"--heights", "0.9"}, {"--points", "3"},
                                    {"--most-scores", "15000"}};
  for (const std::string figure : {"phase", "fading", "retrieval", "bounded", "diagram", "optimum"}) {
    Arguments small{"--trials", "1500", "--lengths", "20"};
    if (figure == "diagram") small = joined(small, {"--points", "2"});
    try_options({"fading", {"--figure", figure}, small}, options);
    if (figure == "diagram") continue;
    small = {"--relative-error", "0.5", "--lengths", "20"};
    if (figure == "fading") small = joined(small, {"--weights", "0.9"});  // lower ones are kept by rows of millions
    try_options({"fading", {"--figure", figure}, small}, {{"--most-scores", "20000"}, {"--trials", "64"}});
  }
}

TEST_CASE("incontext classify: every option counts or is refused, in every mode", "[programs][options]") {
  const std::vector<Option> options{{"--rule", "kernel"},      {"--kappa", "2"},          {"--gain", "7"},
                                    {"--rate", "7"},           {"--dimensions", "3"},     {"--context-lengths", "20"},
                                    {"--class-counts", "4"},   {"--crowding", "0.3"},     {"--near-cosine", "0.8"},
                                    {"--dimension", "3"},      {"--classes", "4"},        {"--context-length", "40"},
                                    {"--search-trials", "70"}, {"--contexts-count", "3"}, {"--prototype-sets", "2"},
                                    {"--context", "3"}};
  const Arguments searching{"--trials", "64", "--search-trials", "64"};
  for (const std::string figure : {"8a", "16", "rates", "elimination", "onset"}) {
    try_options({"classify", {"--figure", figure}, joined(searching, {"--dimensions", "2"})}, options);
  }
  try_options({"classify", {"--figure", "7"}, joined(searching, {"--dimensions", "2", "--context-lengths", "40"})},
              options);
  for (const std::string figure : {"4", "5", "6", "valley"}) {
    try_options({"classify", {"--figure", figure}, searching}, options);
  }
  try_options({"classify", {"--figure", "laws"}, {"--trials", "64"}}, options);
  try_options({"classify", {}, searching}, {{"--kappa", "2"},
                                            {"--gain", "7"},
                                            {"--rate", "7"},
                                            {"--dimensions", "3"},
                                            {"--crowding", "0.3"},
                                            {"--class-counts", "4"},
                                            {"--near-cosine", "0.8"},
                                            {"--context-lengths", "20"},
                                            {"--rule", "kernel"}});
  try_options({"classify", {"--figure", "16", "--context-lengths", "20,40"}, searching}, options);
  try_options({"classify", {"--figure", "8b"}, searching}, options);
  try_options({"classify", {"--rule", "linear"}, searching}, options);
  try_options({"classify", {"--rule", "softmax", "--kappa", "3", "--gain", "7"}, {"--trials", "64"}}, options);
  try_options({"classify", {"--rule", "linear", "--rate", "7"}, {"--trials", "64"}}, options);
}

TEST_CASE("incontext scores: every option counts or is refused, in every mode", "[programs][options]") {
  const TemporaryFolder folder;
  Eigen::MatrixXd matrix(3, 3);
  matrix << 1, 2, -1, 0.5, 3, 2, 1, -2, 4;
  const std::string scores = folder.write("scores.npy", incontext::examples::npy_bytes(matrix));
  const std::vector<Option> options{
      {"--lengths", "30"},  {"--temperatures", "0.7"}, {"--gap", "3"},       {"--row", "1,2,0.5"},
      {"--scores", scores}, {"--causal", ""},          {"--map", "average"}, {"--direction", "1,0,0"},
      {"--norms", ""},      {"--temperature", "0.6"},  {"--s", "0.8"},       {"--bias", "0.5"},
      {"--base", "0.5"},    {"--exponent", "2.5"},     {"--alpha", "1.2"},   {"--score-scale", "variance"},
      {"--over", "none"}};
  for (const std::string figure :
       {"approximation", "ssa-base", "ssmax-fading", "ssmax-threshold", "deviant", "prompt", "normsoftmax-bound"}) {
    try_options({"scores", {"--figure", figure}, {}}, options);
  }
  for (const std::string map : {"softmax", "approximate-softmax", "linear", "ssmax", "ssa", "normsoftmax", "entmax",
                                "sparsemax", "hardmax", "sa-softmax", "average", "tanh"}) {
    CAPTURE(map);
    try_options({"scores", {"--row", "0.1,2,-0.4", "--map", map}, {}}, options);
  }
  try_options({"scores", {"--scores", scores}, {}}, options);
}

TEST_CASE("real data: the report states the pretraining it used, and the data's dimension", "[programs][options]") {
  const std::string data = std::string(INCONTEXT_SOURCE_DIR) + "/examples/data/diabetes.csv";
  const auto with = [&](Arguments more) {
    return report_of("temperature",
                     joined({"--data", data, "--columns", "bmi,age", "--standardize", "--trials", "512"}, more));
  };
  const Json own = with({"--labels", "progression"}),
             louder = with({"--labels", "progression", "--noise-variance", "5"});
  CHECK(own["arguments"]["dimension"] == 2);
  CHECK(own["arguments"]["noise-variance"].get<double>() < 1);
  CHECK(louder["arguments"]["noise-variance"] == 5);
  const auto note = [](const Json& report) {
    for (const Json& line : report["tables"][0]["notes"]) {
      if (line.get<std::string>().find("Pretrained on") == 0) return line.get<std::string>();
    }
    return std::string();
  };
  CHECK(note(own) == part("every input explains the same share of a label variance of"));
  CHECK(note(louder) == part(", and noise 5."));
  CHECK(note(own) != note(louder));
  const Json law = with({"--noise-variance", "0.4"});
  CHECK(law["arguments"]["test-noise-variance"] == 0.4);
  CHECK(law["arguments"]["mean-shift"].is_null());
  CHECK(note(law) == part(", and noise 0.4."));
}

TEST_CASE("arguments that had no effect are null, and defaults are stated as the run used them",
          "[programs][options]") {
  const Json sweep = report_of("temperature", {"--dimension", "3", "--context-length", "8", "--relative-error", "0.1"});
  CHECK(sweep["arguments"]["trials"].is_null());
  CHECK(sweep["arguments"]["temperatures"].size() == 6);
  CHECK(sweep["arguments"]["test-noise-variance"] == 0.1);
  CHECK(sweep["arguments"]["shifts"].is_null());
  const Json figure = report_of("temperature", {"--figure", "3a", "--dimension", "3", "--trials", "256"});
  CHECK(figure["arguments"]["context-length"].is_null());
  CHECK(figure["arguments"]["context-lengths"] == Json({10, 20, 40, 100, 200, 400}));
  CHECK(figure["arguments"]["test-noise-variance"] == 1.0);
  const Json fading = report_of("fading", {"--figure", "bounded", "--lengths", "50", "--trials", "2048"});
  CHECK(fading["arguments"]["variance"].is_null());
  CHECK(fading["arguments"]["most-scores"] == 10000000);
  const Json softmax = report_of("softmax-error", {"--trials", "512"});
  CHECK(softmax["arguments"]["task-variance"] == 0.05);
  CHECK(softmax["arguments"]["scales"].is_null());
}

}  // namespace options_program_test
