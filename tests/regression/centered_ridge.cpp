#include "incontext/regression/centered_ridge.hpp"

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <random>

#include "incontext/regression/posterior.hpp"
#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

/// The posterior by its definition, with inverses, in long double.
RidgePosterior<long double> by_definition(const Matrix<long double>& x, const Vector<long double>& y,
                                          const Vector<double>& task_mean, const Matrix<double>& task_covariance,
                                          long double s2) {
  const Matrix<long double> precision = as<long double>(task_covariance).inverse();
  const Matrix<long double> p = (x.transpose() * x / s2 + precision).inverse();
  return {p * (x.transpose() * y / s2 + precision * as<long double>(task_mean)), p};
}

/// The ridge as the paper prints it: by the definition, of a centered context.
RidgePosterior<long double> printed(const Matrix<double>& inputs, const Vector<double>& labels,
                                    const Vector<double>& task_mean, const Matrix<double>& task_covariance,
                                    double noise_variance) {
  const Matrix<long double> x = as<long double>(inputs);
  const Vector<long double> y = as<long double>(labels);
  return by_definition(x.rowwise() - x.colwise().mean(), (y.array() - y.mean()).matrix(), task_mean, task_covariance,
                       noise_variance);
}

}  // namespace

TEST_CASE(
    "the posterior agrees with the printed formula for more and fewer examples than dimensions, by both "
    "factorizations") {
  const auto [l, d] =
      GENERATE(std::pair<Eigen::Index, Eigen::Index>{2, 1}, std::pair<Eigen::Index, Eigen::Index>{12, 4},
               std::pair<Eigen::Index, Eigen::Index>{4, 4}, std::pair<Eigen::Index, Eigen::Index>{5, 4},
               std::pair<Eigen::Index, Eigen::Index>{3, 7}, std::pair<Eigen::Index, Eigen::Index>{2, 9});
  const double noise = GENERATE(1000.0, 0.25, 1e-6);
  RegressionCases cases(static_cast<std::uint64_t>(100 * l + d));
  const Matrix<double> inputs = cases.matrix(l, d);
  const Vector<double> labels = cases.vector(l);
  const Vector<double> mean = cases.vector(d);
  const Matrix<double> covariance = cases.covariance(d);
  const auto posterior = centered_ridge(inputs, labels, mean, covariance, noise);
  const auto expected = printed(inputs, labels, mean, covariance, noise);
  CHECK((as<long double>(posterior.mean) - expected.mean).norm() <= 1e-11L * expected.mean.norm());
  CHECK((as<long double>(posterior.covariance) - expected.covariance).norm() <= 1e-11L * covariance.norm());
  const auto whole = incontext::regression::posterior(inputs, labels, mean, covariance, noise);
  const auto defined = by_definition(as<long double>(inputs), as<long double>(labels), mean, covariance, noise);
  CHECK((as<long double>(whole.mean) - defined.mean).norm() <= 1e-11L * defined.mean.norm());
  CHECK((as<long double>(whole.covariance) - defined.covariance).norm() <= 1e-11L * covariance.norm());
  CHECK((whole.covariance - posterior.covariance).norm() > 1e-9 * covariance.norm());  // centering loses something
}

TEST_CASE("a context without means has one posterior, centered or not, and a longer context the smaller risk") {
  RegressionCases cases(73);
  const Matrix<double> half = cases.matrix(5, 3);
  Matrix<double> inputs(10, 3);
  inputs << half, -half;  // of mean 0
  const Vector<double> labels = inputs * cases.vector(3);
  const Matrix<double> covariance = cases.covariance(3);
  const Vector<double> mean = Vector<double>::Zero(3);
  const auto whole = posterior(inputs, labels, mean, covariance, 0.25);
  const auto centered = centered_ridge(inputs, labels, mean, covariance, 0.25);
  CHECK((whole.mean - centered.mean).norm() <= 1e-13 * whole.mean.norm());
  CHECK((whole.covariance - centered.covariance).norm() <= 1e-13 * covariance.norm());
  const LinearTask<double> task({mean, cases.covariance(3), mean, covariance, 0.25});
  double before = task.noise_variance() + (task.input_covariance() * covariance).trace();  // no context
  for (Eigen::Index l = 1; l <= 10; ++l) {
    const Matrix<double> first = inputs.topRows(l);
    const double risk = posterior_risk(first, task);
    CHECK(risk < before);
    if (l >= 2) CHECK(risk <= centered_ridge_risk(first, task) * (1 + 1e-13));
    before = risk;
  }
  CHECK(
      refuses<std::invalid_argument>([&] { posterior(Matrix<double>(0, 3), Vector<double>(0), mean, covariance, 1.0); },
                                     {"posterior", "context_length", "0"}));
}

