#include "examples/support/regression_law.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <incontext/regression/linear_algebra.hpp>
#include <incontext/regression/matrix_contracts.hpp>
#include <limits>

#include "examples/support/command_line.hpp"
#include "examples/support/data_table.hpp"
#include "examples/support/render.hpp"
#include "examples/support/unused_options.hpp"

namespace incontext::examples {

namespace {

using Matrix = regression::Matrix<double>;
using Vector = regression::Vector<double>;
using LinearTask = regression::LinearTask<double>;

/// Over the geometric mean of the two diagonal entries; a product X^T X is rounded by less.
constexpr double largest_asymmetry = 64 * std::numeric_limits<double>::epsilon();

std::string in_words(double value) { return detail::number_text(value, std::chars_format::general, 5); }

/// A length along (1, ..., 1), or the numbers of a file.
Vector mean_from(const std::string& option, const std::string& text, Eigen::Index dimension) {
  if (const auto length = parse_decimal(text)) return mean_of_length(parse_number(option, text), dimension);
  const Matrix values = read_matrix(text).values;
  if (std::min(values.rows(), values.cols()) != 1 || values.size() != dimension) {
    throw_input_error(option + " " + text, "has the wrong size",
                      std::to_string(values.rows()) + " x " + std::to_string(values.cols()),
                      "a number for each of the " + std::to_string(dimension) + " inputs");
  }
  return values.reshaped();
}

/// The file that the value names unless it is a number.
std::vector<std::string> file_unless_length(const std::string& value) {
  return parse_decimal(value) ? std::vector<std::string>{} : std::vector{value};
}

}  // namespace

void add_regression_law_options(CLI::App& app, RegressionLawOptions& o) {
  const auto non_negative = [](double value) { return value >= 0; };
  const auto positive = [](double value) { return value > 0; };
  add_number(app, "--noise-variance", o.noise_variance, "Label noise in pretraining", non_negative, "0 <= value");
  add_number(app, "--input-variance", o.input_variance, "Variance a of the inputs N(0, a I) in pretraining", positive,
             "0 < value");
  show_no_default(add_number(app, "--task-variance", o.task_variance,
                             "Variance b of the tasks N(0, b I) in pretraining; one over the dimension if absent",
                             positive, "0 < value"));
  add_input(app, "--input-covariance", o.input_covariance,
            "Inputs' covariance in pretraining, .npy or .csv, in place of --input-variance");
  add_input(app, "--task-covariance", o.task_covariance,
            "Tasks' covariance in pretraining, in place of --task-variance");
  add_input(app, "--task-mean", o.task_mean,
            "Tasks' mean in pretraining, a length along (1, ..., 1) or a file; with one, v_x is not 0", "LENGTH|FILE",
            file_unless_length);
  show_no_default(add_number(app, "--test-noise-variance", o.test_noise_variance,
                             "Label noise at test time; as in pretraining if absent", non_negative, "0 <= value"));
  add_input(app, "--test-input-covariance", o.test_input_covariance,
            "Inputs' covariance at test time; that of pretraining if absent");
  add_number(app, "--input-scale", o.input_scale, "The test inputs' covariance is multiplied by this", positive,
             "0 < value");
  add_input(app, "--test-task-covariance", o.test_task_covariance,
            "Tasks' covariance at test time; that of pretraining if absent");
  add_number(app, "--task-scale", o.task_scale, "The test tasks' covariance is multiplied by this", positive,
             "0 < value");
  add_input(app, "--test-task-mean", o.test_task_mean, "Tasks' mean at test time; that of pretraining if absent",
            "LENGTH|FILE", file_unless_length);
  add_number(
      app, "--mean-shift", o.mean_shift, "Length of the test inputs' mean, along (1, ..., 1)",
      [](double) { return true; }, "a number");
}

void complete_regression_law(const CLI::App& app, RegressionLawOptions& o) {
  o.has_task_variance = is_given(app, "--task-variance");
  o.has_noise = is_given(app, "--noise-variance");
  o.has_test_noise = is_given(app, "--test-noise-variance");
}

std::vector<std::string> regression_law_names() {
  return {"--noise-variance",      "--input-variance",
          "--task-variance",       "--input-covariance",
          "--task-covariance",     "--task-mean",
          "--test-noise-variance", "--test-input-covariance",
          "--input-scale",         "--test-task-covariance",
          "--task-scale",          "--test-task-mean",
          "--mean-shift"};
}

Matrix read_covariance(const std::string& option, const std::string& file, std::optional<Eigen::Index> size) {
  Matrix covariance = read_matrix(file).values;
  if (covariance.rows() != covariance.cols()) {
    throw_input_error(option + " " + file, "is not square",
                      std::to_string(covariance.rows()) + " x " + std::to_string(covariance.cols()),
                      "as many rows as columns");
  }
  if (size && covariance.rows() != *size) {
    throw_input_error(option + " " + file, "has the wrong size", covariance.rows(),
                      std::to_string(*size) + ", the dimension");
  }
  for (Eigen::Index column = 0; column < covariance.cols(); ++column) {
    for (Eigen::Index row = 0; row < column; ++row) {
      const double one = covariance(row, column), other = covariance(column, row);
      const double scale = std::sqrt(std::abs(covariance(row, row) * covariance(column, column)));
      if (std::abs(one - other) <= largest_asymmetry * scale) continue;
      const std::string place = std::to_string(row + 1) + " and " + std::to_string(column + 1);
      throw_input_error(option + " " + file,
                        "is not symmetric: the two entries of rows and columns " + place + " differ",
                        in_words(one) + " and " + in_words(other), "equal ones");
    }
  }
  std::string parameter = option.substr(2);
  std::replace(parameter.begin(), parameter.end(), '-', '_');
  regression::require_positive_definite("LinearTask", parameter, covariance, covariance.rows());
  return covariance;
}

Vector mean_of_length(double length, std::int64_t dimension) {
  return Vector::Constant(dimension, length / std::sqrt(static_cast<double>(dimension)));
}

LinearTask training_task(const RegressionLawOptions& o, std::int64_t dimension, bool given) {
  std::optional<Eigen::Index> size;
  if (given) size = dimension;
  Matrix inputs, tasks;
  if (!o.input_covariance.empty()) {
    inputs = read_covariance("--input-covariance", o.input_covariance, size);
    size = inputs.rows();
  }
  if (!o.task_covariance.empty()) {
    tasks = read_covariance("--task-covariance", o.task_covariance, size);
    size = tasks.rows();
  }
  const Eigen::Index d = size.value_or(dimension);
  const double task_variance = o.has_task_variance ? o.task_variance : 1 / static_cast<double>(d);
  if (inputs.size() == 0) inputs = Matrix::Identity(d, d) * o.input_variance;
  if (tasks.size() == 0) tasks = Matrix::Identity(d, d) * task_variance;
  const Vector mean = o.task_mean.empty() ? Vector(Vector::Zero(d)) : mean_from("--task-mean", o.task_mean, d);
  return LinearTask({Vector::Zero(d), inputs, mean, tasks, o.noise_variance});
}

LinearTask shifted(const LinearTask& training, const RegressionLawOptions& o) {
  LinearTask test = training;
  const auto d = training.dimension();
  if (!o.test_input_covariance.empty()) {
    test = test.with_input_covariance(read_covariance("--test-input-covariance", o.test_input_covariance, d));
  }
  if (!o.test_task_covariance.empty()) {
    test = test.with_task_covariance(read_covariance("--test-task-covariance", o.test_task_covariance, d));
  }
  if (!o.test_task_mean.empty()) test = test.with_task_mean(mean_from("--test-task-mean", o.test_task_mean, d));
  return test.with_input_covariance_scaled(o.input_scale)
      .with_task_covariance_scaled(o.task_scale)
      .with_noise_variance(o.has_test_noise ? o.test_noise_variance : training.noise_variance())
      .with_input_mean(mean_of_length(o.mean_shift, d));
}

void add_unused_variances(UnusedOptions& unused, const RegressionLawOptions& o) {
  if (!o.input_covariance.empty()) unused.add("--input-covariance", {"--input-variance"});
  if (!o.task_covariance.empty()) unused.add("--task-covariance", {"--task-variance"});
}

std::string unusual_in_words(const RegressionLawOptions& o) {
  std::string words;
  const auto add = [&words](bool unusual, const std::string& what) { words += unusual ? ", " + what : ""; };
  add(o.input_covariance.empty() && o.input_variance != 1, "inputs' variance " + in_words(o.input_variance));
  add(o.task_covariance.empty() && o.has_task_variance, "tasks' variance " + in_words(o.task_variance));
  add(!o.input_covariance.empty(), "inputs' covariance " + o.input_covariance);
  add(!o.task_covariance.empty(), "tasks' covariance " + o.task_covariance);
  add(!o.task_mean.empty(), "tasks' mean " + o.task_mean);
  add(!o.test_input_covariance.empty(), "tested with inputs' covariance " + o.test_input_covariance);
  add(!o.test_task_covariance.empty(), "tested with tasks' covariance " + o.test_task_covariance);
  add(!o.test_task_mean.empty(), "tested with tasks' mean " + o.test_task_mean);
  add(o.input_scale != 1, "inputs' covariance times " + in_words(o.input_scale));
  add(o.task_scale != 1, "tasks' covariance times " + in_words(o.task_scale));
  add(o.mean_shift != 0, "inputs' mean of length " + in_words(o.mean_shift));
  return words;
}

}  // namespace incontext::examples
