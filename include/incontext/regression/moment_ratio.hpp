#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/regression/optimal_temperature.hpp"

namespace incontext::regression {

/// The moment ratio estimated from raw scores, with two standard errors, which should agree.
///
/// Units     ratio and its errors the scores', second_moment their square.
template <Real T>
struct MomentRatioEstimate {
  std::int64_t queries;  ///< number of queries that see themselves and another key
  T second_moment;       ///< mean over queries of the mean of z_j^2 over the other keys a query sees
  T first_moment;        ///< mean self-score
  T ratio;
  T standard_error;        ///< jackknife over queries
  T delta_standard_error;  ///< delta method over queries: the same to first order
};

/// Says that a square matrix of scores holds each query's score on itself on its diagonal.
struct SelfOnDiagonal {};

/// Says that one column of the scores, the same for every query, holds the score of the query on itself.
///
/// Domain    0 <= column < number of keys.
struct SelfInColumn {
  std::int64_t column;
};

/// The moment-ratio heuristic from a matrix of raw scores, one row per query and one column per key, with the scores of
/// the queries on themselves given separately.
///
/// \f[ r = \frac{\mathrm{mean}_i\, \mathrm{mean}_{j \in V_i}\, z_{ij}^2}{\mathrm{mean}_i\, z_{ii}},\qquad
///     \mathrm{se}^2 = \frac{n-1}{n}\sum_i (r_{-i} - \bar r_{-\cdot})^2 \f]
///
/// The score -inf masks a key, and V_i are the other keys that query i sees. Each query that sees itself and another
/// key counts once; the others are left out. Where the mask does not depend on the scores, as under a causal mask, the
/// two means estimate the law's E[z_j^2] and E[z_q].
/// The jackknife treats queries as independent. Queries that share their keys are not quite independent, and then the
/// standard error is too small.
///
/// Source    arXiv 2511.01292 eq. (20), Appendix J; jackknife: docs/theory/regression.md#moment-ratio-from-scores.
/// Shapes    (scores: queries x keys, self_scores: queries) -> estimate
/// Domain    at least 2 queries that see themselves and another key; finite scores or -inf; mean self-score more than
///           two of its standard errors above 0.
/// Limits    the same score everywhere: ratio that score, both errors 0.
/// Errors    std::invalid_argument for shapes and too few queries; std::domain_error for scores that are NaN or +inf,
///           for squares that overflow, and for a mean self-score that is negative or not clear of 0, where a ratio has
///           neither mean nor error.
/// Accuracy  the errors cover the ratio of the law, masked or not, and a halved error does not
///           (tests/regression/moment_ratio_from_scores.cpp).
template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, const Vector<T>& self_scores);

/// The moment ratio from a square matrix of scores whose diagonal holds the self-scores.
///
/// Source    as above.
/// Shapes    (scores: queries x queries) -> estimate
/// Domain    at least 2 queries; else as above.
/// Errors    std::invalid_argument if the matrix is not square; else as above.
template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, SelfOnDiagonal);

/// The moment ratio from a matrix of scores one column of which holds the self-scores.
///
/// Source    as above.
/// Shapes    (scores: queries x keys, the self column among them) -> estimate
/// Domain    at least 2 queries and 2 keys; else as above.
/// Errors    std::invalid_argument for a column that is not there; else as above.
template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, SelfInColumn self);

/// The moment ratio from one pair per query: the mean of its squared scores on the other keys it sees, and its score on
/// itself. For scores that do not fit into memory.
///
/// Source    as above.
/// Shapes    (mean_squares: queries, self_scores: queries) -> estimate
/// Domain    at least 2 queries; else as above.
/// Errors    std::invalid_argument for different sizes; else as above.
template <Real T>
MomentRatioEstimate<T> moment_ratio_of_queries(const std::vector<T>& mean_squares, const std::vector<T>& self_scores);

// The moment ratio of given scores: checks of the scores, the two means, and the jackknife.
namespace detail {

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

}  // namespace detail

template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, const Vector<T>& self_scores) {
  detail::require_score_matrix(scores, 1);
  require_shape("moment_ratio_from_scores", "self_scores", self_scores, scores.rows(), 1);
  detail::require_scores<T>("self_scores", self_scores);
  return detail::ratio_of_visible(
      scores, [&](Eigen::Index query) { return self_scores(query); }, [](Eigen::Index) { return Eigen::Index{-1}; });
}

template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, SelfOnDiagonal) {
  detail::require_score_matrix(scores, 2);
  require_shape("moment_ratio_from_scores", "scores", scores, scores.rows(), scores.rows());
  return detail::ratio_of_visible(
      scores, [&](Eigen::Index query) { return scores(query, query); }, [](Eigen::Index query) { return query; });
}