TEST_CASE("the two factorizations agree where either may be taken") {
  // The same context with the noise on both sides of the threshold between Cholesky and singular values.
  const auto [l, d] =
      GENERATE(std::pair<Eigen::Index, Eigen::Index>{9, 4}, std::pair<Eigen::Index, Eigen::Index>{4, 9});
  RegressionCases cases(71);
  const Matrix<double> inputs = cases.matrix(l, d);
  const Vector<double> labels = cases.vector(l);
  const Vector<double> mean = cases.vector(d);
  const Matrix<double> covariance = cases.covariance(d);
  const Matrix<double> centered = inputs.rowwise() - inputs.colwise().mean();
  const double threshold =
      std::cbrt(std::numeric_limits<double>::epsilon()) * (centered * covariance * centered.transpose()).trace();
  const auto above = centered_ridge(inputs, labels, mean, covariance, threshold * (1.0 + 1e-10));
  const auto below = centered_ridge(inputs, labels, mean, covariance, threshold * (1.0 - 1e-10));
  CHECK((above.mean - below.mean).norm() <= 1e-9 * above.mean.norm());
  CHECK((above.covariance - below.covariance).norm() <= 1e-10 * covariance.norm());
}

TEST_CASE("without noise the posterior interpolates and keeps the prior where the context says nothing") {
  const Eigen::Index l = GENERATE(2, 5, 6, 7, 20);
  const Eigen::Index d = 6;
  RegressionCases cases(72);
  const Matrix<double> inputs = cases.matrix(l, d);
  const Vector<double> truth = cases.vector(d);
  const Vector<double> labels = inputs * truth;
  const Vector<double> mean = cases.vector(d);
  const Matrix<double> covariance = cases.covariance(d);
  const auto exact = centered_ridge(inputs, labels, mean, covariance, 0.0);
  const Matrix<double> centered = inputs.rowwise() - inputs.colwise().mean();
  CHECK((centered * (exact.mean - truth)).norm() <= 1e-12 * labels.norm());
  CHECK((centered * exact.covariance).norm() <= 1e-12 * covariance.norm());
  if (l > d) CHECK((exact.mean - truth).norm() <= 1e-11 * truth.norm());
  // It is a limit: noise that is too small to matter changes nothing, down to the smallest number.
  for (const double noise : {1e-13, 1e-20, 1e-28, 1e-32, 1e-300}) {
    const auto near = centered_ridge(inputs, labels, mean, covariance, noise);
    CHECK((near.mean - exact.mean).norm() <= 1e-9 * exact.mean.norm());
    CHECK((near.covariance - exact.covariance).norm() <= 1e-9 * covariance.norm());
  }
}

TEST_CASE("repeated inputs and inputs that do not vary have a posterior") {
  RegressionCases cases(73);
  const Matrix<double> covariance = cases.covariance(3);
  const Vector<double> mean = cases.vector(3);
  Matrix<double> inputs = cases.matrix(5, 3);
  inputs.row(3) = inputs.row(0);
  inputs.row(4) = inputs.row(0);
  Vector<double> labels = cases.vector(5);
  for (const double noise : {0.0, 1e-30}) {
    const auto posterior = centered_ridge(inputs, labels, mean, covariance, noise);
    CHECK(posterior.mean.allFinite());
    CHECK(posterior.covariance.allFinite());
    // Labels that contradict each other are averaged: the prediction for the repeated input is their mean.
    const Matrix<double> centered = inputs.rowwise() - inputs.colwise().mean();
    const Vector<double> residual = (labels.array() - labels.mean()).matrix() - centered * posterior.mean;
    CHECK(std::abs(residual(0) + residual(3) + residual(4)) <= 1e-12);
  }
  inputs.rowwise() = inputs.row(0).eval();
  for (const double noise : {0.0, 0.5}) {
    const auto posterior = centered_ridge(inputs, labels, mean, covariance, noise);
    CHECK((posterior.mean - mean).norm() <= 1e-13);
    CHECK((posterior.covariance - covariance).norm() <= 1e-13 * covariance.norm());
  }
}

