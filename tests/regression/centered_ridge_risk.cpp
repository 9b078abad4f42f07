#include "incontext/regression/centered_ridge_risk.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "incontext/regression/centered_ridge.hpp"
#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEST_CASE("the deterministic equivalent of an isotropic task is the isotropic limit") {
  const std::int64_t d = GENERATE(1, 5, 40);
  const std::int64_t l = GENERATE(2, 6, 40, 41, 42, 1000);
  const double noise = GENERATE(0.0, 1e-12, 0.1, 100.0);
  const IsotropicTask<double> law{
      .dimension = d, .input_variance = 2.0, .task_variance = 0.125, .noise_variance = noise};
  const auto equivalent = centered_ridge_risk_equivalent(LinearTask<double>::isotropic(law), l);
  const double limit = centered_ridge_risk_isotropic_limit(law, l);
  CHECK(std::abs(equivalent.risk - limit) <= 1e-12 * limit);
  CHECK(equivalent.mean_excess == 0.0);
}

TEST_CASE("without noise the Bayes risk is what the context leaves open") {
  const IsotropicTask<double> law{.dimension = 10, .input_variance = 3.0, .task_variance = 0.5};
  CHECK(centered_ridge_risk_isotropic_limit(law, 11) == 0.0);
  CHECK(centered_ridge_risk_isotropic_limit(law, 12) == 0.0);
  CHECK(std::abs(centered_ridge_risk_isotropic_limit(law, 8) - 1.5 * 3.0) <= 1e-14);
  // Exact at every size: a query's part outside n random directions.
  const auto task = LinearTask<double>::isotropic(law);
  RegressionCases cases(81);
  CHECK(std::abs(centered_ridge_risk<double>(cases.matrix(8, 10), task) - 4.5) <= 1e-13);
}

TEST_CASE("the Bayes risk falls with the context to the noise, and grows with the noise") {
  IsotropicTask<double> law{.dimension = 10, .input_variance = 3.0, .task_variance = 0.5, .noise_variance = 0.2};
  double before = 1e300;
  for (const std::int64_t l : {2, 5, 10, 11, 12, 20, 100, 100'000, 1'000'000'000}) {
    const double risk = centered_ridge_risk_isotropic_limit(law, l);
    CHECK(risk < before);
    CHECK(risk > 0.2);
    CHECK(risk < 0.2 + 15.0);
    before = risk;
  }
  CHECK(before - 0.2 <= 0.2 * 11.0 * 1e-9);
  law.task_variance = 1e12;  // a flat prior: least squares, s2 / (1 - gamma)
  CHECK(std::abs(centered_ridge_risk_isotropic_limit(law, 21) - 0.4) <= 1e-9);
}

namespace {

struct FiniteRisk {
  SampleMean about_mean;
  SampleMean mean_excess;
};

FiniteRisk finite_risk(const LinearTask<double>& task, Eigen::Index l, int contexts) {
  const auto centered = task.with_input_mean(Vector<double>::Zero(task.dimension()));
  const Matrix<double> root = task.input_covariance().llt().matrixL();
  std::mt19937_64 engine(83);
  FiniteRisk result;
  for (int trial = 0; trial < contexts; ++trial) {
    Matrix<double> inputs(l, task.dimension());
    for (Eigen::Index i = 0; i < l; ++i)
      inputs.row(i) = (root * standard_normals(task.dimension(), engine)).transpose();
    const double risk = centered_ridge_risk(inputs, centered);
    result.about_mean.add(risk);
    result.mean_excess.add(centered_ridge_risk(inputs, task) - risk);
  }
  return result;
}

LinearTask<double> uneven_task(Eigen::Index d) {
  RegressionCases cases(82);
  Matrix<double> input_covariance = Matrix<double>::Identity(d, d);
  for (Eigen::Index i = 0; i < d; ++i)
    input_covariance(i, i) = 0.25 + 2.0 * static_cast<double>(i) / static_cast<double>(d);
  return LinearTask<double>(
      {2.0 * cases.vector(d), input_covariance, Vector<double>::Zero(d), cases.covariance(d, 1.0) / 64.0, 0.1});
}

}  // namespace

TEST_CASE("finite risks meet the equivalent within 5% at twenty dimensions, a mean of the inputs included") {
  const Eigen::Index l = GENERATE(10, 21, 60, 200);
  const auto task = uneven_task(20);
  const auto finite = finite_risk(task, l, 400);
  const auto equivalent = centered_ridge_risk_equivalent(task, l);
  const double off = equivalent.risk / finite.about_mean.mean() - 1.0;
  CHECK(std::abs(off) <= (l == 21 ? 0.05 : l == 10 ? 0.025 : 0.01));
  CHECK(std::abs(equivalent.mean_excess / finite.mean_excess.mean() - 1.0) <= 0.06);
  // Power: the isotropic task with the same traces is rejected, and so is the query's mean left out.
  if (l <= 21) {
    const IsotropicTask<double> averaged{.dimension = 20,
                                         .input_variance = task.input_covariance().trace() / 20.0,
                                         .task_variance = task.task_covariance().trace() / 20.0,
                                         .noise_variance = 0.1};
    CHECK(std::abs(centered_ridge_risk_isotropic_limit(averaged, l) / finite.about_mean.mean() - 1.0) > 0.05);
  }
  CHECK(equivalent.mean_excess > 0.06 * equivalent.risk);
  const auto centered = task.with_input_mean(Vector<double>::Zero(20));
  CHECK(centered_ridge_risk_equivalent(centered, l).mean_excess == 0.0);
  CHECK(centered_ridge_risk_equivalent(centered, l).risk == equivalent.risk);
}

