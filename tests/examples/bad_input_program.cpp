// What the programs answer to input that cannot be used: exit code 2, one line that names the parameter and its value,
// nothing on standard output, no file written.

#include <algorithm>
#include <string>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/run_program.hpp"

namespace bad_input_program_test {

using namespace incontext::testing;

namespace {

using Arguments = std::vector<std::string>;

void check_refused(const std::string& program, const TemporaryFolder& folder, Arguments arguments,
                   const std::string& expected, const std::string& input = "") {
  const auto before = folder.names();
  arguments.insert(arguments.end(), {"--output", folder.file("report")});
  const Finished finished = run_program(program, arguments, input);
  std::string command;
  for (const std::string& argument : arguments) command += argument + ' ';
  CAPTURE(command);
  CHECK(finished.exit_code == 2);
  CHECK(finished.errors == part(expected));
  CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
  CHECK(finished.output.empty());
  CHECK(folder.names() == before);
}

std::string one_case(const std::string& fields) { return "{\"cases\": [" + fields + "]}"; }

/// A case of kind approximate_softmax in two dimensions, with one of its inputs replaced.
std::string softmax_case(const std::string& name = "", const std::string& value = "") {
  const auto field = [&](const std::string& key, const std::string& usual) {
    return "\"" + key + "\": " + (key == name ? value : usual);
  };
  return one_case("{\"id\": \"bad-one\", \"kind\": \"approximate_softmax\", \"in\": {" + field("context_length", "12") +
                  ", \"task\": {" + field("mean_x", "[0, 0]") + ", " + field("cov_x", "[[1, 0], [0, 1]]") + ", " +
                  field("mean_w", "[0, 0]") + ", " + field("cov_w", "[[1, 0], [0, 1]]") + ", " +
                  field("noise_variance", "\"0.1\"") + "}, \"attention\": {" + field("M", "[[1, 0], [0, 1]]") + ", " +
                  field("v_x", "[0, 0]") + ", " + field("v_y", "1") + "}}}");
}

}  // namespace

TEST_CASE("incontext-temperature refuses options that cannot be used", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& arguments, const std::string& expected) {
    check_refused(INCONTEXT_TEMPERATURE, folder, arguments, expected);
  };
  refused({"--figure", "9"}, "--figure: is unknown (value = 9;");
  refused({"--context-length", "1"}, "--context-length: is too small (value = 1;");
  refused({"--temperatures", "1,0"}, "--temperatures: is not positive (value = 0;");
  refused({"--temperatures", "-1"}, "--temperatures: is not positive (value = -1;");
  refused({"--temperatures", "nan"}, "--temperatures: is not finite (value = nan;");
  refused({"--noise-variance", "-0.5"}, "--noise-variance: is out of range (value = -0.5;");
  refused({"--test-noise-variance", "-1"}, "--test-noise-variance: is out of range (value = -1;");
  refused({"--input-scale", "0"}, "--input-scale: is out of range (value = 0;");
  refused({"--trials", "0"}, "--trials: is too small (value = 0;");
  refused({"--relative-error", "0"}, "--relative-error: is out of range (value = 0;");
  refused({"--dimension", "0"}, "--dimension: is too small (value = 0;");
  refused({"--device", "abacus"}, "--device: is unknown (value = abacus;");
  refused({"--scoring", "hard"}, "--scoring: is unknown (value = hard;");
  refused({"--no-such-option"}, "--no-such-option");
  refused({"--estimator", "conditional", "--query", "included"}, "--estimator: has no edition for --query included");
  refused({"--scoring", "linear", "--query", "included"}, "--query: has no exact theory");
  refused({"--labels", "y"}, "--labels: has no meaning with no --data");
  refused({"--figure", "2a", "--temperatures", "1"}, "--temperatures: has no meaning with --figure");
  refused({"--figure", "2a", "--context-lengths", "10,1"}, "--context-lengths: is too small (value = 1;");
  refused({"--figure", "2b", "--shifts", "-1"}, "--shifts: is not positive (value = -1;");
}

