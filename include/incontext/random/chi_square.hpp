#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/uniform.hpp"

namespace incontext::random {

/// A chi-square variate for each of W trials.
///
/// \f[ 2 D v \sim \chi^2_k,\quad D = k/2 - 1/3,\quad v = (1 + z/\sqrt{9D})^3,\quad z \sim N(0, 1),
///     \quad v \text{ accepted if } \log u < z^2/2 + D (1 - v + \log v) \f]
///
/// Marsaglia and Tsang's rejection sampler: v is proposed from a normal z and accepted or not by a uniform u. Every
/// lane takes its own first accepted attempt. Attempt r reads the blocks first_block + 2r and first_block + 2r + 1, so
/// a lane's value depends on its trial alone, not on its neighbors. With one degree of freedom it is a squared normal.
///
/// Source    Marsaglia and Tsang 2000; derivation: docs/theory/statistics.md#chi-square.
/// Shapes    out: W numbers, Lanes<double, W> or a plain array.
/// Domain    degrees_of_freedom >= 1 (not checked here; below, NaN).
/// Limits    95 in 100 attempts are accepted at 2 degrees of freedom, 98 at 4, 99.9 at 99; degrees of freedom to 1e9.
/// Accuracy  moments and Kolmogorov-Smirnov distance in tests/random/chi_square.cpp.
/// Random    two counters per lane and attempt; bits depend on neither libm, compiler, nor instruction set.
/// Runs on   host and device
template <int W, class Row>
INCONTEXT_HD void chi_square(const LaneStream<W>& stream, std::uint32_t first_block, std::int64_t degrees_of_freedom,
                             Row& out) {
  using std::sqrt;
  const double shift = 0.5 * static_cast<double>(degrees_of_freedom) - 1.0 / 3.0;
  const double scale = 1.0 / sqrt(9.0 * shift);
  Lanes<double, W> normal[2];
  Lanes<std::uint32_t, W> words[4];
  bool accepted[W];
  for (int lane = 0; lane < W; ++lane) accepted[lane] = false;
  if (degrees_of_freedom == 1) {
    normals(stream, first_block, normal);
    for (int lane = 0; lane < W; ++lane) out[lane] = normal[0][lane] * normal[0][lane];
    return;
  }
  if (!(degrees_of_freedom > 1)) {  // no attempt would ever be accepted
    for (int lane = 0; lane < W; ++lane) out[lane] = __builtin_nan("");
    return;
  }
  for (std::uint32_t attempt = 0;; ++attempt) {
    normals(stream, first_block + 2 * attempt, normal);
    stream.words(first_block + 2 * attempt + 1, words);
    int left = 0;
    for (int lane = 0; lane < W; ++lane) {
      const double z = normal[0][lane];
      const double root = 1.0 + scale * z;
      const double v = root * root * root;
      const double log_v = elementary::log(root > 0.0 ? v : 1.0);
      const double log_u = elementary::log(uniform_open(words[0][lane], words[1][lane]));
      const bool accept = root > 0.0 && log_u < 0.5 * z * z + shift * (1.0 - v + log_v);
      if (accept && !accepted[lane]) out[lane] = 2.0 * shift * v;
      accepted[lane] = accepted[lane] || accept;
      left += accepted[lane] ? 0 : 1;
    }
    if (left == 0) return;
  }
}

}  // namespace incontext::random
