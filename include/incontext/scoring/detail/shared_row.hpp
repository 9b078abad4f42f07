#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/centered_row.hpp"
#include "incontext/scoring/detail/packed_derivatives.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

/// Softmax of one row by sixteen threads of a GPU. Thread l takes the numbers l, l + 16, ... of the row, so that
/// neighboring threads read and write neighboring memory. Each thread computes one of the sixteen partial sums that a
/// CPU computes for a row (row_blocks.hpp), so that the bits are the same.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// What sixteen threads do together with a row; plain data.
template <class T, class Threads>
struct SharedRow {
  static constexpr int lanes = sum_lanes;
  static_assert(Threads::lanes == lanes && pack_width<T> == 1);
  Threads threads;
  Row<const T> scores;

  /// The whole row's lowest and highest visible score, and their number.
  INCONTEXT_HD RowExtent<T> extent() const {
    RowExtent<T> own;
    for (std::ptrdiff_t i = threads.lane(); i < scores.size; i += lanes) {
      const T z = scores[i];
      if (!is_visible(z)) continue;
      ++own.count;
      own.low = z < own.low ? z : own.low;
      own.high = own.high < z ? z : own.high;
    }
    RowExtent<T> all;
    for (int l = 0; l < lanes; ++l) {
      const T low = threads.from(l, own.low), high = threads.from(l, own.high);
      all.low = low < all.low ? low : all.low;
      all.high = all.high < high ? high : all.high;
      all.count += threads.from(l, own.count);
    }
    return all;
  }

  /// The first place of a score that the row has.
  INCONTEXT_HD std::ptrdiff_t first_place_of(const T& score) const {
    std::ptrdiff_t own = threads.lane();
    while (own < scores.size && !(scores[own] == score)) own += lanes;
    std::ptrdiff_t first = scores.size;
    for (int l = 0; l < lanes; ++l) {
      const std::ptrdiff_t other = threads.from(l, own);
      first = other < first ? other : first;
    }
    return first;
  }

  /// The sum over the row of term(i), a number or several.
  template <int sums, class Terms>
  INCONTEXT_HD void add_up(T (&result)[sums], const Terms& terms_of) const {
    T total[sums] = {}, lost[sums] = {};
    for (std::ptrdiff_t first = threads.lane(); first < scores.size; first += row_block) {
      T term[4][sums] = {};
      for (int g = 0; g < 4; ++g) {
        if (first + g * lanes < scores.size) terms_of(first + g * lanes, term[g]);
      }
      for (int s = 0; s < sums; ++s) {
        math::add_compensated(total[s], lost[s], T((term[0][s] + term[1][s]) + (term[2][s] + term[3][s])));
      }
    }
    for (int s = 0; s < sums; ++s) {
      Sum<T> sum;
      for (int l = 0; l < lanes; ++l) sum.add(threads.from(l, total[s]));
      for (int l = 0; l < lanes; ++l) sum.add(threads.from(l, lost[s]));
      result[s] = sum.value();
    }
  }

  template <class Visit>
  INCONTEXT_HD void for_own(const Visit& visit) const {
    for (std::ptrdiff_t i = threads.lane(); i < scores.size; i += lanes) visit(i);
  }
};

/// Calls visit(phi, exponent, reference) as with_exponent does; false where that is false.
template <bool quick, class Map, class T, class Threads, class Visit>
INCONTEXT_HD bool with_shared_exponent(const Map& map, const SharedRow<T, Threads>& row, const Visit& visit) {
  if (row.scores.size < shortest_packed_row) return false;
  const auto extent = row.extent();
  const auto phi = map.elementwise(extent.count);
  if (extent.count == 0 || !math::is_finite(extent.high) || !phi.in_domain()) return false;
  const T reference = phi.decreasing() ? extent.low : extent.high;
  const auto exponent = phi.exponent_from(reference);
  if (!exponent.fits(extent)) return false;
  if constexpr (quick && std::same_as<T, float> && requires { exponent.quick(); }) {
    if (exponent.quick_fits(extent)) {
      visit(phi, exponent.quick(), reference);
      return true;
    }
  }
  visit(phi, exponent, reference);
  return true;
}

/// The readings of CenteredRow by several threads. The powers are kept in `out`, which must not be another row.
template <class T, class Threads, class Exponent, class Rate>
struct SharedCenter {
  SharedRow<T, Threads> row;
  Exponent exponent;
  Rate rate;
  Row<const T> direction;
  Row<T> out;

  INCONTEXT_HD static T product(const T& power, const T& difference) {
    return power > T(0) ? power * difference : T(0);
  }

  INCONTEXT_HD RowCenter<T> begin(std::ptrdiff_t top) const {
    const T top_rate = rate(row.scores[top], direction[top]);
    T sums[2];
    row.add_up(sums, [&](std::ptrdiff_t i, T(&term)[2]) {
      const T z = row.scores[i];
      term[0] = power_of<true, T>(exponent, z);
      term[1] = product(term[0], rate(z, direction[i]) - top_rate);
      out[i] = term[0];
    });
    RowCenter<T> center;
    center.top = top;
    center.share = math::is_finite(sums[0]) ? T(T(1) / sums[0]) : math::not_a_number<T>();
    center.at_top = -(sums[1] * center.share);
    center.mean = top_rate - center.at_top;
    return center;
  }

  template <class Factor>
  INCONTEXT_HD void write(RowCenter<T> center, const Factor& factor) const {
    T rates[1];
    row.add_up(rates, [&](std::ptrdiff_t i, T(&term)[1]) {
      term[0] = product(out[i], rate(row.scores[i], direction[i]) - center.mean);
    });
    center.correction = rates[0] * center.share;
    row.for_own([&](std::ptrdiff_t i) {
      const T z = row.scores[i];
      const T weight = out[i] * center.share;
      const T difference = (rate(z, direction[i]) - center.mean) - center.correction;
      const T change = weight * difference * factor(z);
      out[i] = is_visible(z) ? change : T(0);
      if (i == center.top) out[i] = T(center.share * center.at_top) * factor(z);
    });
  }

  /// sum_i a_i (r_i - a . r) f_i for a function of the score that is 0 at the top.
  template <class Function>
  INCONTEXT_HD T project(const RowCenter<T>& center, const Function& function) const {
    T sums[3];
    row.add_up(sums, [&](std::ptrdiff_t i, T(&term)[3]) {
      const T z = row.scores[i];
      const T f = function(z, z), from_mean = rate(z, direction[i]) - center.mean;
      term[0] = product(out[i], from_mean);
      term[1] = product(out[i], f);
      term[2] = product(out[i], from_mean * f);
    });
    return (sums[2] - sums[0] * center.share * sums[1]) * center.share;
  }
};

template <class T, class Threads, class Exponent, class Rate>
INCONTEXT_HD SharedCenter<T, Threads, Exponent, Rate> shared_center(const SharedRow<T, Threads>& row,
                                                                    const Exponent& exponent, const Rate& rate,
                                                                    Row<const T> direction, Row<T> out) {
  return {row, exponent, rate, direction, out};
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
