#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/calibration/phase.hpp"
#include "incontext/laws/critical_length.hpp"
#include "incontext/laws/gaussian_needle.hpp"

namespace incontext::calibration {

/// Where a head of normal scores freezes, and how long its rows may become before they lose a needle.
///
/// Units     score_stddev and gap of the scores times the inverse temperature, lengths in scores; a length may be
///           infinite.
struct HeadLimits {
  double score_stddev;
  std::int64_t trained_length;
  double freezing_ratio;         ///< at the trained length: frozen above 1
  double longest_frozen_length;  ///< longer rows share their weight
  double gap;
  double needle_weight;          ///< at the trained length
  double critical_length;        ///< the longest row in which the needle has half of the weight
  double distinguishing_length;  ///< the longest row, of whole length, in which it is highest more often than not
};

/// The lengths at which a head of this score standard deviation freezes, fades, and stops distinguishing a needle.
///
/// Source    freezing_ratio, longest_frozen_length, distinguishing_length, laws::needle_weight and
///           laws::softmax_critical_length.
/// Domain    score_stddev > 0, trained_length >= 2, gap finite.
/// Errors    as those functions.
/// Accuracy  as those functions: tests/calibration/head_detail.cpp.
inline HeadLimits head_limits(double score_stddev, double gap, std::int64_t trained_length) {
  const auto n = static_cast<double>(trained_length);
  return {.score_stddev = score_stddev,
          .trained_length = trained_length,
          .freezing_ratio = freezing_ratio<double>(n, score_stddev),
          .longest_frozen_length = longest_frozen_length(score_stddev),
          .gap = gap,
          .needle_weight = laws::needle_weight<double>(n - 1, score_stddev, gap).value,
          .critical_length = laws::softmax_critical_length(score_stddev, gap).length,
          .distinguishing_length = std::floor(distinguishing_length(gap / score_stddev))};
}

}  // namespace incontext::calibration
