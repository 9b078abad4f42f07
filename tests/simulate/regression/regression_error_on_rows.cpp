#include "incontext/simulate/regression/regression_error_on_rows.hpp"

#include <cmath>

#include "incontext/regression/any_law_error.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"

namespace regression_on_rows_test {

namespace {

using namespace incontext;
using regression::Matrix;
using regression::Offset;
using regression::Vector;
using Approximate = scoring::ApproximateSoftmax<double>;

const std::vector<double> temperatures{0.7, 1.0, 1.7, 3.0};

/// Five skewed rows, so far from Gaussian that the formulas can be told apart.
Matrix<double> skewed_rows() {
  return Matrix<double>{{1.0, 0.5}, {-0.25, 2.0}, {0.75, -1.0}, {3.0, 0.125}, {-1.0, -0.5}};
}

regression::Attention<double> attention() {
  return {Matrix<double>{{1.0, 0.1}, {-0.2, 0.9}}, Vector<double>{{0.1, -0.2}}, 0.8};
}

const Vector<double> task_mean{{0.25, -0.5}};
const Matrix<double> task_covariance{{0.5, 0.125}, {0.125, 0.25}};
constexpr double noise_variance = 0.3;

}  // namespace

TEMPLATE_TEST_CASE("resampled rows agree with the exact any-law error, and reject the Gaussian one", "", float,
                   double) {
  const regression::InputRows<double> law(skewed_rows());
  const regression::LinearTask<double> gaussian(
      {law.mean(), law.covariance(), task_mean, task_covariance, noise_variance});
  for (const std::int64_t context_length : {2, 4, 9}) {
    for (const Offset offset : {Offset::kept, Offset::removed}) {
      const auto simulation = simulate::regression_error_on_rows<TestType>(
          attention(), skewed_rows(), {task_mean, task_covariance, noise_variance}, context_length,
          simulate::at_temperatures<Approximate>(temperatures), {.seed = 21, .trials = 1 << 18}, {.offset = offset});
      CAPTURE(context_length, offset == Offset::removed);
      CHECK(testing::largest_z(simulation.estimates, temperatures,
                               regression::any_law_error(attention(), law, task_mean, task_covariance, noise_variance,
                                                         context_length, offset)) <= 5);
      CHECK(testing::largest_z(
                simulation.estimates, temperatures,
                regression::generalization_error(attention(), gaussian, context_length, {.offset = offset})) > 5);
    }
  }
}

TEST_CASE("the sizes of labels and values from which rounding errors follow are sums of root mean squares") {
  const Matrix<double> rows = skewed_rows();
  const auto layer = attention();
  const Vector<double> labels{{1.5, -2.0, 0.25, 4.0, -0.5}};
  const auto scales = simulate::detail::scales_on_rows<Approximate>(layer, rows, {.labels = labels});
  const auto mean_of = [&](const auto& term) {
    double sum = 0;
    for (Eigen::Index i = 0; i < rows.rows(); ++i) sum += term(i);
    return sum / static_cast<double>(rows.rows());
  };
  const auto root_mean_square = [&](const auto& term, bool centered) {
    const double mean = centered ? mean_of(term) : 0;
    return std::sqrt(mean_of([&](Eigen::Index i) { return (term(i) - mean) * (term(i) - mean); }));
  };
  const auto label = [&](Eigen::Index i) { return labels[i]; };
  const auto value = [&](Eigen::Index i) {
    return rows(i, 0) * layer.input_value[0] + rows(i, 1) * layer.input_value[1];
  };
  CHECK(std::abs(scales.label - root_mean_square(label, false)) <= 1e-14);
  for (const bool centered : {false, true}) {
    const double expected = layer.label_value * root_mean_square(label, centered) + root_mean_square(value, centered);
    CHECK(std::abs((centered ? scales.value_deviation : scales.value) - expected) <= 1e-14);
  }
}

TEST_CASE("resampled rows with their own labels agree with the exact error of labeled rows") {
  const Vector<double> labels{{1.0, -2.0, 0.5, 3.0, 0.2}};
  const regression::InputRows<double> law(skewed_rows());
  for (const std::int64_t context_length : {2, 6}) {
    for (const Offset offset : {Offset::kept, Offset::removed}) {
      const auto simulation = simulate::regression_error_on_rows(
          attention(), skewed_rows(), {.labels = labels}, context_length,
          simulate::at_temperatures<Approximate>(temperatures), {.seed = 22, .trials = 1 << 18}, {.offset = offset});
      CHECK(testing::largest_z(simulation.estimates, temperatures,
                               regression::labeled_rows_error(attention(), law, labels, context_length, offset)) <= 5);
      CHECK(testing::largest_z(simulation.estimates, temperatures,
                               regression::labeled_rows_error(attention(), law, labels, context_length + 1, offset)) >
            5);
    }
  }
}

TEST_CASE("a known task, of covariance zero, is a task law too") {
  const regression::InputRows<double> law(skewed_rows());
  const Matrix<double> zero = Matrix<double>::Zero(2, 2);
  const auto simulation = simulate::regression_error_on_rows(
      attention(), skewed_rows(), {task_mean, zero, noise_variance}, 5,
      simulate::at_temperatures<Approximate>(temperatures), {.seed = 23, .trials = 1 << 17});
  CHECK(testing::largest_z(simulation.estimates, temperatures,
                           regression::any_law_error(attention(), law, task_mean, zero, noise_variance, 5)) <= 5);
}

TEST_CASE("rows of the wrong shape are refused") {
  const simulate::Options options{.trials = 10};
  const auto maps = simulate::at_temperatures<Approximate>(temperatures);
  CHECK_THROWS_AS(simulate::regression_error_on_rows(attention(), skewed_rows(), {.labels = Vector<double>::Zero(4)}, 5,
                                                     maps, options),
                  std::invalid_argument);
  CHECK_THROWS_AS(simulate::regression_error_on_rows(attention(), skewed_rows(),
                                                     {Vector<double>::Zero(3), task_covariance, 0.1}, 5, maps, options),
                  std::invalid_argument);
  CHECK_THROWS_AS(simulate::regression_error_on_rows(attention(), skewed_rows(), {task_mean, -task_covariance, 0.1}, 5,
                                                     maps, options),
                  std::domain_error);
  CHECK_THROWS_AS(simulate::regression_error_on_rows(attention(), Matrix<double>(0, 2),
                                                     {task_mean, task_covariance, 0.1}, 5, maps, options),
                  std::invalid_argument);
}

TEST_CASE("resampled rows: single precision is within its rounding of double on the same draws, whatever the mean") {
  const Vector<double> labels{{0.5, -1.0, 0.25, 2.0, 1.0}};
  for (const double offset : {0.0, 1e3, 1e6}) {
    const Matrix<double> rows = skewed_rows().array() + offset;
    const std::vector<double> grid{1.0, 1 + offset, 1 + offset * offset};
    const auto with = [&]<class T>(T) {
      return simulate::regression_error_on_rows<T>(attention(), rows, {.labels = labels.array() + offset}, 30,
                                                   simulate::at_temperatures<Approximate>(grid),
                                                   {.seed = 12, .trials = 2048});
    };
    const auto single = with(float{}), full = with(double{});
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const auto &a = single.estimates[i], &b = full.estimates[i];
      CAPTURE(offset, grid[i], a.mean, b.mean, a.rounding, b.rounding);
      CHECK(std::abs(a.mean - b.mean) <= a.rounding + b.rounding);
      CHECK(std::abs(a.mean - b.mean) >= 1e-3 * a.rounding);  // the bound is not far too large
      CHECK(b.rounding < 1e-6 * a.rounding);
    }
  }
}

}  // namespace regression_on_rows_test
