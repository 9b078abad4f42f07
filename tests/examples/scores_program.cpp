// incontext scores as a user runs it: figures whose claims hold, maps on one's own rows, refusals.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace scores_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

using Arguments = std::vector<std::string>;

Json report_of(const Arguments& arguments) { return incontext::testing::report_of("scores", arguments); }

Json rows_of(const Json& report, std::size_t table = 0) { return report["tables"][table]["rows"]; }

std::vector<double> column(const Json& rows, const std::string& name) {
  std::vector<double> values;
  for (const Json& row : rows) values.push_back(row[name].is_number() ? row[name].get<double>() : NAN);
  return values;
}

bool near(double x, double expected, double tolerance = 1e-12) { return std::abs(x - expected) <= tolerance; }

void check_refused(Arguments arguments, const std::string& expected) {
  const TemporaryFolder folder;
  arguments.insert(arguments.end(), {"--output", folder.file("report")});
  const Finished finished = run_program("scores", arguments);
  CAPTURE(arguments);
  CHECK(finished.exit_code == 2);
  CHECK(finished.errors == part("incontext scores: " + expected));
  CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
  CHECK(finished.output.empty());
  CHECK(folder.names().empty());
}

}  // namespace

TEST_CASE("every figure of incontext scores makes claims, and they hold", "[programs][scores]") {
  for (const std::string figure :
       {"approximation", "ssa-base", "ssmax-fading", "ssmax-threshold", "deviant", "prompt", "normsoftmax-bound"}) {
    CAPTURE(figure);
    const Json report = report_of({"--figure", figure});
    CHECK(report["program"] == "incontext scores");
    CHECK(report["verdict"]["agrees"] == true);
    CHECK(report["verdict"]["claims"] >= 2);
    CHECK(report["verdict"]["cases"] >= 12);
    for (const Json& row : report["tables"].back()["rows"]) CHECK(row["verdict"] == "agrees");
    const Finished text = run_program("scores", {"--figure", figure});
    CHECK(text.output == part("Agreement: "));
    CHECK(run_program("scores", {"--figure", figure, "--format", "csv"}).output == part("verdict"));
  }
}

TEST_CASE("figures show the numbers of the papers", "[programs][scores]") {
  const Json fading = report_of({"--figure", "ssmax-fading", "--lengths", "2,149,150"});
  const auto softmax = column(rows_of(fading), "softmax"), ssmax = column(rows_of(fading), "ssmax");
  CHECK(near(ssmax[0], 0.816118260128508871));
  CHECK(softmax[1] > 0.5);
  CHECK(softmax[2] < 0.5);
  CHECK(fading["tables"][0]["notes"][0] == part("149.413"));
  CHECK(report_of({"--figure", "ssmax-fading", "--gap", "1"})["tables"][0]["notes"][2] == part("tends to 0"));
  const Json threshold = report_of({"--figure", "ssmax-threshold", "--lengths", "10,1000", "--s", "0.43"});
  CHECK(near(column(rows_of(threshold, 2), "ssmax")[0], 2.77020756507345458));
  const Json deviant = report_of({"--figure", "deviant", "--lengths", "40", "--s", "0.43"});
  CHECK(near(column(rows_of(deviant), "softmax")[2], 0.244, 2e-3));  // the mean over normal scores is 0.244
  CHECK(near(column(rows_of(deviant), "ssa")[2], 0.122, 2e-3));
  const Json bound = report_of({"--figure", "normsoftmax-bound", "--lengths", "8,64"});
  CHECK(near(column(rows_of(bound), "bound")[0], 0.746078495567324402));
  const Json approximation = report_of({"--figure", "approximation", "--row", "1,0", "--temperatures", "1"});
  CHECK(near(column(rows_of(approximation), "softmax")[0], 1 / (1 + std::exp(-1.0))));
  CHECK(column(rows_of(approximation), "approximate_softmax") == std::vector<double>{0.75, 0.25});
  const Json base = report_of({"--figure", "ssa-base"});
  for (const Json& row : base["tables"][1]["rows"]) {
    for (const std::string by : {"by_base", "by_exponent"}) {
      CHECK(std::abs(row[by].get<double>() - row[by + "_complex_step"].get<double>()) < 1e-14);
    }
  }
  CHECK(near(rows_of(base)[8]["b_1_k_1.5"].get<double>(), std::pow(3, 1.5)));
}

