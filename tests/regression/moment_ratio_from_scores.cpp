
#include <cmath>
#include <limits>
#include <random>

#include "incontext/regression/moment_ratio.hpp"
#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("the estimate of three queries has the numbers computed by hand") {
  Matrix<double> scores(3, 2);
  scores << 1, 3, 2, 0, 1, 1;
  Vector<double> selves(3);
  selves << 2, 3, 4;
  const auto estimate = moment_ratio_from_scores(scores, selves);
  CHECK(estimate.queries == 3);
  CHECK(std::abs(estimate.second_moment - 8.0 / 3.0) <= 1e-15);
  CHECK(estimate.first_moment == 3.0);
  CHECK(std::abs(estimate.ratio - 8.0 / 9.0) <= 1e-15);
  // Leaving one out: (5+2+1 - s_i) / (9 - f_i) = 3/7, 1, 7/5.
  const double mean = (3.0 / 7.0 + 1.0 + 1.4) / 3.0;
  const double spread = std::pow(3.0 / 7.0 - mean, 2) + std::pow(1.0 - mean, 2) + std::pow(1.4 - mean, 2);
  CHECK(std::abs(estimate.standard_error - std::sqrt(2.0 / 3.0 * spread)) <= 1e-14);
}

TEST_CASE("self-scores apart, on the diagonal and in a column are the same scores") {
  RegressionCases cases(121);
  Matrix<double> scores = cases.matrix(6, 6);
  scores.diagonal().array() += 4.0;
  const auto diagonal = moment_ratio_from_scores(scores, SelfOnDiagonal{});
  Matrix<double> others(6, 5), in_column(6, 6);
  for (Eigen::Index i = 0; i < 6; ++i) {
    for (Eigen::Index j = 0, k = 0; j < 6; ++j) {
      if (j != i) others(i, k++) = scores(i, j);
    }
    in_column.row(i) << others.row(i).head(2), scores(i, i), others.row(i).tail(3);
  }
  const auto apart = moment_ratio_from_scores<double>(others, scores.diagonal());
  const auto column = moment_ratio_from_scores(in_column, SelfInColumn{2});
  for (const auto& other : {diagonal, column}) {
    CHECK(std::abs(other.ratio - apart.ratio) <= 1e-15 * apart.ratio);
    CHECK(std::abs(other.standard_error - apart.standard_error) <= 1e-14 * apart.standard_error);
    CHECK(std::abs(other.delta_standard_error - apart.delta_standard_error) <= 1e-14 * apart.standard_error);
  }
  CHECK_THROWS_AS(moment_ratio_from_scores(in_column, SelfInColumn{0}), std::domain_error);  // centered on 0 there
  // A self-score that is much larger than the others makes their squares vanish in rounding.
  scores.diagonal().array() += 1e9;
  CHECK(std::abs(moment_ratio_from_scores(scores, SelfOnDiagonal{}).second_moment - apart.second_moment) <=
        1e-15 * apart.second_moment);
}

TEST_CASE("the standard errors cover the ratio of the law") {
  RegressionCases cases(122);
  const auto task = cases.task(3).with_input_mean(Vector<double>::Zero(3));
  const Attention<double> attention{Matrix<double>::Identity(3, 3) + 0.125 * cases.matrix(3, 3),
                                    Vector<double>::Zero(3), 1.0};
  const double ratio = moment_ratio(attention, task).ratio;
  const Matrix<double> root = task.input_covariance().llt().matrixL();
  std::mt19937_64 engine(123);
  const Eigen::Index queries = 150, keys = 8;
  const int replicates = 1500;
  double jackknife = 0.0, delta = 0.0;
  SampleMean mean;
  for (int r = 0; r < replicates; ++r) {
    Matrix<double> scores(queries, keys);
    Vector<double> selves(queries);
    for (Eigen::Index i = 0; i < queries; ++i) {
      const Vector<double> query = root * standard_normals(3, engine);
      const Vector<double> read = root.transpose() * (attention.key_query * query);
      for (Eigen::Index j = 0; j < keys; ++j) scores(i, j) = read.dot(standard_normals(3, engine));
      selves(i) = query.dot(attention.key_query * query);
    }
    const auto estimate = moment_ratio_from_scores(scores, selves);
    mean.add(estimate.ratio);
    jackknife += std::pow((estimate.ratio - ratio) / estimate.standard_error, 2) / replicates;
    delta += std::pow((estimate.ratio - ratio) / estimate.delta_standard_error, 2) / replicates;
  }
  // Mean squared z: 1 up to the skewness of a ratio; sqrt(2 / 1500) = 0.04 is its own error.
  CHECK(jackknife > 0.8);
  CHECK(jackknife < 1.25);
  CHECK(delta > 0.8);
  CHECK(delta < 1.25);
  CHECK(4.0 * jackknife > 1.25);  // power: an error half as large
  CHECK(jackknife / 4.0 < 0.8);
  CHECK(std::abs(mean.mean() / ratio - 1.0) < 0.02);
}