TEST_CASE("incontext-temperature refuses covariances that are none, and sizes that differ", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& arguments, const std::string& expected) {
    check_refused(INCONTEXT_TEMPERATURE, folder, arguments, expected);
  };
  const std::string indefinite = folder.write("indefinite.csv", "a,b\n1,2\n2,1\n");
  const std::string asymmetric = folder.write("asymmetric.csv", "a,b\n1,0\n0.5,1\n");
  const std::string oblong = folder.write("oblong.csv", "a,b,c\n1,0,0\n0,1,0\n");
  const std::string two = folder.write("two.csv", "a,b\n1,0\n0,1\n");
  const std::string three = folder.write("three.csv", "a,b,c\n1,0,0\n0,1,0\n0,0,1\n");
  refused({"--input-covariance", indefinite}, "--input-covariance: is not positive definite");
  refused({"--task-covariance", indefinite}, "--task-covariance: is not positive definite");
  refused({"--input-covariance", asymmetric}, "--input-covariance(0, 1) and input_covariance(1, 0) differ");
  refused({"--input-covariance", oblong}, "oblong.csv: is not square (value = 2 x 3;");
  refused({"--input-covariance", three, "--task-covariance", two}, "two.csv: has the wrong size (value = 2; needs 3)");
  refused({"--input-covariance", three, "--dimension", "4"}, "three.csv: has the wrong size (value = 3; needs 4)");
  refused({"--input-covariance", folder.file("none.npy")}, "none.npy: cannot be opened");
}

TEST_CASE("incontext-temperature refuses data that cannot be used, by row and column", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& content, const std::string& expected,
                           Arguments more = {}) {
    more.insert(more.begin(), {"--data", folder.write(name, content)});
    check_refused(INCONTEXT_TEMPERATURE, folder, more, expected);
  };
  const std::string good = "a,b,c\n1,2,3\n4,5,9\n2,2,1\n8,1,0\n3,3,3\n";
  refused("text.csv", "a,b\n1,2\n3,x\n", "text.csv: row 2 (line 3), column b: cell is not a number (value = \"x\";");
  refused("missing.csv", "a,b\n1,\n3,4\n", "missing.csv: row 1 (line 2), column b: cell is missing");
  refused("nan.csv", "a,b\n1,2\n3,NaN\n", "nan.csv: row 2 (line 3), column b: cell is not finite");
  refused("ragged.csv", "a,b\n1,2\n3\n", "ragged.csv: row 2 (line 3): has the wrong number of cells (value = 1;");
  refused("twice.csv", "a,a\n1,2\n", "twice.csv: column name stands twice in the header line (value = a;");
  refused("empty.csv", "", "empty.csv: is empty");
  refused("header.csv", "a,b\n", "header.csv: has a header line and no rows");
  refused("constant.csv", "a,b\n1,2\n1,3\n1,5\n1,9\n",
          "constant.csv: column a: is constant (value = 1; needs values that differ, or --without a)");
  refused("collinear.csv", "a,b,c\n1,1,2\n2,1,3\n3,5,8\n4,2,6\n7,0,7\n", "is a linear combination of column");
  refused("few.csv", "a,b,c\n1,2,3\n4,5,7\n", "the number of rows is too small (value = 2;");
  refused("good.csv", good, "good.csv: has no such column (value = z; needs one of a, b, c)", {"--columns", "a,z"});
  refused("good.csv", good, "good.csv: has no such column (value = z;", {"--labels", "z"});
  refused("good.csv", good, "good.csv: column is asked for twice (value = a;", {"--columns", "a,a"});
  refused("good.csv", good, "--labels: is an input column too (value = a;", {"--columns", "a,b", "--labels", "a"});
  refused("good.csv", good, "--dimension: has no meaning with --data", {"--dimension", "3"});
  refused("junk.npy", "junk", "junk.npy: is not an .npy file");
  const std::string array = incontext::examples::npy_bytes(Eigen::MatrixXd::Random(9, 2));
  refused("cut.npy", array.substr(0, array.size() - 5), "cut.npy: data is cut off (value = 139;");
  Eigen::MatrixXd hole = Eigen::MatrixXd::Random(9, 2);
  hole(4, 1) = NAN;
  refused("hole.npy", incontext::examples::npy_bytes(hole), "hole.npy: row 5, column 2: entry is not finite");
  check_refused(INCONTEXT_TEMPERATURE, folder, {"--data", folder.file("none.csv")}, "none.csv: cannot be opened");
}

TEST_CASE("incontext-temperature refuses scores that have no moment ratio", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const Eigen::MatrixXd& scores, const std::string& expected,
                           Arguments more = {}) {
    more.insert(more.begin(), {"--scores", folder.write(name, incontext::examples::npy_bytes(scores))});
    check_refused(INCONTEXT_TEMPERATURE, folder, more, expected);
  };
  refused("oblong.npy", Eigen::MatrixXd::Ones(3, 4), "oblong.npy: is not square (value = 3 x 4;");
  refused("negative.npy", -Eigen::MatrixXd::Ones(4, 4), "the mean self-score is negative");
  refused("column.npy", Eigen::MatrixXd::Ones(4, 4), "--self-column: is no column of ", {"--self-column", "5"});
  refused("trials.npy", Eigen::MatrixXd::Ones(4, 4), "--trials: has no meaning with --scores", {"--trials", "10"});
}

