#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// A masked score is -infinity. NaN counts as visible, so that it is not lost.
template <Real T>
INCONTEXT_HD bool is_visible(const T& score) {
  return !(score <= -math::infinity<T>());
}

/// Number of visible scores; 0 if the row has none, or if one of them is NaN or +infinity.
template <Real T>
INCONTEXT_HD std::ptrdiff_t count_visible(Row<const T> scores) {
  std::ptrdiff_t count = 0;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!is_visible(scores[i])) continue;
    if (!math::is_finite(scores[i])) return 0;
    ++count;
  }
  return count;
}

template <Real T>
INCONTEXT_HD void fill(Row<T> out, const T& value) {
  for (std::ptrdiff_t i = 0; i < out.size; ++i) out[i] = value;
}

template <Real T>
INCONTEXT_HD void fill(MatrixView<T> out, const T& value) {
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) fill(out.row(i), value);
}

}  // namespace incontext::scoring::detail