TEST_CASE("noise without bound leaves the prior") {
  RegressionCases cases(74);
  const Vector<double> mean = cases.vector(3);
  const Matrix<double> covariance = cases.covariance(3);
  const auto posterior = centered_ridge<double>(cases.matrix(8, 3), cases.vector(8), mean, covariance, 1e300);
  CHECK((posterior.mean - mean).norm() <= 1e-14);
  CHECK((posterior.covariance - covariance).norm() <= 1e-14 * covariance.norm());
}

TEST_CASE("the risk is the squared error of drawn tasks and queries") {
  const Eigen::Index l = GENERATE(2, 4, 9);
  RegressionCases cases(75);
  const auto task = cases.task(4, 0.5);
  const Matrix<double> inputs = cases.matrix(l, 4);
  const double risk = centered_ridge_risk(inputs, task);
  const Matrix<double> task_root = task.task_covariance().llt().matrixL();
  const Matrix<double> input_root = task.input_covariance().llt().matrixL();
  std::mt19937_64 engine(76);
  std::normal_distribution<double> normal;
  SampleMean errors;
  for (int trial = 0; trial < 100'000; ++trial) {
    const Vector<double> w = task.task_mean() + task_root * standard_normals(4, engine);
    const Vector<double> labels = inputs * w + std::sqrt(0.5) * standard_normals(l, engine);
    const Vector<double> query = task.input_mean() + input_root * standard_normals(4, engine);
    const auto posterior = centered_ridge(inputs, labels, task.task_mean(), task.task_covariance(), 0.5);
    errors.add(std::pow(w.dot(query) + std::sqrt(0.5) * normal(engine) - posterior.mean.dot(query), 2));
  }
  CHECK(std::abs(errors.z(risk)) <= 5.0);
  // Power: a query's second moment taken for its covariance, and the noise forgotten.
  const auto posterior =
      centered_ridge<double>(inputs, Vector<double>::Zero(l), task.task_mean(), task.task_covariance(), 0.5);
  CHECK(std::abs(centered_ridge_risk(posterior, task) - risk) <= 1e-13 * risk);
  CHECK(std::abs(errors.z(0.5 + trace_of_product<double>(task.input_covariance(), posterior.covariance))) > 5.0);
  CHECK(std::abs(errors.z(risk - 0.5)) > 5.0);
}

TEST_CASE("centered_ridge refuses shapes and values by name") {
  RegressionCases cases(77);
  const Matrix<double> inputs = cases.matrix(5, 2);
  const Vector<double> labels = cases.vector(5);
  const Vector<double> mean = cases.vector(2);
  const Matrix<double> covariance = cases.covariance(2);
  CHECK(refuses<std::logic_error>(
      [&] { centered_ridge<double>(inputs.topRows(1), labels.head(1), mean, covariance, 0.1); },
      {"context_length", "value = 1"}));
  CHECK(refuses<std::logic_error>([&] { centered_ridge<double>(inputs, labels.head(4), mean, covariance, 0.1); },
                                  {"labels", "4 x 1"}));
  CHECK(refuses<std::logic_error>([&] { centered_ridge<double>(inputs, labels, cases.vector(3), covariance, 0.1); },
                                  {"task_mean", "3 x 1"}));
  CHECK(refuses<std::logic_error>([&] { centered_ridge<double>(inputs, labels, mean, -covariance, 0.1); },
                                  {"task_covariance", "positive definite"}));
  CHECK_THROWS_AS(centered_ridge(inputs, labels, mean, covariance, -0.1), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { centered_ridge(inputs, labels, mean, covariance, -0.1); },
                                  {"noise_variance", "-0.1"}));
  Matrix<double> broken = inputs;
  broken(3, 1) = std::nan("");
  CHECK(refuses<std::logic_error>([&] { centered_ridge(broken, labels, mean, covariance, 0.1); },
                                  {"inputs(3, 1)", "nan"}));
  Vector<double> broken_labels = labels;
  broken_labels(2) = std::numeric_limits<double>::infinity();
  CHECK(refuses<std::logic_error>([&] { centered_ridge(inputs, broken_labels, mean, covariance, 0.1); },
                                  {"labels(2, 0)", "inf"}));
  CHECK(refuses<std::logic_error>([&] { centered_ridge_risk<double>(cases.matrix(5, 3), cases.task(2)); },
                                  {"inputs.cols()", "value = 3"}));
  CHECK(refuses<std::logic_error>(
      [&] {
        centered_ridge_risk(RidgePosterior<double>{mean, cases.covariance(3)}, cases.task(2));
      },
      {"posterior.covariance", "3 x 3"}));
}