TEST_CASE("the estimate of a small causal example by hand, without the query that sees no other key") {
  Matrix<double> scores(4, 4);
  scores << 9, -infinity, -infinity, -infinity,  // sees itself alone
      1, 2, -infinity, -infinity,                //
      3, 1, 4, -infinity,                        //
      1, 2, 2, 3;
  const auto estimate = moment_ratio_from_scores(scores, SelfOnDiagonal{});
  CHECK(estimate.queries == 3);
  CHECK(std::abs(estimate.second_moment - (1.0 + 5.0 + 3.0) / 3.0) <= 1e-15);  // (9 + 1) / 2 = 5, (1 + 4 + 4) / 3 = 3
  CHECK(estimate.first_moment == 3.0);
  CHECK(std::abs(estimate.ratio - 1.0) <= 1e-15);
  // Leaving one out: (9 - s_i) / (9 - f_i) = 8/7, 4/5, 1.
  const double mean = (8.0 / 7.0 + 0.8 + 1.0) / 3.0;
  const double spread = std::pow(8.0 / 7.0 - mean, 2) + std::pow(0.8 - mean, 2) + std::pow(1.0 - mean, 2);
  CHECK(std::abs(estimate.standard_error - std::sqrt(2.0 / 3.0 * spread)) <= 1e-14);
}

TEST_CASE("masked keys do not change the estimate, and neither do queries that do not see themselves") {
  RegressionCases cases(126);
  const Matrix<double> scores = cases.matrix(6, 5);
  const Vector<double> selves = cases.vector(6).array() + 4.0;
  const auto dense = moment_ratio_from_scores(scores, selves);
  Matrix<double> wide = Matrix<double>::Constant(8, 9, -infinity);  // queries see different columns
  Vector<double> wide_selves = Vector<double>::Constant(8, -infinity);
  for (Eigen::Index i = 0; i < 6; ++i) {
    for (Eigen::Index j = 0; j < 5; ++j) wide(i + 1, (2 * j + i) % 9) = scores(i, j);
    wide_selves(i + 1) = selves(i);
  }
  wide(0, 0) = 1e3;      // sees a key, but not itself
  wide_selves(7) = 1e3;  // sees itself alone
  const auto masked = moment_ratio_from_scores(wide, wide_selves);
  CHECK(masked.queries == 6);
  CHECK(std::abs(masked.ratio - dense.ratio) <= 1e-15 * dense.ratio);
  CHECK(std::abs(masked.standard_error - dense.standard_error) <= 1e-14 * dense.standard_error);
  CHECK(std::abs(masked.delta_standard_error - dense.delta_standard_error) <= 1e-14 * dense.standard_error);
}

TEST_CASE("under a causal mask the standard errors cover the ratio of the law") {
  RegressionCases cases(127);
  const auto task = cases.task(3).with_input_mean(Vector<double>::Zero(3));
  const Attention<double> attention{Matrix<double>::Identity(3, 3) + 0.125 * cases.matrix(3, 3),
                                    Vector<double>::Zero(3), 1.0};
  const double ratio = moment_ratio(attention, task).ratio;
  const Matrix<double> root = task.input_covariance().llt().matrixL();
  std::mt19937_64 engine(128);
  const Eigen::Index length = 15, sequences = 40;  // queries do not share keys, as the jackknife assumes
  const int replicates = 1500;
  double covered = 0.0, unmasked = 0.0;
  SampleMean mean;
  for (int r = 0; r < replicates; ++r) {
    Matrix<double> scores = Matrix<double>::Constant(sequences * length, length, -infinity);
    Vector<double> selves(sequences * length);
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
      const Vector<double> query = root * standard_normals(3, engine);
      const Vector<double> read = root.transpose() * (attention.key_query * query);
      for (Eigen::Index j = 0; j < i % length; ++j) scores(i, j) = read.dot(standard_normals(3, engine));
      selves(i) = query.dot(attention.key_query * query);
    }
    const auto estimate = moment_ratio_from_scores(scores, selves);
    REQUIRE(estimate.queries == sequences * (length - 1));
    mean.add(estimate.ratio);
    covered += std::pow((estimate.ratio - ratio) / estimate.standard_error, 2) / replicates;
    // masks counted as scores of 0
    const Matrix<double> zeros = scores.unaryExpr([](double z) { return std::isinf(z) ? 0.0 : z; });
    const auto wrong = moment_ratio_from_scores(zeros, selves);
    unmasked += std::pow((wrong.ratio - ratio) / wrong.standard_error, 2) / replicates;
  }
  CHECK(covered > 0.8);
  CHECK(covered < 1.25);
  CHECK(4.0 * covered > 1.25);  // power: an error half as large
  CHECK(covered / 4.0 < 0.8);
  CHECK(unmasked > 1.25);  // power: an estimate that ignores the mask must not be covered
  CHECK(std::abs(mean.mean() / ratio - 1.0) < 0.02);
}

