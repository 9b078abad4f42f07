#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/first_place.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/row.hpp"

/// Derivatives of softmax(phi(z)) over packs: a_i (r_i - sum_j a_j r_j) times a factor, for rates r that depend on a
/// score and a direction.
///
/// Let t be the entry of the largest weight. The first reading of the row sums the powers p_i = e^(phi(z_i) - phi(z_t))
/// and p_i (r_i - r_t), which is the derivative at t without cancellation. The mean rate m that follows from it is
/// rounded in units of the largest rate; the second reading sums p_i (r_i - m), which corrects it, so that an offset
/// common to all rates costs no digits. The third reading writes the result. The powers wait in the output meanwhile,
/// unless the output lies on a row that is still to be read; then they are computed again.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// The rate is the direction itself.
template <class T>
struct DirectionRate {
  INCONTEXT_HD Pack<T> operator()(const Pack<T>&, const Pack<T>& direction) const { return direction; }
};

/// The rate is the slope of phi times the direction.
template <class T, class Slope>
struct SlopeRate {
  Slope slope;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>& direction) const { return slope(z) * direction; }
};

/// The first reading sums, the second corrects or projects, the third writes.
enum class Reading { sum, correct, write };

/// The mean of the rates of a row, in two parts, and what is exact at the entry of the largest weight.
template <class T>
struct RowCenter {
  std::ptrdiff_t top = 0;
  T share = T(0);  // the largest weight, 1 / sum of powers
  T mean = T(0);
  T correction = T(0);
  T at_top = T(0);  // rate at the top less the mean
};

/// The three readings of a row. `stored`: the powers wait in the output between them. `careful`: a score may be masked
/// or a power may be below the normal range. The last block of a row, which is filled up with masks, is always read
/// with care.
template <bool stored, class T, class Exponent, class Rate, class Factor>
struct CenteredRow {
  static constexpr int width = pack_width<T>;
  static constexpr int packs = sum_lanes / width;
  const Exponent& exponent;
  const Rate& rate;
  const Factor& factor;
  bool careful;
  Row<const T> scores;
  Row<const T> direction;
  Row<T> out;

  struct Sums {
    T powers;
    T rates;
  };

  /// Calls visit(careful, z, u, p) for every block: its scores, its direction, and its powers or results, which are in
  /// the output where it is contiguous.
  template <Reading reading, class Visit>
  INCONTEXT_HD void for_each(Visit visit) const {
    const bool in_place = !careful && scores.stride == 1 && direction.stride == 1 && out.stride == 1;
    const std::ptrdiff_t blocks = in_place ? scores.size / row_block : 0;
    const T* z = scores.data;
    const T* u = direction.data;
    T* p = out.data;
    for (std::ptrdiff_t b = 0; b < blocks; ++b, z += row_block, u += row_block, p += row_block) {
      if constexpr (reading == Reading::sum) {
        expect_next_row(scores, b * row_block);
        expect_next_row(direction, b * row_block);
      }
      visit(std::false_type{}, z, u, p);
    }
    for (std::ptrdiff_t first = blocks * row_block; first < scores.size; first += row_block) {
      visit_copies<reading>(first, visit);
    }
  }

  /// A block that is not contiguous, not whole, or to be read with care.
  template <Reading reading, class Visit>
  INCONTEXT_HD void visit_copies(std::ptrdiff_t first, Visit visit) const {
    constexpr bool reads = stored && reading != Reading::sum;
    constexpr bool writes = reading == Reading::write || (stored && reading == Reading::sum);
    alignas(64) T z_copy[row_block], u_copy[row_block], p[row_block];
    const T* z = block_of<T>(scores, first, T(-math::infinity<T>()), z_copy);
    const T* u = block_of<T>(direction, first, T(0), u_copy);
    const int last = first + row_block <= scores.size ? row_block : static_cast<int>(scores.size - first);
    for (int l = 0; reads && l < row_block; ++l) p[l] = l < last ? out[first + l] : T(0);
    visit(std::true_type{}, z, u, p);
    for (int l = 0; writes && l < last; ++l) out[first + l] = p[l];
  }

  /// The powers of a pack, from where they wait or computed anew.
  template <bool careful_block>
  INCONTEXT_HD Pack<T> powers_at(const T* p, const Pack<T>& z) const {
    if constexpr (stored) return load_pack(p);
    return power_of<careful_block, T>(exponent, z);
  }

  /// powers times differences of rates; 0 where the power is, whatever the rate.
  template <bool careful_block>
  INCONTEXT_HD static Pack<T> product(const Pack<T>& power, const Pack<T>& difference) {
    if constexpr (careful_block) return power > pack_of(T(0)) ? power * difference : pack_of(T(0));
    return power * difference;
  }

