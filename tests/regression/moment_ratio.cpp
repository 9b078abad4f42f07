#include "incontext/regression/moment_ratio.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEST_CASE("the moments are those of drawn scores, inputs about their mean") {
  RegressionCases cases(111);
  const auto task = cases.task(4);
  auto attention = cases.attention(4);
  attention.key_query(0, 1) += 1.0;
  attention.key_query(1, 0) -= 1.0;
  const auto law = moment_ratio(attention, task);
  CHECK(law.ratio == law.second_moment / law.first_moment);
  const Matrix<double> root = task.input_covariance().llt().matrixL();
  std::mt19937_64 engine(112);
  SampleMean squares, selves;
  for (int i = 0; i < 100'000; ++i) {
    const Vector<double> key = root * standard_normals(4, engine);
    const Vector<double> query = root * standard_normals(4, engine);
    squares.add(std::pow(key.dot(attention.key_query * query), 2));
    selves.add(query.dot(attention.key_query * query));
  }
  CHECK(std::abs(squares.z(law.second_moment)) <= 5.0);
  CHECK(std::abs(selves.z(law.first_moment)) <= 5.0);
  // Power: the trace of (M S)^2 in place of that of M^T S M S, which a symmetric M would give.
  const Matrix<double> ms = attention.key_query * task.input_covariance();
  CHECK(std::abs(squares.z(trace_of_product<double>(ms, ms))) > 5.0);
  CHECK(std::abs(selves.z(attention.key_query.trace())) > 5.0);
}

TEST_CASE("on the isotropic family the ratio is m a, and corrected it is the optimal temperature") {
  const std::int64_t l = GENERATE(2, 9, 400);
  const IsotropicTask<double> law{.dimension = 6, .input_variance = 1.5, .task_variance = 0.25, .noise_variance = 0.4};
  const double m = 0.7;
  const Attention<double> attention{m * Matrix<double>::Identity(6, 6), Vector<double>::Zero(6), 1.0};
  const double ratio = moment_ratio(attention, LinearTask<double>::isotropic(law)).ratio;
  const double eps = std::numeric_limits<double>::epsilon();
  CHECK(std::abs(ratio - m * 1.5) <= 8.0 * eps * ratio);
  const IsotropicAttention<double> family{.key_query_scale = m};
  const double best = optimal_temperature_isotropic(family, law, l);
  CHECK(std::abs(corrected_moment_ratio(m * 1.5, family, law, l) - best) <= 6.0 * eps * best);
  CHECK(ratio < (1.0 - 1e-3) * best);
}

TEST_CASE("a mean self-score that is not positive is refused with its value") {
  RegressionCases cases(113);
  const auto task = LinearTask<double>::isotropic({.dimension = 2, .input_variance = 0.5});
  Attention<double> attention{-Matrix<double>::Identity(2, 2), Vector<double>::Zero(2), 1.0};
  CHECK_THROWS_AS(moment_ratio(attention, task), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { moment_ratio(attention, task); }, {"self-score", "value = -1"}));
  attention.key_query << 0, 1, -1, 0;
  CHECK(refuses<std::logic_error>([&] { moment_ratio(attention, task); }, {"self-score", "value = 0"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio(cases.attention(3), task); }, {"key_query", "3 x 3"}));
}

TEST_CASE("corrected_moment_ratio refuses what is outside its domain") {
  const auto refused = [](const IsotropicTask<double>& law, std::int64_t l,
                          std::initializer_list<std::string_view> fragments) {
    return refuses<std::logic_error>([&] { corrected_moment_ratio(1.0, IsotropicAttention<double>{}, law, l); },
                                     fragments);
  };
  CHECK(refused({.dimension = 3}, 1, {"context_length", "value = 1"}));
  CHECK(refused({.dimension = 0}, 5, {"dimension", "value = 0"}));
  CHECK(refused({.dimension = 3, .task_variance = 0.0}, 5, {"task_variance", "value = 0"}));
  CHECK_FALSE(refused({.dimension = 3}, 5, {}));
}
