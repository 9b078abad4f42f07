// Laws with diagonal covariances, stored as vectors: the same functions as for dense matrices, in O(d).

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/regression/trained_attention.hpp"
#include "incontext/regression/value_scale.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;
using incontext::scoring::Softmax;
using incontext::scoring::SSA;
using incontext::scoring::SSMax;

namespace {

template <class T>
struct Pair {
  DiagonalAttention<T> attention;
  DiagonalTask<T> task;

  Attention<T> dense_attention() const {
    return {attention.key_query.dense(), attention.input_value, attention.label_value};
  }
  LinearTask<T> dense_task() const {
    return LinearTask<T>({task.input_mean(), task.input_covariance().dense(), task.task_mean(),
                          task.task_covariance().dense(), task.noise_variance()});
  }
};

/// Nothing is isotropic; the scores' matrix has a part of this rank.
template <class T>
Pair<T> diagonal_pair(Eigen::Index d, Eigen::Index rank) {
  using M = DiagonalPlusLowRank<T>;
  RegressionCases cases(static_cast<std::uint64_t>(170 + d));
  const auto vector = [&] { return Vector<T>(cases.vector(d).template cast<T>()); };
  const auto variances = [&] { return Vector<T>(cases.vector(d).cwiseAbs().template cast<T>().array() + T(0.25)); };
  const auto factor = [&] { return Matrix<T>(cases.matrix(d, rank).template cast<T>()); };
  DiagonalTask<T> task({vector(), M(variances().asDiagonal()), vector(), M(variances().asDiagonal()), T(0.375)});
  return {{M(variances(), factor(), factor()), vector(), T(0.75)}, task};
}

double distance(double value, double other) { return std::abs(value - other) / std::abs(other); }

}  // namespace

TEMPLATE_TEST_CASE("errors of diagonal laws are the dense ones at 50 digits", "", float, double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : {1, 3, 8}) {
    for (const Eigen::Index rank : {0, 2}) {
      const auto given = diagonal_pair<T>(d, rank);
      const auto exact = diagonal_pair<Real50>(d, rank);
      const auto attention = exact.dense_attention();
      const auto task = exact.dense_task();
      for (const std::int64_t l : {2, 40}) {
        for (const Offset offset : {Offset::kept, Offset::removed}) {
          worst.add(eps_off(generalization_error(given.attention, given.task, l, {.offset = offset}),
                            generalization_error(attention, task, l, {.offset = offset})),
                    "d ", d, ", rank ", rank, ", l ", l);
          worst.add(eps_off(generalization_error_leading_order(given.attention, given.task, l, offset),
                            generalization_error_leading_order(attention, task, l, offset)),
                    "leading order, d ", d, ", rank ", rank, ", l ", l);
        }
        worst.add(
            eps_off(linear_attention_error(given.attention, given.task, l), linear_attention_error(attention, task, l)),
            "linear attention, d ", d, ", rank ", rank, ", l ", l);
        const auto included = [&](const auto& layer, const auto& law) {
          auto labels = layer;
          labels.input_value.setZero();
          auto mean = law.input_mean();
          mean.setZero();
          return generalization_error(labels, law.with_input_mean(mean), l, {.query = QueryToken::included});
        };
        worst.add(eps_off(included(given.attention, given.task), included(attention, task)), "query included, d ", d);
      }
    }
  }
  CHECK(worst <= 12.0);
  CHECK(worst > 0.0);
}

TEST_CASE("layers, softmax errors and value scales of diagonal laws are the dense ones") {
  Worst worst;
  for (const Eigen::Index d : {1, 3, 8}) {
    const auto given = diagonal_pair<double>(d, 0);
    const auto task = given.dense_task();
    const auto attention = given.dense_attention();
    const Vector<double> zero = Vector<double>::Zero(d);
    const auto centered = given.task.with_input_mean(zero).with_task_mean(zero);
    const auto dense_centered = task.with_input_mean(zero).with_task_mean(zero);
    const auto same_layer = [&](const DiagonalAttention<double>& one, const Attention<double>& other) {
      worst.add((one.key_query.dense() - other.key_query).norm() / other.key_query.norm(), "key_query, d ", d);
      worst.add((one.input_value - other.input_value).norm(), "input_value, d ", d);
      CHECK(one.label_value == other.label_value);
    };
    same_layer(pretrained_attention(given.task, 40), pretrained_attention(task, 40));
    same_layer(trained_attention(centered, 40), trained_attention(dense_centered, 40));
    same_layer(trained_linear_attention(centered, 40), trained_linear_attention(dense_centered, 40));
    worst.add(distance(optimal_temperature(given.attention, given.task, 40), optimal_temperature(attention, task, 40)),
              "optimal_temperature, d ", d);
    const auto same_error = [&](const auto& one, const auto& other, const auto& map) {
      worst.add(
          distance(softmax_error(given.attention, one, 40, map).value, softmax_error(attention, other, 40, map).value),
          "softmax_error, d ", d);
      worst.add(distance(optimal_value_scale(given.attention, one, 40, map).error,
                         optimal_value_scale(attention, other, 40, map).error),
                "optimal_value_scale, d ", d);
    };
    same_error(given.task, task, Softmax<double>{3.0});
    same_error(given.task, task, SSMax<double>{0.4});
    same_error(given.task.with_input_mean(zero), task.with_input_mean(zero), SSA<double>{1.5, 1.0});
  }
  CHECK(worst <= 1e-12);
  CHECK(worst > 0.0);
}

