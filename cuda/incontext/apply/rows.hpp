#pragma once

#include "incontext/apply/detail/apply_to_rows.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::apply {

/// Weights of every row of a matrix of scores, each row by itself; a key that a row does not see has weight 0.
///
/// \f[ a_{i \cdot} = \mathrm{map}(z_{i1}, \ldots, z_{i n_i}), \qquad a_{ij} = 0 \;\text{for}\; j > n_i \f]
///
/// Source    scoring::weights, row by row; n_i is what SSMax takes as n.
/// Shapes    (scores: q x n, out: q x n), any strides; out may be scores, or share no element with it.
/// Units     dimensionless.
/// Domain    the map's; q, n >= 1.
/// Limits    n = 1: the map of one score.
/// Errors    std::invalid_argument for shapes and options, std::domain_error for the map's parameters and, unless rows
///           may be left NaN, for the first row on which the map is undefined; out is written all the same.
/// Accuracy  the map's: tests/apply/rows.cpp finds the same bits as scoring::weights.
/// Runs on   serial, OpenMP, TBB, CUDA (from and to host memory; sixteen threads per row for Softmax, SSMax and SSA,
///           one for others)
template <scoring::Scoring Map>
void weights(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
             scoring::MatrixView<typename Map::value_type> out, const Options& options = {}) {
  detail::apply_to_rows<detail::Weights>("apply::weights", map, scores, scores, out, options);
}

/// Jacobian times a direction, row by row.
///
/// Source    scoring::jvp.
/// Shapes    (scores: q x n, direction: q x n, out: q x n), out may be one of them, or share no element with them.
/// Units     those of the direction over those of the scores.
/// Domain    as weights.
/// Errors    as weights.
/// Accuracy  the map's: tests/apply/rows.cpp finds the same bits as scoring::jvp.
/// Runs on   serial, OpenMP, TBB, CUDA
template <scoring::Scoring Map>
void jvp(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
         scoring::MatrixView<const typename Map::value_type> direction,
         scoring::MatrixView<typename Map::value_type> out, const Options& options = {}) {
  detail::apply_to_rows<detail::Jvp>("apply::jvp", map, scores, direction, out, options);
}

/// Transposed Jacobian times a cotangent, row by row.
///
/// Source    scoring::vjp.
/// Shapes    (scores: q x n, cotangent: q x n, out: q x n), out may be one of them, or share no element with them.
/// Units     those of the cotangent over those of the scores.
/// Domain    as weights.
/// Errors    as weights.
/// Accuracy  the map's: tests/apply/rows.cpp finds the same bits as scoring::vjp.
/// Runs on   serial, OpenMP, TBB, CUDA
template <scoring::Scoring Map>
void vjp(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
         scoring::MatrixView<const typename Map::value_type> cotangent,
         scoring::MatrixView<typename Map::value_type> out, const Options& options = {}) {
  detail::apply_to_rows<detail::Vjp>("apply::vjp", map, scores, cotangent, out, options);
}

}  // namespace incontext::apply
