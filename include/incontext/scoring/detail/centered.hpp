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

/// r_i - sum_j w_j r_j for weights of sum 1, with an error relative to |r_i - r_j| rather than |r|: an offset common to
/// all r costs no digits. At the entry of the largest weight, where 1 - w would cancel, the differences are summed
/// directly.
template <Real T, class Rate>
struct Centered {
  Rate rate;
  T mean = T(0);
  T correction = T(0);
  std::ptrdiff_t top = 0;
  T at_top = T(0);

  INCONTEXT_HD T operator()(std::ptrdiff_t i) const { return i == top ? at_top : T((rate(i) - mean) - correction); }
};

/// weight(i) is 0 for an entry that does not enter the mean; `top` has the largest weight.
template <Real T, class Weight, class Rate>
INCONTEXT_HD Centered<T, Rate> centered(std::ptrdiff_t size, std::ptrdiff_t top, Weight weight, Rate rate) {
  Centered<T, Rate> result{rate};
  result.top = top;
  Sum<T> mean;
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const T w = weight(i);
    mean.add(w < T(0) || T(0) < w ? T(w * rate(i)) : T(0));
  }
  result.mean = mean.value();
  const T top_rate = rate(top);
  Sum<T> correction, gap;
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const T w = weight(i);
    const bool enters = w < T(0) || T(0) < w;
    const T r = rate(i);
    correction.add(enters ? T(w * (r - result.mean)) : T(0));
    gap.add(enters && i != top ? T(w * (top_rate - r)) : T(0));
  }
  result.correction = correction.value();
  result.at_top = gap.value();
  return result;
}

}  // namespace incontext::scoring::detail
