#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// The mean of the visible scores as a score plus an offset, so that differences from it keep their digits even if the
/// row is far from zero.
template <Real T>
struct Center {
  std::ptrdiff_t count = 0;
  T value = T(0);
  T offset = T(0);

  INCONTEXT_HD bool valid() const { return count > 0 && math::is_finite(value); }
  INCONTEXT_HD T deviation(const T& z) const { return (z - value) - offset; }
};

/// Mean of `values` over the visible scores, in two passes: first about one of them, then about the rounded mean.
template <Real T>
INCONTEXT_HD Center<T> center_of(MatrixView<const T> scores, MatrixView<const T> values) {
  Center<T> center;
  for (int round = 0; round < 2; ++round) {
    Sum<T> sum;
    std::ptrdiff_t count = 0;
    for (std::ptrdiff_t i = 0; i < scores.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < scores.columns; ++j) {
        if (!is_visible(scores(i, j))) continue;
        if (!math::is_finite(scores(i, j))) return Center<T>{};
        if (round == 0 && count == 0) center.value = values(i, j);
        ++count;
        sum.add(values(i, j) - center.value);
      }
    }
    if (count == 0) return Center<T>{};
    center.count = count;
    center.offset = sum.value() / math::from_count<T>(count);
    if (round == 0) center.value = center.value + center.offset;
  }
  return center;
}

template <Real T>
INCONTEXT_HD Center<T> center_of(MatrixView<const T> scores) {
  return center_of(scores, scores);
}

/// A row as a matrix of one row.
template <class T>
INCONTEXT_HD MatrixView<T> as_grid(Row<T> row) {
  return MatrixView<T>(row.data, 1, row.size, Strides{0, row.stride});
}

}  // namespace incontext::scoring::detail
