#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"

namespace incontext::regression {

template <Real T>
struct MomentRatioEstimate;

template <Real T>
MomentRatioEstimate<T> moment_ratio_of_queries(const std::vector<T>& mean_squares, const std::vector<T>& self_scores);

}  // namespace incontext::regression

/// The moment ratio of given scores: checks of the scores, the two means, and the jackknife.
namespace incontext::regression::detail {

/// The ratio of means of each query's mean squared score s_i and self-score f_i, with its jackknife and delta-method
/// standard errors.
template <Real T>
MomentRatioEstimate<T> ratio_of_means(const Vector<T>& squares, const Vector<T>& selves) {
  using std::sqrt;
  const std::int64_t count = selves.size();
  const T n = math::from_count<T>(count);
  const T second = squares.mean();
  if (!(second - second <= T(0.0))) {
    throw_domain_error("moment_ratio_from_scores", "the mean squared score is not finite", second,
                       "scores whose squares do not overflow");
  }
  const T first = selves.mean();
  const T first_error = sqrt((selves.array() - first).matrix().squaredNorm() / (n * (n - T(1.0))));
  if (!(first > T(2.0) * first_error)) {
    std::ostringstream spread;
    spread << first << " +- " << first_error;
    throw_domain_error("moment_ratio_from_scores", "the mean self-score is negative or lost in its noise", spread.str(),
                       "a mean more than two standard errors above 0");
  }
  const T ratio = second / first;
  // Leaving query i out moves the ratio by -(s_i - r f_i) / (n first - f_i): exact, and without the cancellation of
  // subtracting two ratios. The guard above keeps every denominator positive.
  const Vector<T> influence = squares - ratio * selves;
  Vector<T> moved(count);
  for (Eigen::Index i = 0; i < count; ++i) moved(i) = -influence(i) / (n * first - selves(i));
  const T center = moved.mean();
  return {.queries = count,
          .second_moment = second,
          .first_moment = first,
          .ratio = ratio,
          .standard_error = sqrt((n - T(1.0)) / n * (moved.array() - center).matrix().squaredNorm()),
          .delta_standard_error = sqrt(influence.squaredNorm() / (n * (n - T(1.0)))) / first};
}

template <Real T>
bool is_masked(const T& score) {
  return score == -std::numeric_limits<T>::infinity();
}

/// Accepts finite scores and -infinity, the score of a masked key.
template <Real T, class Derived>
void require_scores(std::string_view parameter, const Eigen::MatrixBase<Derived>& scores) {
  for (Eigen::Index column = 0; column < scores.cols(); ++column) {
    for (Eigen::Index row = 0; row < scores.rows(); ++row) {
      const T score = scores(row, column);
      if (is_masked(score) || score - score <= T(0.0)) continue;  // infinity - infinity and NaN are NaN
      throw_domain_error("moment_ratio_from_scores", entry(parameter, row, column) + " is not a score", score,
                         "a finite number, or -inf for a masked key");
    }
  }
}

template <Real T>
void require_score_matrix(const Matrix<T>& scores, std::int64_t least_keys) {
  require_at_least("moment_ratio_from_scores", "the number of queries", std::int64_t{scores.rows()}, std::int64_t{2});
  require_at_least("moment_ratio_from_scores", "the number of keys", std::int64_t{scores.cols()}, least_keys);
  require_scores<T>("scores", scores);
}

/// The estimate from self_score(i), the score of query i on itself, and self_column(i), the column to leave out for it.
template <Real T, class SelfScore, class SelfColumn>
MomentRatioEstimate<T> ratio_of_visible(const Matrix<T>& scores, SelfScore self_score, SelfColumn self_column) {
  std::vector<T> squares, selves;
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    const T self = self_score(i);
    T sum = T(0.0);
    std::int64_t visible = 0;
    for (Eigen::Index j = 0; j < scores.cols(); ++j) {
      if (j == self_column(i) || is_masked(T(scores(i, j)))) continue;
      sum += scores(i, j) * scores(i, j);
      ++visible;
    }
    if (visible == 0 || is_masked(self)) continue;
    squares.push_back(sum / math::from_count<T>(visible));
    selves.push_back(self);
  }
  return moment_ratio_of_queries<T>(squares, selves);
}

}  // namespace incontext::regression::detail
