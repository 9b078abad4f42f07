// The response of the programs to input that cannot be used: exit code 2, one line that names the parameter and its
// value, nothing on standard output, no file written. Command lines are in bad_command_lines.txt; the files of cases
// are here.

#include <algorithm>
#include <string>
#include <vector>

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

TEST_CASE("an output that cannot be written is refused before the run", "[bad-input]") {
  const TemporaryFolder folder;
  for (const std::string& program : {std::string("temperature"), std::string("evaluate")}) {
    Arguments arguments;
    if (program == "evaluate") arguments = {folder.write("cases.json", softmax_case())};
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
  CHECK(run_program("temperature", {"--trials", "0", "--output", output}).exit_code == 2);
  CHECK(run_program("temperature", {"--data", folder.file("none"), "--output", output}).exit_code == 2);
  CHECK(content_of(output) == "older");
  CHECK(folder.names() == std::vector<std::string>{"report.json"});
}

TEST_CASE("incontext evaluate refuses bad files and bad cases, by case, field and value", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& expected) {
    check_refused("evaluate", folder, {folder.write("cases.json", text)}, expected);
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
  check_refused("evaluate", folder, {"-"}, "-: is not JSON", "not json");
  check_refused("evaluate", folder, {}, "file is required");
}

TEST_CASE("incontext evaluate refuses bad scores and parameters of maps, by field and value", "[bad-input]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& kind, const std::string& in, const std::string& expected) {
    const std::string text = one_case(R"({"id": "bad-one", "kind": ")" + kind + R"(", "in": )" + in + "}");
    check_refused("evaluate", folder, {folder.write("cases.json", text)}, "case bad-one.in." + expected);
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