TEST_CASE("an output that cannot be written is refused before the run", "[bad-input]") {
  const TemporaryFolder folder;
  for (const std::string& program : {std::string(INCONTEXT_TEMPERATURE), std::string(INCONTEXT_EVALUATE)}) {
    Arguments arguments;
    if (program == INCONTEXT_EVALUATE) arguments = {folder.write("cases.json", softmax_case())};
    const auto before = folder.names();
    for (const std::string& output : {folder.file("missing/report"), folder.file(".")}) {
      Arguments with_output = arguments;
      with_output.insert(with_output.end(), {"--output", output});
      const Finished finished = run_program(program, with_output);
      CHECK(finished.exit_code == 2);
      CHECK(finished.errors == part("--output: cannot be written"));
      CHECK(finished.errors == part("(value = " + output + ";"));
      CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
      CHECK(finished.output.empty());
      CHECK(folder.names() == before);
    }
  }
}

TEST_CASE("a refused run leaves an older output as it was", "[bad-input]") {
  const TemporaryFolder folder;
  const std::string output = folder.write("report.json", "older");
  CHECK(run_program(INCONTEXT_TEMPERATURE, {"--trials", "0", "--output", output}).exit_code == 2);
  CHECK(run_program(INCONTEXT_TEMPERATURE, {"--data", folder.file("none"), "--output", output}).exit_code == 2);
  CHECK(content_of(output) == "older");
  CHECK(folder.names() == std::vector<std::string>{"report.json"});
}

TEST_CASE("incontext-evaluate refuses bad files and bad cases, by case, field and value", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& expected) {
    check_refused(INCONTEXT_EVALUATE, folder, {folder.write("cases.json", text)}, expected);
  };
  refused("", "cases.json: is not JSON");
  refused("{\"cases\": [", "cases.json: is not JSON");
  refused("{\"cases\": [{\"id\": NaN}]}", "cases.json: is not JSON");
  refused("[]", "cases.json: is not an object");
  refused("{\"cases\": 3}", "cases.json: has no array of cases");
  refused(one_case("{\"kind\": \"pretrained\"}"), "case number 1: field is missing (value = id;");
  refused(one_case("{\"id\": \"x\", \"kind\": \"pretrained\", \"in\": {}}"), "case x.in: field is missing (value = ");
  refused(softmax_case("context_length", "1"), "case bad-one: incontext::generalization_error: context_length");
  refused(softmax_case("context_length", "2.5"), "case bad-one.in.context_length: is not a whole number (value = 2.5;");
  refused(softmax_case("cov_x", "[[1, 2], [2, 1]]"),
          "case bad-one: incontext::LinearTask: input_covariance is not positive definite");
  refused(softmax_case("cov_w", "[[1, 2], [2, 1]]"),
          "case bad-one: incontext::LinearTask: task_covariance is not positive definite");
  refused(softmax_case("cov_w", "[[1, 0]]"),
          "case bad-one: incontext::LinearTask: task_covariance has the wrong shape");
  refused(softmax_case("cov_w", "[[1, 0], [1]]"), "case bad-one.in.task.cov_w[1]: has the wrong size (value = 1;");
  refused(softmax_case("noise_variance", "\"-0.1\""),
          "case bad-one: incontext::LinearTask: noise_variance is negative");
  refused(softmax_case("noise_variance", "\"much\""),
          "case bad-one.in.task.noise_variance: is not a number (value = \"much\";");
  refused(softmax_case("v_x", "[0, \"nan\"]"), "case bad-one.in.attention.v_x[1]: is not finite (value = \"nan\";");
  refused(softmax_case("v_x", "[0]"), "case bad-one: incontext::generalization_error: input_value has the wrong shape");
  check_refused(INCONTEXT_EVALUATE, folder, {"-"}, "-: is not JSON", "not json");
  check_refused(INCONTEXT_EVALUATE, folder, {}, "file is required");
}

