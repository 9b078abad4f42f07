#include "incontext/regression/linear_task.hpp"

#include <cmath>
#include <limits>

#include "incontext/regression/attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using incontext::testing::refuses;
using Parameters = LinearTask<double>::Parameters;

namespace {

Parameters good() {
  incontext::testing::RegressionCases cases(41);
  return {cases.vector(3), cases.covariance(3), cases.vector(3), cases.covariance(3), 0.25};
}

LinearTask<double> build(const Parameters& parameters) { return LinearTask<double>(parameters); }

}  // namespace

TEST_CASE("a task holds its parameters and their second moments") {
  const Parameters p = good();
  const auto task = build(p);
  CHECK(task.dimension() == 3);
  CHECK(task.input_mean() == p.input_mean);
  CHECK(task.input_covariance() == p.input_covariance);
  CHECK(task.task_mean() == p.task_mean);
  CHECK(task.task_covariance() == p.task_covariance);
  CHECK(task.noise_variance() == 0.25);
  CHECK(task.input_second_moment()(0, 2) == p.input_covariance(0, 2) + p.input_mean(0) * p.input_mean(2));
  CHECK(task.task_second_moment()(1, 1) == p.task_covariance(1, 1) + p.task_mean(1) * p.task_mean(1));
}

TEST_CASE("modifiers change a copy and nothing else") {
  const Parameters p = good();
  const auto task = build(p);
  const Vector<double> mean = Vector<double>::Constant(3, 2.0);
  const Matrix<double> covariance = 2.0 * Matrix<double>::Identity(3, 3);
  CHECK(task.with_input_mean(mean).input_mean() == mean);
  CHECK(task.with_input_mean(mean).task_mean() == p.task_mean);
  CHECK(task.with_task_mean(mean).task_mean() == mean);
  CHECK(task.with_task_mean(mean).input_mean() == p.input_mean);
  CHECK(task.with_input_covariance(covariance).input_covariance() == covariance);
  CHECK(task.with_task_covariance(covariance).task_covariance() == covariance);
  CHECK(task.with_input_covariance_scaled(4.0).input_covariance() == 4.0 * p.input_covariance);
  CHECK(task.with_input_covariance_scaled(4.0).task_covariance() == p.task_covariance);
  CHECK(task.with_task_covariance_scaled(0.5).task_covariance() == 0.5 * p.task_covariance);
  CHECK(task.with_noise_variance(0.0).noise_variance() == 0.0);
  CHECK(task.input_mean() == p.input_mean);
  CHECK(task.noise_variance() == 0.25);
}

TEST_CASE("an isotropic task is spelled by name") {
  const auto task = LinearTask<double>::isotropic({.dimension = 4, .task_variance = 0.5, .noise_variance = 0.1});
  CHECK(task.dimension() == 4);
  CHECK(task.input_covariance() == Matrix<double>::Identity(4, 4));
  CHECK(task.task_covariance() == 0.5 * Matrix<double>::Identity(4, 4));
  CHECK(task.input_mean() == Vector<double>::Zero(4));
  CHECK(task.noise_variance() == 0.1);
  CHECK_THROWS_AS(LinearTask<double>::isotropic({.dimension = 0}), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { LinearTask<double>::isotropic({.dimension = 2, .input_variance = 0.0}); },
                                  {"input_variance", "value = 0"}));
  CHECK(refuses<std::logic_error>([&] { LinearTask<double>::isotropic({.dimension = 2, .task_variance = -1.0}); },
                                  {"task_variance", "value = -1"}));
  CHECK(refuses<std::logic_error>([&] { LinearTask<double>::isotropic({.dimension = 2, .noise_variance = -0.5}); },
                                  {"noise_variance", "value = -0.5"}));
}

