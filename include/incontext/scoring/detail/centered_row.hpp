#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
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

/// Where a score first occurs in a row; the row's size if it does not.
template <class T>
INCONTEXT_HD std::ptrdiff_t first_place_of(const T& score, Row<const T> row) {
  constexpr int width = pack_width<T>;
  alignas(64) T copy[row_block];
  for (std::ptrdiff_t first = 0; first < row.size; first += row_block) {
    const T* z = block_of<T>(row, first, T(-math::infinity<T>()), copy);
    Pack<T> hits = pack_of(T(0));
    for (int l = 0; l < row_block; l += width) {
      const Pack<T> here = load_pack(z + l);
      hits = here == pack_of(score) ? pack_of(T(1)) : hits;
    }
    T found[width];
    store_pack(found, hits);
    T any = T(0);
    for (int l = 0; l < width; ++l) any = any < found[l] ? found[l] : any;
    if (!(T(0) < any)) continue;
    for (int l = 0; l < row_block; ++l) {
      if (z[l] == score) return first + l;
    }
  }
  return row.size;
}

/// The first reading sums, the second corrects, the third writes.
enum class Reading { sum, correct, write };

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
    constexpr bool reads = stored && reading != Reading::sum;
    constexpr bool writes = reading == Reading::write || (stored && reading == Reading::sum);
    alignas(64) T z_copy[row_block], u_copy[row_block], p_copy[row_block];
    for (std::ptrdiff_t first = 0; first < scores.size; first += row_block) {
      if constexpr (reading == Reading::sum) {
        expect_next_row(scores, first);
        expect_next_row(direction, first);
      }
      const T* z = block_of<T>(scores, first, T(-math::infinity<T>()), z_copy);
      const T* u = block_of<T>(direction, first, T(0), u_copy);
      const bool whole = first + row_block <= scores.size;
      const bool in_place = whole && out.stride == 1;
      const int last = whole ? row_block : static_cast<int>(scores.size - first);
      T* p = in_place ? out.data + first : p_copy;
      for (int l = 0; reads && !in_place && l < row_block; ++l) p_copy[l] = l < last ? out[first + l] : T(0);
      if (whole && !careful) {
        visit(std::false_type{}, z, u, p);
      } else {
        visit(std::true_type{}, z, u, p);
      }
      for (int l = 0; writes && !in_place && l < last; ++l) out[first + l] = p_copy[l];
    }
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

  INCONTEXT_HD void write(const T& mean, const T& correction, const T& share) const {
    for_each<Reading::write>([&](auto careful_block, const T* z, const T* u, T* p) {
      for (int at = 0; at < row_block; at += width) {
        const Pack<T> score = load_pack(z + at);
        const Pack<T> weight = powers_at<careful_block.value>(p + at, score) * share;
        Pack<T> change = weight * ((rate(score, load_pack(u + at)) - mean) - correction) * factor(score);
        if constexpr (careful_block.value) {
          change = score <= pack_of(T(-math::infinity<T>())) ? pack_of(T(0)) : change;
        }
        store_pack(p + at, change);
      }
    });
  }

  INCONTEXT_HD void operator()(const T& reference) const {
    const std::ptrdiff_t top = first_place_of<T>(reference, scores);
    const T top_rate = first_lane(rate(pack_of(reference), pack_of(T(direction[top]))));
    const Sums sums = sum(top_rate);
    const T share = math::is_finite(sums.powers) ? T(T(1) / sums.powers) : math::not_a_number<T>();
    const T mean_below_top = sums.rates * share;
    const T mean = top_rate + mean_below_top;
    write(mean, T(correct(mean) * share), share);
    out[top] = share * -mean_below_top * first_lane(factor(pack_of(reference)));
  }

  INCONTEXT_HD static T first_lane(const Pack<T>& pack) {
    T lanes[width];
    store_pack(lanes, pack);
    return lanes[0];
  }
};

template <class T, class Exponent, class Rate, class Factor>
INCONTEXT_HD void write_centered_row(const Exponent& exponent, const T& reference, const Rate& rate,
                                     const Factor& factor, bool careful, Row<const T> scores, Row<const T> direction,
                                     Row<T> out) {
  if (out.data == direction.data || out.data == scores.data) {
    CenteredRow<false, T, Exponent, Rate, Factor>{exponent, rate, factor, careful, scores, direction, out}(reference);
  } else {
    CenteredRow<true, T, Exponent, Rate, Factor>{exponent, rate, factor, careful, scores, direction, out}(reference);
  }
}

/// phi's slopes exist over packs, beside its differences to a reference.
template <class Phi, class T>
concept PackedSlopes = PackedPhi<Phi, T> && requires(const Phi& phi) {
  { phi.slopes()(Pack<T>{}) } -> std::same_as<Pack<T>>;
};

/// out_i = factor_i a_i (r_i - a . r) of softmax(phi(z)), with rate_of(phi, reference) and factor_of(phi); false, and
/// nothing written, where the row is too short or its scores are beyond what packs do.
template <class T, class PhiFor, class RateOf, class FactorOf>
INCONTEXT_HD bool write_packed_centered(const PhiFor& phi_for, const RateOf& rate_of, const FactorOf& factor_of,
                                        Row<const T> scores, Row<const T> direction, Row<T> out) {
  if (scores.size < shortest_packed_row) return false;
  const auto extent = extent_of<T>(scores);
  const auto phi = phi_for(extent.count);
  if (extent.count == 0 || !math::is_finite(extent.high) || !phi.in_domain()) return false;
  const T reference = phi.decreasing() ? extent.low : extent.high;
  const T farthest = phi.decreasing() ? extent.high : extent.low;
  const auto exponent = phi.exponent_from(reference);
  if (!exponent.fits(extent)) return false;
  const auto write = [&](const auto& powers) {
    T octaves[pack_width<T>];
    store_pack(octaves, powers(pack_of(farthest)));
    const bool careful =
        pack_width<T> == 1 || extent.count < scores.size || !(elementary::lowest_power<T> + 1 < octaves[0]);
    write_centered_row<T>(powers, reference, rate_of(phi, reference), factor_of(phi), careful, scores, direction, out);
  };
  if constexpr (std::same_as<T, float> && requires { exponent.quick(); }) {
    if (exponent.quick_fits(extent)) {
      write(exponent.quick());
      return true;
    }
  }
  write(exponent);
  return true;
}

/// phi's derivative by a parameter exists over packs, as a difference to that at a reference.
template <class Phi, class Parameter, class T>
concept PackedParameter = PackedPhi<Phi, T> && requires(const Phi& phi, Parameter parameter, T z) {
  { phi.rates_by(parameter, z)(Pack<T>{}, Pack<T>{}) } -> std::same_as<Pack<T>>;
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
