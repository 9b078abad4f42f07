// The program prints and writes what the library finds: curves, and contexts of the sphere task. What else it does is
// tested by tests/programs/.

#include <incontext/baselines/reference_curves.hpp>
#include <incontext/simulate/classification/sphere_task.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/temporary_folder.hpp"

namespace library_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

/// The JSON of a run that must end with exit code 0; no argument has a blank.
Json report_of(const std::string& subcommand, const std::vector<std::string>& arguments) {
  std::string command = INCONTEXT_PROGRAM " " + subcommand + " --format json";
  for (const std::string& argument : arguments) command += " " + argument;
  CAPTURE(command);
  FILE* const pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string printed;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) printed += static_cast<char>(c);
  REQUIRE(::pclose(pipe) == 0);
  return Json::parse(printed);
}

}  // namespace

TEST_CASE("the table of incontext baselines has the library's curves, in every unit", "[programs][baselines]") {
  const Json report =
      report_of("baselines", {"--dimension", "7", "--context-lengths", "0,3,7,90", "--noise-variance", "0.3",
                              "--task-variance", "0.2", "--input-variance", "2", "--layers", "2", "--looped", "3",
                              "--per-dimension", "--without-query-noise", "--no-simulation"});
  CHECK(report["tables"].size() == 1);
  const auto curves = incontext::baselines::reference_curves<double>({.dimension = 7,
                                                                      .noise_variance = 0.3,
                                                                      .task_variance = 0.2,
                                                                      .input_variance = 2,
                                                                      .layers = {2},
                                                                      .looped = {3},
                                                                      .query_noise = false,
                                                                      .per_dimension = true},
                                                                     {0, 3, 7, 90});
  REQUIRE(curves.size() == 6);
  const Json& rows = report["tables"][0]["rows"];
  REQUIRE(rows.size() == 4);
  for (const auto& curve : curves) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CAPTURE(curve.name, k);
      const Json& cell = rows[k][curve.name];
      if (std::isinf(curve.values[k])) {
        CHECK(cell.is_null());
      } else {
        CHECK(cell == curve.values[k]);
      }
    }
  }
}

TEST_CASE("layers pretrained on few tasks or stopped early are columns, with their standard errors",
          "[programs][baselines]") {
  const Json report =
      report_of("baselines", {"--dimension", "5", "--context-lengths", "0,4,30", "--pretraining-tasks", "3,40",
                              "--sgd-tasks", "100", "--pools", "30", "--pool-seed", "4", "--no-simulation"});
  const auto curves = incontext::baselines::reference_curves<double>({.dimension = 5,
                                                                      .noise_variance = 0.1,
                                                                      .task_variance = 0.2,
                                                                      .layers = {1, 2, 4},
                                                                      .pretraining_tasks = {3, 40},
                                                                      .sgd_tasks = {100},
                                                                      .pool_draws = {.pools = 30, .seed = 4}},
                                                                     {0, 4, 30});
  const Json& rows = report["tables"][0]["rows"];
  REQUIRE(rows.size() == 3);
  int pools = 0;
  for (const auto& curve : curves) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      CAPTURE(curve.name, k);
      if (std::isfinite(curve.values[k])) CHECK(rows[k].at(curve.name) == curve.values[k]);
      if (curve.standard_errors.empty()) continue;
      CHECK(rows[k].at(curve.name + "_standard_error") == curve.standard_errors[k]);
      ++pools;
    }
  }
  CHECK(pools == 12);
  CHECK(rows[2].contains("sgd_100"));
}

TEST_CASE("contexts are written as the simulator draws them", "[programs][classify]") {
  using namespace incontext;
  const TemporaryFolder folder;
  const std::string file = folder.file("contexts.npy");
  const std::vector<std::string> arguments{"--contexts", file, "--contexts-count", "7",  "--dimension", "3",
                                           "--classes",  "4",  "--context-length", "12", "--rule",      "linear",
                                           "--rate",     "5",  "--trials",         "64", "--seed",      "20250917"};
  report_of("classify", arguments);
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
  report_of("classify", arguments);
  CHECK(content_of(file) == before);
}

}  // namespace library_program_test