  INCONTEXT_HD Sums sum(const T& shift) const {
    LaneSum<T> powers, rates;
    for_each<Reading::sum>([&](auto careful_block, const T* z, const T* u, T* p) {
      for (int lane = 0; lane < packs; ++lane) {
        Pack<T> power[4], difference[4];
        for (int g = 0; g < 4; ++g) {
          const int at = g * sum_lanes + lane * width;
          const Pack<T> score = load_pack(z + at);
          power[g] = power_of<careful_block.value, T>(exponent, score);
          difference[g] = product<careful_block.value>(power[g], rate(score, load_pack(u + at)) - shift);
          if constexpr (stored) store_pack(p + at, power[g]);
        }
        powers.add(lane, (power[0] + power[1]) + (power[2] + power[3]));
        rates.add(lane, (difference[0] + difference[1]) + (difference[2] + difference[3]));
      }
    });
    return {powers.value(), rates.value()};
  }

  INCONTEXT_HD T correct(const T& mean) const {
    LaneSum<T> rates;
    for_each<Reading::correct>([&](auto careful_block, const T* z, const T* u, const T* p) {
      for (int lane = 0; lane < packs; ++lane) {
        Pack<T> difference[4];
        for (int g = 0; g < 4; ++g) {
          const int at = g * sum_lanes + lane * width;
          const Pack<T> score = load_pack(z + at);
          difference[g] = product<careful_block.value>(powers_at<careful_block.value>(p + at, score),
                                                       rate(score, load_pack(u + at)) - mean);
        }
        rates.add(lane, (difference[0] + difference[1]) + (difference[2] + difference[3]));
      }
    });
    return rates.value();
  }

  /// sum_i a_i (r_i - a . r) f_i for a function of the score that is 0 at the top, after the first reading. The second
  /// reading sums p (r - m), p f and p (r - m) f; the first two correct the third for the rounding of m. It
  /// also sets center.correction.
  template <class Function>
  INCONTEXT_HD T project(RowCenter<T>& center, const Function& function) const {
    LaneSum<T> rates, values, products;
    for_each<Reading::correct>([&](auto careful_block, const T* z, const T* u, T* p) {
      for (int lane = 0; lane < packs; ++lane) {
        Pack<T> difference[4], value[4], both[4];
        for (int g = 0; g < 4; ++g) {
          const int at = g * sum_lanes + lane * width;
          const Pack<T> score = load_pack(z + at);
          const Pack<T> power = powers_at<careful_block.value>(p + at, score);
          const Pack<T> f = function(score, score);
          const Pack<T> from_mean = rate(score, load_pack(u + at)) - center.mean;
          difference[g] = product<careful_block.value>(power, from_mean);
          value[g] = product<careful_block.value>(power, f);
          both[g] = product<careful_block.value>(power, from_mean * f);
        }
        rates.add(lane, (difference[0] + difference[1]) + (difference[2] + difference[3]));
        values.add(lane, (value[0] + value[1]) + (value[2] + value[3]));
        products.add(lane, (both[0] + both[1]) + (both[2] + both[3]));
      }
    });
    center.correction = rates.value() * center.share;
    return (products.value() - center.correction * values.value()) * center.share;
  }

  /// out_i = finish(z_i, factor_i a_i (r_i - a . r)), 0 where masked.
  template <class Finish>
  INCONTEXT_HD void write(const RowCenter<T>& center, const Finish& finish) const {
    for_each<Reading::write>([&](auto careful_block, const T* z, const T* u, T* p) {
      for (int at = 0; at < row_block; at += width) {
        const Pack<T> score = load_pack(z + at);
        const Pack<T> weight = powers_at<careful_block.value>(p + at, score) * center.share;
        const Pack<T> difference = (rate(score, load_pack(u + at)) - center.mean) - center.correction;
        Pack<T> change = finish(score, weight * difference * factor(score));
        if constexpr (careful_block.value) {
          change = score <= pack_of(T(-math::infinity<T>())) ? pack_of(T(0)) : change;
        }
        store_pack(p + at, change);
      }
    });
  }

  /// The first reading, after which `correction` is still to be found.
  INCONTEXT_HD RowCenter<T> begin(std::ptrdiff_t top) const {
    const T top_rate = first_lane(rate(pack_of(T(scores[top])), pack_of(T(direction[top]))));
    const Sums sums = sum(top_rate);
    RowCenter<T> center;
    center.top = top;
    center.share = math::is_finite(sums.powers) ? T(T(1) / sums.powers) : math::not_a_number<T>();
    center.at_top = -(sums.rates * center.share);
    center.mean = top_rate - center.at_top;
    return center;
  }

  /// All three readings.
  template <class Finish>
  INCONTEXT_HD void operator()(std::ptrdiff_t top, const Finish& finish) const {
    RowCenter<T> center = begin(top);
    center.correction = correct(center.mean) * center.share;
    end(center, finish);
  }

  /// The third reading, after which the entry at the top is replaced by what was found without cancellation.
  template <class Finish>
  INCONTEXT_HD void end(const RowCenter<T>& center, const Finish& finish) const {
    const Pack<T> reference = pack_of(T(scores[center.top]));  // before it may be overwritten
    write(center, finish);
    const Pack<T> change = pack_of(T(center.share * center.at_top)) * factor(reference);
    out[center.top] = first_lane(finish(reference, change));
  }

  INCONTEXT_HD static T first_lane(const Pack<T>& pack) {
    T lanes[width];
    store_pack(lanes, pack);
    return lanes[0];
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