TEST_CASE("incontext-evaluate refuses bad scores and parameters of maps, by field and value", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& kind, const std::string& in, const std::string& expected) {
    const std::string text = one_case(R"({"id": "bad-one", "kind": ")" + kind + R"(", "in": )" + in + "}");
    check_refused(INCONTEXT_EVALUATE, folder, {folder.write("cases.json", text)}, "case bad-one.in." + expected);
  };
  refused("softmax", R"({"z": [1, 2], "tau": "-1"})", "tau: is not positive (value = \"-1\"; needs 0 < value)");
  refused("softmax", R"({"z": [1, 2], "tau": "inf"})", "tau: is not finite (value = \"inf\";");
  refused("softmax", R"({"z": [], "tau": 1})", "z: is not an array with entries (value = [];");
  refused("softmax", R"({"z": ["-inf", "-inf"], "tau": 1})", "z: has no visible score");
  refused("softmax", R"({"z": [1, "nan"], "tau": 1})", "z[1]: is not finite (value = \"nan\";");
  refused("softmax", R"({"z": [1, "inf"], "tau": 1})", "z[1]: is not finite (value = \"inf\";");
  refused("softmax", R"({"z": [1, 2], "tau": 1, "u": [1]})", "u: has the wrong size (value = 1; needs 2 numbers)");
  refused("softmax", R"({"z": [1, 2], "tau": 1, "g": [1, 2, 3]})", "g: has the wrong size (value = 3;");
  refused("approx_softmax", R"({"z": [1, 2], "tau": 0})", "tau: is not positive (value = 0;");
  refused("ssmax", R"({"z": [1, 2], "s": 1, "b": 0, "n": 3})",
          "n: is not the number of visible scores (value = 3; needs 2)");
  refused("ssmax_causal", R"({"scores_lower": [[1], [2]], "s": 1, "b": 0})",
          "scores_lower[1]: has the wrong size (value = 1; needs 2 numbers)");
  refused("ssa", R"({"z": [1], "b": 0, "n_exp": 2})", "b: is not positive (value = 0;");
  refused("ssa", R"({"z": [1], "b": 1, "n_exp": "0.5"})", "n_exp: is below 1 (value = 0.5;");
  refused("ssa_softmax_limit", R"({"z": [1], "b": "2/n_exp", "n_exp": 2})", "b: is unknown (value = \"2/n_exp\";");
  refused("normsoftmax", R"({"z": [1], "tau": 1, "scale_kind": "mad"})",
          "scale_kind: is unknown (value = \"mad\"; needs pop | sample | var)");
  refused("normsoftmax_matrix", R"({"scores": [[1, 2], [3]], "tau": 1, "scale_kind": "pop"})",
          "scores[1]: has the wrong size (value = 1;");
  refused("normsoftmax_max_weight_bound", R"({"n": 0, "scale_kind": "pop"})", "n: is too small (value = 0;");
  refused("entmax", R"({"z": [1, 2], "alpha": 1})", "alpha: is not above 1 (value = 1; needs 1 < value)");
  refused("ratio_score", R"({"z": [1, 2], "f": "cube"})", "f: is unknown (value = \"cube\"; needs average | tanh |");
  refused("approx_error_bounds", R"({"n": 3, "range": -1})", "range: is negative (value = -1;");
  refused("approx_error_expected", R"({"n": 3, "v": -1})", "v: is negative (value = -1;");
  refused("approx_error_expected", R"({"n": 0, "v": 1})", "n: is too small (value = 0;");
  refused("heat_schedule", R"({"epochs": 0, "tau_start": 1, "tau_end": 2})", "epochs: is too small (value = 0;");
  refused("heat_schedule",
          R"({"epochs": 9, "tau_start": 1, "tau_end": 2, "shape": "linear_half", "variable": "inverse_temperature"})",
          "variable: does not go with shape linear_half (value = inverse_temperature; needs temperature)");
  const std::string vectors = R"("Q": [[1, 2]], "K": [[1, 2], [3, 4]], "V": [[1], [2]])";
  refused("linear_attention", R"({"Q": [[1]], "K": [[1, 2]], "V": [[1]], "tau": 1, "norm": "1"})",
          "K: has the wrong number of columns (value = 2; needs 1)");
  refused("linear_attention", R"({"Q": [[1]], "K": [[1]], "V": [[1], [2]], "tau": 1, "norm": "1"})",
          "V: has the wrong number of rows (value = 2; needs 1)");
  refused("linear_attention", "{" + vectors + R"(, "tau": 1, "norm": "1/d"})", "norm: is unknown (value = \"1/d\";");
  refused("kernel_attention", "{" + vectors + R"(, "kernel": "cos"})", "kernel: is unknown (value = \"cos\";");
  refused("cosformer", "{" + vectors + R"(, "m": 2, "causal": 1})", "causal: is not a truth value (value = 1;");
}

}  // namespace bad_input_program_test