template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, SelfInColumn self) {
  detail::require_score_matrix(scores, 2);
  if (!(self.column >= 0 && self.column < scores.cols())) {
    throw_invalid_argument("moment_ratio_from_scores", "self.column is not a column of the scores", self.column,
                           "0 to " + std::to_string(scores.cols() - 1));
  }
  return detail::ratio_of_visible(
      scores, [&](Eigen::Index query) { return scores(query, self.column); },
      [&](Eigen::Index) { return static_cast<Eigen::Index>(self.column); });
}

template <Real T>
MomentRatioEstimate<T> moment_ratio_of_queries(const std::vector<T>& mean_squares, const std::vector<T>& self_scores) {
  require_same_size("moment_ratio_from_scores", "self_scores", self_scores.size(), mean_squares.size());
  require_at_least("moment_ratio_from_scores", "the number of queries that see themselves and another key",
                   static_cast<std::int64_t>(self_scores.size()), std::int64_t{2});
  const auto size = static_cast<Eigen::Index>(self_scores.size());
  return detail::ratio_of_means<T>(Eigen::Map<const Vector<T>>(mean_squares.data(), size),
                                   Eigen::Map<const Vector<T>>(self_scores.data(), size));
}

/// Two moments of raw attention scores and their ratio, the heuristic temperature.
///
/// Units     first_moment and ratio the scores', second_moment their square.
template <Real T>
struct MomentRatio {
  T second_moment;
  T first_moment;
  T ratio;
};

/// The moment-ratio heuristic for the temperature, from the law of the inputs.
///
/// \f[ r = \frac{E[z_j^2]}{E[z_q]} = \frac{\mathrm{tr}(M^T\Sigma M\Sigma)}{\mathrm{tr}(M\Sigma)},\quad
///     z_j = x_j^T M x_q,\ z_q = x_q^T M x_q \f]
///
/// Source    arXiv 2511.01292 eqs. (20)-(22), (130)-(138); inputs taken about their mean.
/// Shapes    (attention: d, task: d) -> three scalars
/// Domain    tr(M Sigma) > 0.
/// Limits    the isotropic family: r = m a.
/// Errors    std::domain_error if the mean self-score tr(M Sigma) is not positive: the heuristic has no meaning there.
///           std::invalid_argument for shapes.
/// Accuracy  8 eps for d <= 8 (tests/regression/pretrained_attention_50digits.cpp); the moments are those of drawn
///           scores (tests/regression/moment_ratio.cpp).
template <Real T>
MomentRatio<T> moment_ratio(const Attention<T>& attention, const LinearTask<T>& task) {
  validate(attention, task.dimension(), "moment_ratio");
  const Matrix<T> ms = product<T>(attention.key_query, task.input_covariance());
  const T first = ms.trace();
  if (!(first > T(0.0)))
    throw_domain_error("moment_ratio", "the mean self-score is not positive", first, "more than 0");
  const T second = trace_of_product<T>(product<T>(attention.key_query.transpose(), task.input_covariance()), ms);
  return {.second_moment = second, .first_moment = first, .ratio = second / first};
}

/// The moment ratio with the finite-context correction of the isotropic family.
///
/// \f[ \tau \approx r \left(1 + \frac{d}{l}\right) + \frac{\sigma^2 m v}{b l} \f]
///
/// Source    arXiv 2511.01292 eq. (22).
/// Shapes    scalars; task.input_variance does not enter: r carries it
/// Units     those of the scores.
/// Domain    l >= 2, dimension >= 1, b > 0, noise_variance >= 0.
/// Limits    equals optimal_temperature_isotropic for r = m a and v = 1. l -> infinity: r.
/// Errors    std::invalid_argument for counts, std::domain_error for variances.
/// Accuracy  6 eps (tests/regression/moment_ratio.cpp).
template <Real T>
T corrected_moment_ratio(const T& ratio, const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                         std::int64_t context_length) {
  require_context_length("corrected_moment_ratio", context_length);
  detail::require_isotropic("corrected_moment_ratio", task);
  const T l = math::from_count<T>(context_length);
  return ratio * (T(1.0) + math::from_count<T>(task.dimension) / l) +
         task.noise_variance * attention.key_query_scale * attention.label_value / (task.task_variance * l);
}

INCONTEXT_COMPILED(regression_moment_ratio, moment_ratio_of_queries<double>);
INCONTEXT_COMPILED(regression_moment_ratio, moment_ratio<double>);
INCONTEXT_COMPILED(regression_moment_ratio, corrected_moment_ratio<double>);
INCONTEXT_COMPILED_DECLARATION(regression_moment_ratio,
                               MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&,
                                                                                    const Vector<double>&));
INCONTEXT_COMPILED_DECLARATION(regression_moment_ratio,
                               MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&,
                                                                                    SelfOnDiagonal));
INCONTEXT_COMPILED_DECLARATION(regression_moment_ratio,
                               MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&,
                                                                                    SelfInColumn));

}  // namespace incontext::regression