TEST_CASE("every map runs on a row and gives its weights", "[programs][scores]") {
  const auto weights = [](Arguments arguments) {
    arguments.insert(arguments.begin(), {"--row", "1,2,0"});
    return column(rows_of(report_of(arguments)), "weight");
  };
  const double e = std::exp(1.0);
  CHECK(near(weights({})[1], e * e / (1 + e + e * e)));
  CHECK(near(weights({"--temperature", "0.5"})[0], e * e / (1 + e * e + e * e * e * e)));
  CHECK(near(weights({"--map", "approximate-softmax"})[1], 2.0 / 3));
  CHECK(near(weights({"--map", "linear", "--temperature", "2"})[1], 1.0 / 3));
  CHECK(near(weights({"--map", "linear", "--over", "none"})[1], 2));
  CHECK(near(weights({"--map", "ssmax", "--s", "1"})[1], 9.0 / 13));
  CHECK(near(weights({"--map", "ssmax", "--s", "0", "--bias", "1"})[1], e * e / (1 + e + e * e)));
  CHECK(near(weights({"--map", "ssa", "--base", "1", "--exponent", "2"})[1], 9.0 / 14));
  CHECK(near(weights({"--map", "normsoftmax", "--score-scale", "variance"})[1],
             1 / (1 + std::exp(-1.5) + std::exp(-3.0))));
  CHECK(near(weights({"--map", "sparsemax"})[1], 1));
  CHECK(near(weights({"--map", "entmax", "--alpha", "2"})[1], 1));
  CHECK(near(weights({"--map", "hardmax"})[1], 1));
  CHECK(near(weights({"--map", "sa-softmax"})[2], 0));
  CHECK(near(weights({"--map", "normalized-sa-softmax"})[1], e * e / (1 + e + e * e)));
  CHECK(near(weights({"--map", "average"})[1], 1.0 / 3));
  CHECK(near(weights({"--map", "tanh", "--over", "none"})[1], std::tanh(2.0)));
  CHECK(near(weights({"--map", "relu", "--over", "sum"})[1], 2.0 / 3));
  CHECK(near(weights({"--map", "square", "--over", "absolute-sum"})[1], 4.0 / 5));
}

TEST_CASE("a row has log-weights, a derivative, norms and masks", "[programs][scores]") {
  const Json report = report_of({"--row", "0,-inf,0", "--direction", "1,5,0", "--norms"});
  CHECK(report["arguments"]["row"] == Json({0, "-inf", 0}));
  const Json rows = rows_of(report);
  CHECK(column(rows, "weight") == std::vector<double>{0.5, 0, 0.5});
  CHECK(near(rows[0]["log_weight"].get<double>(), -std::log(2.0)));
  CHECK(rows[1]["log_weight"].is_null());  // -inf, which JSON cannot hold
  CHECK(column(rows, "weight_change") == std::vector<double>{0.25, 0, -0.25});
  const Json facts = rows_of(report, 1);
  CHECK(near(facts[2]["value"].get<double>(), std::log(2.0)));
  CHECK(near(facts[3]["value"].get<double>(), 2));
  CHECK(near(facts[4]["value"].get<double>(), 0.5));
  CHECK(near(facts[5]["value"].get<double>(), 0.5));
  const Json constant = report_of({"--row", "1,1", "--map", "normsoftmax", "--norms"});
  CHECK(near(rows_of(constant, 1)[4]["value"].get<double>(), 0.5));  // by convention that of softmax at tau = 1
  const Json tied = report_of({"--row", "1,1", "--map", "hardmax", "--norms"});
  CHECK(rows_of(tied, 1)[4]["value"].is_null());
  CHECK(tied["tables"][1]["notes"][0] == part("no derivative"));
}

TEST_CASE("a matrix of scores is summarized query by query, also causal, and its weights are written to a file",
          "[programs][scores]") {
  const TemporaryFolder folder;
  Eigen::MatrixXd scores(3, 3);
  scores << 0, 9, 9, 1, 1, 9, 0, -INFINITY, 0;
  const std::string file = folder.write("scores.npy", incontext::examples::npy_bytes(scores));
  const std::string weights = folder.file("weights.npy");
  const Json rows = rows_of(report_of({"--scores", file, "--causal", "--weights", weights, "--norms"}));
  CHECK(column(rows, "visible") == std::vector<double>{1, 2, 2});
  CHECK(column(rows, "largest_weight") == std::vector<double>{1, 0.5, 0.5});
  CHECK(near(rows[1]["effective_keys"].get<double>(), 2));
  CHECK(near(rows[1]["spectral_norm"].get<double>(), 0.5));
  Eigen::MatrixXd expected(3, 3);
  expected << 1, 0, 0, 0.5, 0.5, 0, 0.5, 0, 0.5;
  CHECK((incontext::examples::read_npy(weights) - expected).cwiseAbs().maxCoeff() < 1e-15);
  const std::string csv = folder.write("scores.csv", "a,b\n1,1\n0,2\n");
  CHECK(rows_of(report_of({"--scores", csv, "--map", "hardmax"}))[1]["top_key"] == 2);
  const std::string one = folder.write("one.npy", incontext::examples::npy_bytes(Eigen::RowVectorXd::Zero(4)));
  CHECK(near(rows_of(report_of({"--scores", one}))[0]["largest_weight"].get<double>(), 0.25));
  CHECK(rows_of(report_of({"--scores", one, "--causal"}))[0]["visible"] == 4);  // one query is the last token
}

