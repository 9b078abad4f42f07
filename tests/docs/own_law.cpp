// A program of docs/extending.md, word for word: a task law of one's own, as covariances and as rows of data.
#include <cmath>
#include <cstdio>
#include <incontext/regression/any_law_error.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/simulate/regression.hpp>
#include <incontext/statistics/agreement.hpp>

namespace reg = incontext::regression;
using Vector = reg::Vector<double>;
using Matrix = reg::Matrix<double>;

Matrix power_law(int d, double power) {  // eigenvalues proportional to i^-power, trace d
  Vector eigenvalues(d);
  for (int i = 0; i < d; ++i) eigenvalues[i] = std::pow(i + 1.0, -power);
  return Matrix((eigenvalues * (d / eigenvalues.sum())).asDiagonal());
}

int main() {
  const int d = 10, l = 40;
  const reg::LinearTask<double> pretraining({.input_mean = Vector::Zero(d),
                                             .input_covariance = power_law(d, 1.0),
                                             .task_mean = Vector::Zero(d),
                                             .task_covariance = Matrix::Identity(d, d) / d,
                                             .noise_variance = 0.1});
  const auto attention = reg::pretrained_attention(pretraining, l);

  const auto test = pretraining.with_input_covariance(power_law(d, 0.3)).with_input_mean(Vector::Constant(d, 0.2));
  const auto gaussian = reg::generalization_error(attention, test, l);
  const double temperature = gaussian.optimal_temperature();
  std::printf("Gaussian inputs, another spectrum and mean: temperature %.4f, error %.4f\n", temperature,
              gaussian(temperature));

  Matrix rows(400, d);  // not Gaussian: each row is a point on a curve made of cosines
  for (int i = 0; i < rows.rows(); ++i) {
    for (int j = 0; j < d; ++j) rows(i, j) = 2 * std::cos(0.37 * i * (j + 1)) * std::cos(0.11 * i + j);
  }
  const auto any = reg::any_law_error(attention, reg::InputRows<double>(rows), Vector(Vector::Zero(d)),
                                      test.task_covariance(), test.noise_variance(), l, reg::Offset::kept);
  const auto simulated = incontext::simulate::regression_error_on_rows(
      attention, rows, {.task_mean = Vector::Zero(d), .task_covariance = test.task_covariance(), .noise_variance = 0.1},
      l, std::vector{incontext::scoring::ApproximateSoftmax<double>{temperature}}, {.seed = 1, .trials = 65536});
  const auto verdict = incontext::statistics::agree(any(temperature), simulated.estimates.front());
  std::printf("the law of these rows: exact %.4f, simulated %.4f +- %.4f, z = %.2f\n", any(temperature),
              simulated.estimates.front().mean, simulated.estimates.front().standard_error, verdict.z);
  return verdict.within(5) ? 0 : 1;
}