TEST_CASE("a diagonal law of a million inputs is the isotropic one where all its variances are equal") {
  const IsotropicTask<double> law{1'000'000, 1.5, 2e-6, 0.3};
  const auto task = DiagonalTask<double>::isotropic(law);
  const DiagonalAttention<double> attention{
      DiagonalPlusLowRank<double>(Vector<double>::Constant(law.dimension, 0.8).asDiagonal()),
      Vector<double>::Zero(law.dimension), 0.9};
  CHECK(distance(optimal_temperature(attention, task, 4000),
                 optimal_temperature_isotropic<double>({0.8, 0.9}, law, 4000)) <= 1e-10);
}

TEST_CASE("softmax_error of equal variances is softmax_error_isotropic") {
  const auto same = [](std::int64_t dimension, double temperature, QueryToken query) {
    const IsotropicTask<double> law{dimension, 1.5, 1e-3, 0.3};
    const DiagonalAttention<double> attention{
        DiagonalPlusLowRank<double>(Vector<double>::Constant(law.dimension, 0.8).asDiagonal()),
        Vector<double>::Zero(law.dimension), 0.9};
    const Softmax<double> map{temperature};
    CHECK(distance(softmax_error(attention, DiagonalTask<double>::isotropic(law), 4000, map, query).value,
                   softmax_error_isotropic<double>({0.8, 0.9}, law, 4000, map, query).value) <= 1e-10);
  };
  same(2000, 50.0, QueryToken::excluded);
  same(20, 3.0, QueryToken::included);
}

TEST_CASE("a diagonal law refuses what a dense one refuses, and parts of low rank") {
  using M = DiagonalPlusLowRank<double>;
  const auto given = diagonal_pair<double>(3, 1);
  const auto& low_rank = given.attention.key_query;
  Vector<double> variances = Vector<double>::Ones(3);
  CHECK(refuses<std::invalid_argument>([&] { given.task.with_task_covariance(low_rank); },
                                       {"task_covariance", "low rank", "value = 1"}));
  CHECK(refuses<std::invalid_argument>([&] { softmax_error(given.attention, given.task, 40, Softmax<double>{}); },
                                       {"softmax_error", "key_query", "low rank"}));
  variances(2) = -0.5;
  CHECK(refuses<std::domain_error>([&] { given.task.with_input_covariance(M(variances.asDiagonal())); },
                                   {"input_covariance(2, 2)", "-0.5"}));
  variances(2) = std::numeric_limits<double>::quiet_NaN();
  CHECK(refuses<std::domain_error>([&] { given.task.with_input_covariance(M(variances.asDiagonal())); },
                                   {"input_covariance"}));
  CHECK(
      refuses<std::invalid_argument>([&] { given.task.with_input_covariance(M(Vector<double>::Ones(2).asDiagonal())); },
                                     {"input_covariance", "3 x 1"}));
  DiagonalAttention<double> wrong = given.attention;
  wrong.key_query = M(low_rank.entries(), low_rank.left(), Matrix<double>(3, 2));
  CHECK(refuses<std::invalid_argument>([&] { generalization_error(wrong, given.task, 40); }, {"key_query.right()"}));
  wrong.key_query = M(low_rank.entries(), low_rank.left() * std::numeric_limits<double>::infinity(), low_rank.right());
  CHECK(refuses<std::domain_error>([&] { generalization_error(wrong, given.task, 40); }, {"key_query.left()"}));
}