TEST_CASE("the finite risk approaches the isotropic limit as 1/d") {
  double before = 0.0;
  for (const std::int64_t d : {5, 20, 80}) {
    const IsotropicTask<double> law{
        .dimension = d, .task_variance = 1.0 / static_cast<double>(d), .noise_variance = 0.1};
    const auto finite = finite_risk(LinearTask<double>::isotropic(law), d + 1, d == 5 ? 4000 : 150);
    const double off = std::abs(centered_ridge_risk_isotropic_limit(law, d + 1) / finite.about_mean.mean() - 1.0);
    if (before > 0.0) CHECK(off < 0.5 * before);
    before = off;
    // Power: leaving out the degree of freedom that centering takes is detected.
    if (d == 80)
      CHECK(std::abs(centered_ridge_risk_isotropic_limit(law, d + 2) / finite.about_mean.mean() - 1.0) > 1.5 * off);
  }
  CHECK(before <= 0.01);
}

TEST_CASE("the effective ridge solves its equation, also for covariances of any condition") {
  const double noise = GENERATE(0.0, 1e-20, 0.1, 1e6);
  const std::int64_t l = GENERATE(2, 4, 5, 6, 50);
  Matrix<double> covariance = Matrix<double>::Zero(4, 4);
  covariance.diagonal() << 1e-9, 1e-3, 1.0, 1e6;
  const LinearTask<double> task(
      {Vector<double>::Zero(4), covariance, Vector<double>::Zero(4), Matrix<double>::Identity(4, 4), noise});
  const double kappa = centered_ridge_risk_equivalent(task, l).effective_ridge;
  const double n = static_cast<double>(l - 1);
  if (noise == 0.0 && l >= 5) {
    CHECK(kappa == 0.0);
  } else {
    double left = noise / kappa, right = n - 4.0;
    for (const double e : {1e-9, 1e-3, 1.0, 1e6}) right += kappa / (e + kappa);
    CHECK(std::abs(left - right) <= 1e-12 * (left + n + 4.0));
  }
}

TEST_CASE("covariances of one direction to rounding have a Bayes risk, without noise too") {
  // Some of the whitened spectra fall below 0; eigenvalues below eps of the largest one count as eps of it,
  // so that of kappa / (e + kappa) = 1 with one row sqrt((d - 1) eps) is left.
  int below_zero = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    RegressionCases cases(300 + i);
    const Eigen::Index d = 6;
    const auto one_direction = [&](double scale) -> Matrix<double> {
      const Vector<double> g = scale * cases.vector(d);
      return g * g.transpose() + 1e-16 * Matrix<double>::Identity(d, d);
    };
    const Matrix<double> inputs = one_direction(1.0 / 3), tasks = one_direction(1.0 / 7);
    const LinearTask<double> task({Vector<double>::Zero(d), inputs, Vector<double>::Zero(d), tasks, 0.0});
    const Matrix<double> c = tasks.llt().matrixL(), whitened = c.transpose() * inputs * c;
    const Vector<double> e = Eigen::SelfAdjointEigenSolver<Matrix<double>>(whitened).eigenvalues();
    below_zero += e(0) < 0;
    const auto found = centered_ridge_risk_equivalent(task, 2);
    INFO("case " << i << ", smallest eigenvalue " << e(0) << ", risk " << found.risk);
    CHECK(std::abs(found.risk / (e(d - 1) * std::sqrt(5.0) * 0x1p-26) - 1) <= 1e-6);
  }
  CHECK(below_zero > 0);
}

TEST_CASE("the Bayes risks refuse what is outside their domain") {
  CHECK_THROWS_AS(centered_ridge_risk_isotropic_limit(IsotropicTask<double>{.dimension = 3}, 1), std::invalid_argument);
  CHECK(refuses<std::logic_error>([] { centered_ridge_risk_isotropic_limit(IsotropicTask<double>{.dimension = 3}, 1); },
                                  {"context_length", "value = 1"}));
  CHECK(
      refuses<std::logic_error>([] { centered_ridge_risk_isotropic_limit(IsotropicTask<double>{.dimension = -3}, 4); },
                                {"dimension", "value = -3"}));
  CHECK(refuses<std::logic_error>(
      [] { centered_ridge_risk_isotropic_limit(IsotropicTask<double>{.dimension = 3, .input_variance = -1.0}, 4); },
      {"input_variance", "value = -1"}));
  RegressionCases cases(84);
  CHECK(refuses<std::logic_error>([&] { centered_ridge_risk_equivalent(cases.task(2), 1); },
                                  {"context_length", "value = 1"}));
}
