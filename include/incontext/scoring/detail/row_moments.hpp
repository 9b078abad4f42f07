#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/row_sums.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

/// Mean and variance of the visible scores of a matrix over packs, and their covariance with a direction.
///
/// The corrected two-pass algorithm (Chan, Golub, LeVeque): after a rounded mean c, of d_i = z_i - c, the mean is c +
/// sum d_i / n, and n times the variance sum d_i^2 - (sum d_i)^2 / n. Nothing cancels: c is off by some eps of a range
/// whose square is at most 2 sum d_i^2, and by half the spacing of numbers around c; a d_i that is not 0 is at least
/// that spacing, so that the second term is at most half of the first.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// u - c.
template <class T>
struct Deviation {
  T c;
  INCONTEXT_HD Terms<1, T> operator()(const Pack<T>&, const Pack<T>& u) const { return {{u - c}}; }
};

/// u - c and (z - b) (u - c).
template <class T>
struct DeviationAndProduct {
  T b, c;
  INCONTEXT_HD Terms<2, T> operator()(const Pack<T>& z, const Pack<T>& u) const {
    const Pack<T> change = u - c;
    return {{change, (z - b) * change}};
  }
};

/// Adds the terms of the visible scores of all rows.
template <int count, class T, class Term>
INCONTEXT_HD void add_rows(LaneSum<T> (&sums)[count], MatrixView<const T> scores, MatrixView<const T> values,
                           bool masked, const Term& term) {
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
    add_row(sums, scores.row(r), values.row(r), masked, nowhere, term);
  }
}

/// The extent of all rows together.
template <class T>
INCONTEXT_HD RowExtent<T> extent_of(MatrixView<const T> scores) {
  RowExtent<T> all;
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
    const RowExtent<T> extent = extent_of<T>(scores.row(r));
    all.low = extent.low < all.low ? extent.low : all.low;
    all.high = all.high < extent.high ? extent.high : all.high;
    all.count += extent.count;
  }
  return all;
}

/// Extent, center and sum of squared deviations of the visible scores.
template <class T>
struct Moments {
  RowExtent<T> extent;
  Center<T> center;
  T squares = T(0);
};

/// False where rows are too short for packs, all scores are equal, one is NaN or infinite, or squares of their
/// differences would over- or underflow.
template <class T>
INCONTEXT_HD bool find_moments(MatrixView<const T> scores, Moments<T>& moments) {
  if (scores.columns < shortest_packed_row) return false;
  const RowExtent<T> extent = extent_of<T>(scores);
  const T range = extent.high - extent.low;
  const T size = math::from_count<T>(extent.count);
  if (extent.count == 0 || !math::is_finite(range * range * size)) return false;
  if (!(math::Constants<T>::smallest / math::Constants<T>::epsilon < range * range)) return false;
  const bool masked = extent.count < scores.rows * scores.columns;
  const T middle = extent.low + range / T(2);
  LaneSum<T> first[1], second[2];
  add_rows(first, scores, scores, masked, Deviation<T>{middle});
  moments.extent = extent;
  moments.center.count = extent.count;
  moments.center.value = middle + first[0].value() / size;
  const T c = moments.center.value;
  add_rows(second, scores, scores, masked, DeviationAndProduct<T>{c, c});
  const T sum = second[0].value();
  moments.center.offset = sum / size;
  moments.squares = second[1].value() - sum * moments.center.offset;
  return math::is_finite(moments.squares);
}

/// The value beside the first visible score.
template <class T>
INCONTEXT_HD T first_visible_value(MatrixView<const T> scores, MatrixView<const T> values) {
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
    for (std::ptrdiff_t i = 0; i < scores.columns; ++i) {
      if (is_visible(scores(r, i))) return values(r, i);
    }
  }
  return T(0);
}

/// sum (z - mean of z) (u - mean of u) over the visible scores, given their center.
template <class T>
INCONTEXT_HD T sum_of_products(MatrixView<const T> scores, const Center<T>& center, MatrixView<const T> values) {
  const bool masked = center.count < scores.rows * scores.columns;
  const T reference = first_visible_value<T>(scores, values);
  LaneSum<T> first[1], second[2];
  add_rows(first, scores, values, masked, Deviation<T>{reference});
  const T mean = reference + first[0].value() / math::from_count<T>(center.count);
  add_rows(second, scores, values, masked, DeviationAndProduct<T>{center.value, mean});
  return second[1].value() - second[0].value() * center.offset;
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