TEST_CASE("a finite mask of --row is a mask where the map counts its keys, unless every score is one", "[scores]") {
  const auto weights = [](const std::vector<std::string>& options) {
    std::vector<std::string> all{"--row", "0.3,0.2,-1e4"};
    all.insert(all.end(), options.begin(), options.end());
    return column(rows_of(report_of(all)), "weight");
  };
  const auto of_two = column(rows_of(report_of({"--row", "0.3,0.2", "--map", "ssmax"})), "weight");
  CHECK(weights({"--map", "ssmax"}) == std::vector<double>{of_two[0], of_two[1], 0});
  CHECK(weights({"--map", "ssmax", "--no-finite-masks"})[0] != of_two[0]);
  CHECK(weights({"--map", "softmax"}) == weights({"--map", "softmax", "--no-finite-masks"}));
}

TEST_CASE("incontext scores refuses what cannot be used, by name and value", "[bad-input][scores]") {
  check_refused({}, "nothing to do: needs --figure NAME, --row X,X,... or --scores FILE");
  check_refused({"--figure", "9"}, "--figure: is unknown (value = 9;");
  check_refused({"--row", "1,x"}, "--row: is not a number (value = x;");
  check_refused({"--row", "1,nan"}, "--row: is not finite (value = nan;");
  check_refused({"--row", "1,inf"}, "--row: is not finite (value = inf;");
  check_refused({"--row", "0,-400,-52000", "--map", "ssmax"}, "--row: a score is too low for a score");
  check_refused({"--row", "-inf"}, "--row: has no visible score");
  check_refused({"--row", "1", "--map", "best"}, "--map: is unknown (value = best;");
  check_refused({"--row", "1", "--temperature", "-1"}, "--temperature: is out of range (value = -1;");
  check_refused({"--row", "1", "--map", "entmax", "--alpha", "1"}, "--alpha: is out of range (value = 1;");
  check_refused({"--row", "1", "--map", "ssa", "--base", "0"}, "--base: is out of range (value = 0;");
  check_refused({"--row", "1", "--map", "ssa", "--exponent", "0.9"}, "--exponent: is out of range (value = 0.9;");
  check_refused({"--row", "1", "--map", "ssmax", "--alpha", "2"}, "--alpha: has no meaning with --map ssmax");
  check_refused({"--row", "1", "--map", "linear", "--over", "sum"}, "--over: has no such choice with --map linear");
  check_refused({"--row", "-1,-2", "--map", "relu", "--over", "sum"}, "--row: --map relu is undefined on this row");
  check_refused({"--row", "1,2", "--direction", "1"}, "--direction: has the wrong size (value = 1;");
  check_refused({"--row", "1", "--causal"}, "--causal: has no meaning with --row");
  check_refused({"--row", "1", "--lengths", "3"}, "--lengths: has no meaning with no --figure");
  check_refused({"--figure", "deviant", "--map", "ssa"}, "--map: has no meaning with --figure deviant");
  check_refused({"--figure", "ssmax-fading", "--lengths", "1"}, "--lengths: is too small (value = 1;");
  check_refused({"--figure", "ssmax-threshold", "--lengths", "2"}, "--lengths: is too small (value = 2;");
  check_refused({"--figure", "ssmax-fading", "--s", "0"}, "--s: is out of range (value = 0;");
  check_refused({"--figure", "ssmax-threshold", "--s", "1e300"}, "--s: is out of range (value = 1e+300;");
  check_refused({"--figure", "ssmax-fading", "--gap", "-1"}, "--gap: is out of range (value = -1;");
  check_refused({"--figure", "approximation", "--row", "1,-inf"}, "--row: masks have no meaning");
  check_refused({"--figure", "approximation", "--row", "1e308,-1e308"}, "--figure approximation: the range of the");
  const TemporaryFolder folder;
  const std::string junk = folder.write("junk.npy", "junk");
  Eigen::MatrixXd bad = Eigen::MatrixXd::Zero(2, 2);
  bad(1, 0) = NAN;
  const std::string nan = folder.write("nan.npy", incontext::examples::npy_bytes(bad));
  const std::string masked =
      folder.write("masked.npy", incontext::examples::npy_bytes(Eigen::MatrixXd::Constant(2, 2, -INFINITY)));
  const auto refused = [&](const Arguments& arguments, const std::string& expected) {
    const Finished finished = run_program("scores", arguments);
    CHECK(finished.exit_code == 2);
    CHECK(finished.errors == part(expected));
    CHECK(finished.output.empty());
  };
  refused({"--scores", junk}, "junk.npy: is not an .npy file");
  refused({"--scores", nan}, "nan.npy: row 2, column 1: entry is not finite (value = nan;");
  refused({"--scores", masked}, "masked.npy: row 1: has no visible score");
  refused({"--scores", folder.file("none.npy")}, "none.npy: cannot be opened");
  const std::string wide = folder.write("wide.npy", incontext::examples::npy_bytes(Eigen::MatrixXd::Zero(2, 301)));
  refused({"--scores", wide, "--norms"}, "--norms: rows are too long (value = 301; needs at most 300 keys)");
  refused({"--scores", nan, "--row", "1"}, "--row and --scores exclude each other");
  refused({"--row", "1", "--weights", folder.file("none/w.npy")}, "--weights: cannot be written");
  if (std::filesystem::is_character_file("/dev/full")) {
    refused({"--row", "1", "--weights", "/dev/full"}, "--weights: cannot be written: No space left on device");
  }
}

}  // namespace scores_program_test
