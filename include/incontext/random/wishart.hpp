#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"

namespace incontext::random {

/// The law of a standard Wishart matrix, W_d(n, I).
///
/// Domain    dimension >= 1, degrees_of_freedom >= 1.
/// Runs on   host and device
struct WishartLaw {
  int dimension = 1;
  std::int64_t degrees_of_freedom = 1;
};

/// The two streams that Bartlett's factor reads.
///
/// Runs on   host and device
struct WishartStreams {
  StreamTag below_diagonal;
  StreamTag diagonal;
};

/// Bartlett's factor B of a standard Wishart matrix for each of W trials: \f$ B B^T \sim W_d(n, I) \f$.
///
/// \f[ B_{ii} = \sqrt{\chi^2_{n-i}},\quad B_{ij} \sim N(0,1)\ (i > j),\quad j < \min(d, n) \f]
///
/// With n < d the factor is d x n, and B B^T is singular, as a Wishart matrix is then.
///
/// Source    Bartlett 1933; Odell and Feiveson 1966; derivation: docs/theory/statistics.md#wishart.
/// Shapes    factor: entry (i, j) of lane at factor[(i d + j) stride + lane], j <= i; the entries above the diagonal
///           are not written.
/// Domain    as WishartLaw (not checked here).
/// Accuracy  first two moments of B B^T (Lemma G.1 of arXiv 2511.01292) in tests/random/wishart.cpp.
/// Random    normals below the diagonal, row by row; chi-squares of the diagonal, 2^16 blocks per entry.
/// Runs on   host and device
template <int W, class T>
INCONTEXT_HD void bartlett_factor(Trials<W> trials, const WishartStreams& streams, const WishartLaw& law, T* factor,
                                  std::int64_t stride) {
  using std::sqrt;
  const int dimension = law.dimension;
  const std::int64_t degrees_of_freedom = law.degrees_of_freedom;
  constexpr int per_block = normals_per_block<T>;
  const LaneStream<W> below(trials, streams.below_diagonal);
  const LaneStream<W> diagonal(trials, streams.diagonal);
  const int columns = degrees_of_freedom < dimension ? static_cast<int>(degrees_of_freedom) : dimension;
  Lanes<T, W> normal[per_block];
  Lanes<double, W> square;
  std::int64_t used = 0;
  for (int i = 0; i < dimension; ++i) {
    for (int j = 0; j < (i < columns ? i : columns); ++j, ++used) {
      if (used % per_block == 0) normals(below, static_cast<std::uint32_t>(used / per_block), normal);
      T* entry = factor + (std::int64_t{i} * dimension + j) * stride;
      for (int lane = 0; lane < W; ++lane) entry[lane] = normal[used % per_block][lane];
    }
    if (i >= columns) continue;
    chi_square(diagonal, static_cast<std::uint32_t>(i) << 16, degrees_of_freedom - i, square);
    T* entry = factor + (std::int64_t{i} * dimension + i) * stride;
    for (int lane = 0; lane < W; ++lane) entry[lane] = static_cast<T>(sqrt(square[lane]));
  }
}

}  // namespace incontext::random
