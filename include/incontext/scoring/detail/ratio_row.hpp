#pragma once

#include <concepts>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/first_place.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/row_sums.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

/// f(z) over 1, the number of the visible scores or sum f, over packs, for a convex f >= 0; with its derivatives.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// A convex, non-negative function that exists over packs. Its largest value in a row is at an end of the scores, and
/// where it is 0, so is its slope.
template <class Function, class T>
concept PackedConvex = Packed<T> && requires(const Pack<T>& z) {
  { Function::template values<T>(z) } -> std::same_as<Pack<T>>;
  { Function::template slopes<T>(z) } -> std::same_as<Pack<T>>;
};

/// f(z); NaN where z is NaN, which f alone may not preserve (ReLU of NaN is 0).
template <class Function, class T>
INCONTEXT_HD inline Pack<T> value_of(const Pack<T>& z) {
  return Function::template values<T>(z) + (z - z);
}

/// f, and f (u - c).
template <class Function, class T>
struct ValueAndRate {
  T c;
  INCONTEXT_HD Terms<2, T> operator()(const Pack<T>& z, const Pack<T>& u) const {
    const Pack<T> f = value_of<Function, T>(z);
    return {{f, f > pack_of(T(0)) ? f * (u - c) : pack_of(T(0))}};
  }
};

/// f, and f' u.
template <class Function, class T>
struct ValueAndChange {
  INCONTEXT_HD Terms<2, T> operator()(const Pack<T>& z, const Pack<T>& u) const {
    return {{value_of<Function, T>(z), Function::template slopes<T>(z) * u}};
  }
};

/// f, f (u - c), and its absolute value f |u - c|.
template <class Function, class T>
struct ValueAndDeviation {
  ValueAndRate<Function, T> both;
  INCONTEXT_HD Terms<3, T> operator()(const Pack<T>& z, const Pack<T>& u) const {
    const Terms<2, T> terms = both(z, u);
    return {{terms.of[0], terms.of[1], terms.of[1] < pack_of(T(0)) ? -terms.of[1] : terms.of[1]}};
  }
};

/// f alone.
template <class Function, class T>
struct ValueAlone {
  INCONTEXT_HD Terms<1, T> operator()(const Pack<T>& z, const Pack<T>&) const { return {{value_of<Function, T>(z)}}; }
};

/// f (u - c) alone.
template <class Function, class T>
struct RateAlone {
  ValueAndRate<Function, T> both;
  INCONTEXT_HD Terms<1, T> operator()(const Pack<T>& z, const Pack<T>& u) const { return {{both(z, u).of[1]}}; }
};

/// 0, and NaN where z is NaN.
template <class T>
struct Nothing {
  INCONTEXT_HD Terms<1, T> operator()(const Pack<T>& z, const Pack<T>&) const { return {{z - z}}; }
};

/// One row of scores, its extent, and whether some scores are masked.
template <class Function, class T>
struct RatioRow {
  Row<const T> scores;
  RowExtent<T> extent;
  bool masked = false;

  /// False where the row is too short, has no visible score, or one that is infinite.
  INCONTEXT_HD bool begin(Row<const T> row) {
    if (row.size < shortest_packed_row) return false;
    scores = row;
    extent = extent_of<T>(row);
    masked = extent.count < row.size;
    return extent.count > 0 && math::is_finite(extent.high);
  }

  /// Whether 1 / total is a normal number, so that multiplying by it may replace the division.
  INCONTEXT_HD static bool divides(const T& total) {
    return math::Constants<T>::smallest <= total && math::Constants<T>::smallest <= T(1) / total;
  }

  /// A place where f is largest.
  INCONTEXT_HD std::ptrdiff_t top() const {
    const T at_low = Function::value(extent.low), at_high = Function::value(extent.high);
    return first_place_of<T>(at_high < at_low ? extent.low : extent.high, scores);
  }

  /// Whether 1 / total may stand for the division and no score is NaN.
  INCONTEXT_HD bool divides_all(const T& total) const {
    LaneSum<T> sums[1];
    add_row(sums, scores, scores, masked, nowhere, Nothing<T>{});
    return divides(total) && math::is_finite(sums[0].value());
  }

  INCONTEXT_HD T sum() const {
    LaneSum<T> sums[1];
    add_row(sums, scores, scores, masked, nowhere, ValueAlone<Function, T>{});
    return sums[0].value();
  }

  /// out_i = result(z_i, u_i), 0 where masked.
  template <class Result>
  INCONTEXT_HD void write(Row<const T> beside, Row<T> out, const Result& result) const {
    constexpr int width = pack_width<T>;
    const T mask = T(-math::infinity<T>());
    const bool in_place = !masked && scores.stride == 1 && beside.stride == 1 && out.stride == 1;
    std::ptrdiff_t first = 0;
    for (; in_place && first + row_block <= scores.size; first += row_block) {
      expect_next_row(Row<const T>(out), first);
      for (int l = 0; l < row_block; l += width) {
        const Pack<T> u = load_pack(beside.data + first + l);
        store_pack(out.data + first + l, Pack<T>(result(load_pack(scores.data + first + l), u)));
      }
    }
    alignas(64) T z_copy[row_block], u_copy[row_block], results[row_block];
    for (; first < scores.size; first += row_block) {
      const T* const z = block_of<T>(scores, first, mask, z_copy);
      const T* const u = block_of<T>(beside, first, T(0), u_copy);
      for (int l = 0; l < row_block; l += width) {
        const Pack<T> score = load_pack(z + l);
        const Pack<T> written = result(score, load_pack(u + l));
        store_pack(results + l, Pack<T>(score <= pack_of(mask) ? pack_of(T(0)) : written));
      }
      for (int l = 0; l < row_block && first + l < out.size; ++l) out[first + l] = results[l];
    }
  }

