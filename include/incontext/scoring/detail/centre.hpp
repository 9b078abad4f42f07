#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/elementary.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// The mean of the visible scores as a score plus an offset, so that deviations of a row far from zero keep their
/// digits.
template <Real T>
struct Centre {
  std::ptrdiff_t count = 0;
  T score = T(0);
  T offset = T(0);

  INCONTEXT_HD bool valid() const { return count > 0 && is_finite(offset); }
  INCONTEXT_HD T deviation(const T& z) const { return (z - score) - offset; }
};

template <Real T>
INCONTEXT_HD Centre<T> centre_of(Grid<const T> scores) {
  Centre<T> centre;
  Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < scores.columns; ++j) {
      const T z = scores(i, j);
      if (!is_visible(z)) continue;
      if (!is_finite(z)) return Centre<T>{};
      if (centre.count == 0) centre.score = z;
      ++centre.count;
      sum.add(z - centre.score);
    }
  }
  if (centre.count > 0) centre.offset = sum.value() / from_count<T>(centre.count);
  return centre;
}

/// A row as a matrix of one row.
template <class T>
INCONTEXT_HD Grid<T> as_grid(Row<T> row) {
  return Grid<T>(row.data, 1, row.size, 0, row.stride);
}

}  // namespace incontext::scoring::detail
