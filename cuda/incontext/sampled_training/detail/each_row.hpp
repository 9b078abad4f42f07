#pragma once

#include <cstddef>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::training::detail {

/// Calls act(scores, other, out) with the rows of every trial. Maps are fast on rows that are contiguous, so on a CPU
/// each row is copied into `rows` and back; out and `other` may be the same.
///
/// Shapes    scores, other, out, rows: `keys` rows of lanes each
/// Runs on   host and device
template <class T, int W, class Act>
INCONTEXT_HD void each_row(std::int64_t keys, simulate::LaneArray<T, W> scores, simulate::LaneArray<T, W> other,
                           simulate::LaneArray<T, W> out, simulate::LaneArray<T, W> rows, const Act& act) {
  const auto n = static_cast<std::ptrdiff_t>(keys);
  if constexpr (W == 1) {
    using scoring::Row;
    act(Row<const T>(scores.base, n, scores.stride), Row<const T>(other.base, n, other.stride),
        Row<T>(out.base, n, out.stride));
  } else {
    static_assert(W >= 2);
    T* const in = rows.base;
    T* const up = in + n;  // W >= 2 rows of n numbers fit
    for (int lane = 0; lane < W; ++lane) {
      for (std::ptrdiff_t j = 0; j < n; ++j) in[j] = scores[j][lane];
      for (std::ptrdiff_t j = 0; j < n; ++j) up[j] = other[j][lane];
      act(scoring::Row<const T>(in, n), scoring::Row<const T>(up, n), scoring::Row<T>(up, n));
      for (std::ptrdiff_t j = 0; j < n; ++j) out[j][lane] = up[j];
    }
  }
}

}  // namespace incontext::training::detail