TEST_CASE("shapes that do not fit are refused with both shapes") {
  Parameters p = good();
  p.input_mean.resize(0);
  CHECK_THROWS_AS(build(p), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_mean", "value = 0"}));
  p = good();
  p.task_mean = Vector<double>::Zero(2);
  CHECK_THROWS_AS(build(p), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"task_mean", "2 x 1", "3 x 1"}));
  p = good();
  p.input_covariance = Matrix<double>::Identity(3, 2);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_covariance", "3 x 2"}));
  p = good();
  p.task_covariance = Matrix<double>::Identity(4, 4);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"task_covariance", "4 x 4"}));
  CHECK(refuses<std::logic_error>([&] { build(good()).with_input_mean(Vector<double>::Zero(2)); },
                                  {"with_input_mean: mean", "2 x 1", "3 x 1"}));
}

TEST_CASE("values that are not finite are refused with their entry") {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const std::string text = std::isnan(value) ? "nan" : "inf";
    Parameters p = good();
    p.input_mean(1) = value;
    CHECK_THROWS_AS(build(p), std::domain_error);
    CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_mean(1, 0)", text}));
    p = good();
    p.task_mean(2) = value;
    CHECK(refuses<std::logic_error>([&] { build(p); }, {"task_mean(2, 0)", text}));
    p = good();
    p.input_covariance(0, 2) = value;
    CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_covariance(0, 2)", text}));
    p = good();
    p.task_covariance(2, 2) = value;
    CHECK(refuses<std::logic_error>([&] { build(p); }, {"task_covariance(2, 2)", text}));
    p = good();
    p.noise_variance = value;
    CHECK(refuses<std::logic_error>([&] { build(p); }, {"noise_variance", text}));
  }
  Parameters p = good();
  p.noise_variance = -1e-300;
  CHECK_THROWS_AS(build(p), std::domain_error);
}

TEST_CASE("covariances that are not symmetric or not positive definite are refused with what is wrong") {
  Parameters p = good();
  p.input_covariance(0, 1) += 1e-9;
  CHECK_THROWS_AS(build(p), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_covariance(0, 1)", "symmetric"}));
  p = good();
  p.input_covariance << 1, 0, 0, 0, -0.5, 0, 0, 0, 2;
  CHECK_THROWS_AS(build(p), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_covariance", "smallest eigenvalue", "-0.5"}));
  p = good();
  p.task_covariance = Matrix<double>::Ones(3, 3);
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"task_covariance", "positive definite"}));
  p.task_covariance.setZero();
  CHECK_THROWS_AS(build(p), std::domain_error);
}

TEST_CASE("asymmetry as small as rounding is accepted and taken out") {
  Parameters p = good();
  const double off = p.input_covariance(0, 1);
  p.input_covariance(0, 1) = std::nextafter(off, 10.0);
  const auto task = build(p);
  CHECK(task.input_covariance() == task.input_covariance().transpose());
  CHECK(std::abs(task.input_covariance()(0, 1) - off) <= std::numeric_limits<double>::epsilon());

  p = good();
  p.task_covariance(2, 1) = std::nextafter(p.task_covariance(2, 1), 10.0);
  CHECK(p.task_covariance != p.task_covariance.transpose());
  CHECK(build(p).task_covariance() == build(p).task_covariance().transpose());

  // Entries of very different size: the tolerance is that of each pair of coordinates, not of the largest entry.
  p.input_covariance << 1e12, 0, 0, 0, 1e-12, 1e-13, 0, 2e-13, 1e-12;
  CHECK(refuses<std::logic_error>([&] { build(p); }, {"input_covariance(1, 2)"}));
}

TEST_CASE("an attention is refused with the part that does not fit") {
  incontext::testing::RegressionCases cases(42);
  const auto attention = cases.attention(3);
  CHECK_NOTHROW(validate(attention, 3));
  CHECK_THROWS_AS(validate(attention, 2), std::invalid_argument);
  auto broken = attention;
  broken.input_value = Vector<double>::Zero(1);
  CHECK(refuses<std::logic_error>([&] { validate(broken, 3); }, {"input_value", "1 x 1", "3 x 1"}));
  broken = attention;
  broken.label_value = std::nan("");
  CHECK_THROWS_AS(validate(broken, 3), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { validate(broken, 3); }, {"label_value", "nan"}));
}
