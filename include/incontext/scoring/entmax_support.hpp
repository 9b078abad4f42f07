#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// Which scores of a row entmax gives weight to: those above threshold / (alpha - 1).
///
/// Source    arXiv 1905.05702.
/// Units     threshold in units of (alpha - 1) times a score.
/// Runs on   host and device
template <Real T>
struct EntmaxSupport {
  T threshold;
  std::ptrdiff_t size;
};

/// Threshold and support of alpha-entmax on one row.
///
/// \f[ t: \; \sum_i \max\bigl((\alpha - 1) z_i - t, 0\bigr)^{1/(\alpha - 1)} = 1 \f]
///
/// Source    arXiv 1905.05702.
/// Shapes    (scores: n) -> scalars; masked scores are -infinity and left out.
/// Domain    as the map's.
/// Limits    n = 1: threshold (alpha - 1) z - 1, size 1.
/// Errors    NaN and 0 for what `weights` answers with a NaN row.
/// Accuracy  8 eps (1 + |(alpha - 1) max z|) absolute: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <EntmaxLike Map>
INCONTEXT_HD EntmaxSupport<typename Map::value_type> entmax_support(const Map& map,
                                                                    Row<const typename Map::value_type> scores) {
  using T = typename Map::value_type;
  const auto pass = detail::read(map, scores);
  if (!pass.valid()) return {math::not_a_number<T>(), 0};
  EntmaxSupport<T> support{T(pass.slope * pass.anchor - pass.reach), 0};
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (detail::is_visible(scores[i]) && T(0) < pass.weight(scores[i])) ++support.size;
  }
  return support;
}

}  // namespace incontext::scoring