  /// `fixed`: N, or 0 for the sum.
  INCONTEXT_HD bool write_weights(const T& fixed, Row<T> out) const {
    const bool moves = !(T(0) < fixed);
    const T total = moves ? sum() : fixed;
    if (moves ? !divides(total) : !divides_all(total)) return false;
    const T share = T(1) / total;
    write(scores, out, [=](const Pack<T>& z, const Pack<T>&) { return Function::template values<T>(z) * share; });
    return true;
  }

  /// f' u / N for an N that does not depend on the scores: both products with the Jacobian.
  INCONTEXT_HD bool write_slopes(const T& total, Row<const T> direction, Row<T> out) const {
    if (!divides_all(total)) return false;
    const T share = T(1) / total;
    write(direction, out,
          [=](const Pack<T>& z, const Pack<T>& u) { return Function::template slopes<T>(z) * u * share; });
    return true;
  }

  /// The mean of the cotangent over the first block, weighted by f: near a . g if the row is like its beginning.
  INCONTEXT_HD T first_mean(Row<const T> cotangent) const {
    T values = T(0), rates = T(0);
    for (std::ptrdiff_t i = 0; i < row_block && i < scores.size; ++i) {
      const T value = is_visible(scores[i]) ? T(Function::value(scores[i])) : T(0);
      values = values + value;
      rates = T(0) < value ? T(rates + value * cotangent[i]) : rates;
    }
    return T(0) < values ? T(rates / values) : T(0);
  }

  /// out_i = f'(z_i) (g_i - c - correction) / N, where c + correction is the mean a . g.
  INCONTEXT_HD void write_from_mean(const T& share, const T& c, const T& correction, Row<const T> cotangent,
                                    Row<T> out) const {
    write(cotangent, out, [=](const Pack<T>& z, const Pack<T>& g) {
      return Function::template slopes<T>(z) * share * ((g - c) - correction);
    });
  }

  /// f' (g - a . g) / N with N = sum f. With c from the first block, a . g = c + sum f (g - c) / N. As g - c is
  /// rounded, c must be near the mean: |sum f (g - c)| at most a quarter of sum f |g - c|. And no weight may be above
  /// 1/2.
  INCONTEXT_HD bool write_vjp(Row<const T> cotangent, Row<T> out) const {
    const T c = first_mean(cotangent);
    LaneSum<T> sums[3];
    add_row(sums, scores, cotangent, masked, nowhere, ValueAndDeviation<Function, T>{{c}});
    const T total = sums[0].value(), rates = sums[1].value();
    if (!divides(total)) return false;
    const T at_low = Function::value(extent.low), at_high = Function::value(extent.high);
    const T largest = at_low < at_high ? at_high : at_low;
    if (!(T(2) * largest <= total && T(4) * math::magnitude(rates) <= sums[2].value())) {
      return write_vjp_about_top(T(1) / total, cotangent, out);
    }
    write_from_mean(T(1) / total, c, rates / total, cotangent, out);
    return true;
  }

  /// The same without these conditions, with one more reading. As in centered_row.hpp, the reading about the cotangent
  /// at the top gives the result there without cancellation, and the second one corrects the mean for its rounding.
  INCONTEXT_HD bool write_vjp_about_top(const T& share, Row<const T> cotangent, Row<T> out) const {
    const std::ptrdiff_t top_place = top();
    const T top_score = scores[top_place], top_rate = cotangent[top_place];
    LaneSum<T> first[1], second[1];
    add_row(first, scores, cotangent, masked, nowhere, RateAlone<Function, T>{{top_rate}});
    const T at_top = -(first[0].value() * share);
    const T mean = top_rate - at_top;
    add_row(second, scores, cotangent, masked, nowhere, RateAlone<Function, T>{{mean}});
    write_from_mean(share, mean, second[0].value() * share, cotangent, out);
    out[top_place] = Function::slope(top_score) * share * at_top;
    return true;
  }

  /// (f' u - a sum f' u) / N with N = sum f. At the top, where 1 - a would cancel, from the sums of the others.
  INCONTEXT_HD bool write_jvp(Row<const T> direction, Row<T> out) const {
    const std::ptrdiff_t top_place = top();
    const T top_value = Function::value(T(scores[top_place]));
    const T top_change = Function::slope(T(scores[top_place])) * direction[top_place];
    LaneSum<T> others[2];
    add_row(others, scores, direction, masked, top_place, ValueAndChange<Function, T>{});
    const T other_values = others[0].value(), other_changes = others[1].value();
    const T total = other_values + top_value;
    if (!divides(total)) return false;
    const T share = T(1) / total;
    const T rate = (other_changes + top_change) * share;
    write(direction, out, [=](const Pack<T>& z, const Pack<T>& u) {
      return (Function::template slopes<T>(z) * u - Function::template values<T>(z) * rate) * share;
    });
    out[top_place] = (other_values * share * top_change - top_value * share * other_changes) * share;
    return true;
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
