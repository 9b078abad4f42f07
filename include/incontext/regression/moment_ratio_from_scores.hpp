#pragma once

#include <cstdint>
#include <string>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/detail/ratio_of_means.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"

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
/// Units     as MomentRatioEstimate.
/// Domain    at least 2 queries that see themselves and another key; finite scores or -inf; mean self-score more than
///           two of its standard errors above 0.
/// Limits    the same score everywhere: ratio that score, both errors 0.
/// Errors    std::invalid_argument for shapes and too few queries; std::domain_error for scores that are NaN or +inf,
///           for squares that overflow, and for a mean self-score that is negative or not clear of 0, where a ratio has
///           neither mean nor error.
/// Accuracy  the errors cover the ratio of the law, masked or not, and a halved error does not
///           (tests/regression/moment_ratio_from_scores.cpp).
template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, const Vector<T>& self_scores) {
  detail::require_score_matrix(scores, 1);
  require_shape("moment_ratio_from_scores", "self_scores", self_scores, scores.rows(), 1);
  detail::require_scores<T>("self_scores", self_scores);
  return detail::ratio_of_visible(
      scores, [&](Eigen::Index query) { return self_scores(query); }, [](Eigen::Index) { return Eigen::Index{-1}; });
}

/// The moment ratio from a square matrix of scores whose diagonal holds the self-scores.
///
/// Source    as above.
/// Shapes    (scores: queries x queries) -> estimate
/// Domain    at least 2 queries; else as above.
/// Errors    std::invalid_argument if the matrix is not square; else as above.
template <Real T>
MomentRatioEstimate<T> moment_ratio_from_scores(const Matrix<T>& scores, SelfOnDiagonal) {
  detail::require_score_matrix(scores, 2);
  require_shape("moment_ratio_from_scores", "scores", scores, scores.rows(), scores.rows());
  return detail::ratio_of_visible(
      scores, [&](Eigen::Index query) { return scores(query, query); }, [](Eigen::Index query) { return query; });
}

/// The moment ratio from a matrix of scores one column of which holds the self-scores.
///
/// Source    as above.
/// Shapes    (scores: queries x keys, the self column among them) -> estimate
/// Domain    at least 2 queries and 2 keys; else as above.
/// Errors    std::invalid_argument for a column that is not there; else as above.
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

/// The moment ratio from one pair per query: the mean of its squared scores on the other keys it sees, and its score on
/// itself. For scores that do not fit into memory.
///
/// Source    as above.
/// Shapes    (mean_squares: queries, self_scores: queries) -> estimate
/// Domain    at least 2 queries; else as above.
/// Errors    std::invalid_argument for different sizes; else as above.
template <Real T>
MomentRatioEstimate<T> moment_ratio_of_queries(const std::vector<T>& mean_squares, const std::vector<T>& self_scores) {
  require_same_size("moment_ratio_from_scores", "self_scores", self_scores.size(), mean_squares.size());
  require_at_least("moment_ratio_from_scores", "the number of queries that see themselves and another key",
                   static_cast<std::int64_t>(self_scores.size()), std::int64_t{2});
  const auto size = static_cast<Eigen::Index>(self_scores.size());
  return detail::ratio_of_means<T>(Eigen::Map<const Vector<T>>(mean_squares.data(), size),
                                   Eigen::Map<const Vector<T>>(self_scores.data(), size));
}

}  // namespace incontext::regression