TEST_CASE("too few queries that see themselves and another key, and squares that overflow, are refused") {
  const Matrix<double> alone = Matrix<double>::Constant(3, 3, -infinity) + Matrix<double>::Zero(3, 3);
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(alone, SelfOnDiagonal{}); },
                                  {"queries that see themselves and another key", "value = 0"}));
  Matrix<double> one = alone;
  one.row(2) << 1, 1, 1;
  CHECK_THROWS_AS(moment_ratio_from_scores(one, SelfOnDiagonal{}), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(one, SelfInColumn{1}); },
                                  {"queries that see themselves and another key", "value = 1"}));
  const Matrix<double> huge = Matrix<double>::Constant(3, 3, 1e200);
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(huge, SelfOnDiagonal{}); },
                                  {"mean squared score is not finite"}));
}

TEST_CASE("equal scores leave no error") {
  const auto estimate =
      moment_ratio_from_scores<double>(Matrix<double>::Constant(5, 4, 1.5), Vector<double>::Constant(5, 1.5));
  CHECK(estimate.ratio == 1.5);
  CHECK(estimate.standard_error == 0.0);
  CHECK(estimate.delta_standard_error == 0.0);
}

TEST_CASE("a mean self-score that is negative or lost in its noise is refused with its value") {
  RegressionCases cases(124);
  const Matrix<double> scores = cases.matrix(4, 3);
  Vector<double> selves(4);
  selves << -1, -2, -1, -2;
  CHECK_THROWS_AS(moment_ratio_from_scores(scores, selves), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, selves); }, {"mean self-score", "-1.5 +-"}));
  selves << 1, -1, 1, -1;
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, selves); }, {"mean self-score", "0 +-"}));
  selves << 5, 1, -1, 0;
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, selves); }, {"mean self-score", "1.25 +-"}));
  selves << 5, 4, 3, 6;
  CHECK_NOTHROW(moment_ratio_from_scores(scores, selves));
}

TEST_CASE("a mean self-score is taken from two of its standard errors on, and not before") {
  const Matrix<double> scores = Matrix<double>::Ones(2, 3);
  // of two self-scores 1 +- e the mean is 1 +- e
  const auto selves = [](double e) { return Vector<double>{{1 + e, 1 - e}}; };
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, selves(0.75)); },
                                  {"mean self-score", "1 +- 0.75"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, selves(0.5)); },
                                  {"mean self-score", "1 +- 0.5"}));
  CHECK_NOTHROW(moment_ratio_from_scores(scores, selves(0.4990234375)));
}

TEST_CASE("scores of the wrong shape, not finite or without the column are refused") {
  RegressionCases cases(125);
  const Matrix<double> scores = cases.matrix(4, 3).array() + 3.0;
  const Vector<double> selves = Vector<double>::Constant(4, 2.0);
  CHECK_THROWS_AS(moment_ratio_from_scores<double>(scores.topRows(1), selves.head(1)), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores<double>(scores.topRows(1), selves.head(1)); },
                                  {"number of queries", "value = 1"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores<double>(scores.leftCols(0), selves); },
                                  {"number of keys", "value = 0"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores<double>(scores, selves.head(3)); },
                                  {"self_scores", "3 x 1"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, SelfOnDiagonal{}); },
                                  {"scores", "4 x 3", "4 x 4"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, SelfInColumn{3}); },
                                  {"self.column", "value = 3", "0 to 2"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, SelfInColumn{-1}); },
                                  {"self.column", "value = -1"}));
  CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores<double>(scores.leftCols(1), SelfInColumn{0}); },
                                  {"number of keys", "value = 1"}));
  for (const double none : {infinity, std::nan("")}) {
    Matrix<double> broken = scores;
    broken(1, 2) = none;
    CHECK_THROWS_AS(moment_ratio_from_scores(broken, selves), std::domain_error);
    CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(broken, SelfInColumn{0}); }, {"scores(1, 2)"}));
    Vector<double> broken_selves = selves;
    broken_selves(3) = none;
    CHECK(refuses<std::logic_error>([&] { moment_ratio_from_scores(scores, broken_selves); }, {"self_scores(3, 0)"}));
  }
}
