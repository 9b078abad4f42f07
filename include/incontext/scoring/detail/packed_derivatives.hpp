#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/scoring/detail/centered_row.hpp"
#include "incontext/scoring/detail/first_place.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/row.hpp"

/// Derivatives of softmax(phi(z)) over packs, for any phi whose differences, slopes and rates exist over packs.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// Scores that are their own exponents, in octaves.
template <class T>
struct Octaves {
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z) const { return z; }
};

/// A rate that is proportional to such a score.
template <class T>
struct OctaveRate {
  T rate;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>&) const { return z * rate; }
};

/// Leaves a change as it is.
struct AsItIs {
  template <class Lanes>
  INCONTEXT_HD Lanes operator()(const Lanes&, const Lanes& change) const {
    return change;
  }
};

/// phi's slopes exist over packs, beside its differences to a reference.
template <class Phi, class T>
concept PackedSlopes = PackedPhi<Phi, T> && requires(const Phi& phi) {
  { phi.slopes()(Pack<T>{}) } -> std::same_as<Pack<T>>;
};

/// Calls visit(phi, exponent, reference, careful) with the exponents of the row's powers in octaves, plain or `quick`;
/// false where packs cannot represent them. The row must have at least shortest_packed_row scores.
template <class T, bool quick, class PhiFor, class Visit>
INCONTEXT_HD bool with_exponent(const PhiFor& phi_for, Row<const T> scores, const RowExtent<T>& extent,
                                const Visit& visit) {
  const auto phi = phi_for(extent.count);
  if (extent.count == 0 || !math::is_finite(extent.high) || !phi.in_domain()) return false;
  const T reference = phi.decreasing() ? extent.low : extent.high;
  const T farthest = phi.decreasing() ? extent.high : extent.low;
  const auto exponent = phi.exponent_from(reference);
  if (!exponent.fits(extent)) return false;
  const auto is_careful = [&](const auto& powers) {
    T octaves[pack_width<T>];
    store_pack(octaves, powers(pack_of(farthest)));
    return pack_width<T> == 1 || extent.count < scores.size || !(elementary::lowest_power<T> + 1 < octaves[0]);
  };
  if constexpr (quick && std::same_as<T, float> && requires { exponent.quick(); }) {
    if (exponent.quick_fits(extent)) {
      const auto powers = exponent.quick();
      visit(phi, powers, reference, is_careful(powers));
      return true;
    }
  }
  visit(phi, exponent, reference, is_careful(exponent));
  return true;
}

/// The same for a row whose extent is not known yet.
template <class T, bool quick, class PhiFor, class Visit>
INCONTEXT_HD bool with_exponent(const PhiFor& phi_for, Row<const T> scores, const Visit& visit) {
  return shortest_packed_row <= scores.size && with_exponent<T, quick>(phi_for, scores, extent_of<T>(scores), visit);
}

/// out_i = finish(z_i, factor_i a_i (r_i - a . r)) of softmax(phi(z)), with rate_of(phi, reference) and factor_of(phi);
/// false, and nothing written, where with_exponent is false.
template <class T, class PhiFor, class RateOf, class FactorOf, class Finish = AsItIs>
INCONTEXT_HD bool write_packed_centered(const PhiFor& phi_for, const RateOf& rate_of, const FactorOf& factor_of,
                                        Row<const T> scores, Row<const T> direction, Row<T> out,
                                        const Finish& finish = {}) {
  const auto write = [&](const auto& phi, const auto& exponent, const T& reference, bool careful) {
    using Exponent = std::remove_cvref_t<decltype(exponent)>;
    const auto rate = rate_of(phi, reference);
    const auto factor = factor_of(phi);
    const std::ptrdiff_t top = first_place_of<T>(reference, scores);
    if (out.data == direction.data || out.data == scores.data) {
      const CenteredRow<false, T, Exponent, decltype(rate), decltype(factor)> row{exponent, rate,      factor, careful,
                                                                                  scores,   direction, out};
      row(top, finish);
    } else {
      const CenteredRow<true, T, Exponent, decltype(rate), decltype(factor)> row{exponent, rate,      factor, careful,
                                                                                 scores,   direction, out};
      row(top, finish);
    }
  };
  return with_exponent<T, true>(phi_for, scores, write);
}

/// sum_i a_i (g_i - c), the same of absolute values, and the largest a_i.
template <class T>
struct SpreadOfRow {
  T sum;
  T size;
  T largest;
};

template <class T>
INCONTEXT_HD SpreadOfRow<T> spread_of(Row<const T> weights, Row<const T> cotangent, const T& c) {
  constexpr int width = pack_width<T>, packs = sum_lanes / width;
  LaneSum<T> sum;
  Pack<T> size[packs] = {}, largest[packs] = {};
  alignas(64) T a_copy[row_block], g_copy[row_block];
  for (std::ptrdiff_t first = 0; first < weights.size; first += row_block) {
    const T* const a = block_of<T>(weights, first, T(0), a_copy);
    const T* const g = block_of<T>(cotangent, first, T(0), g_copy);
    expect_next_row(weights, first);
    expect_next_row(cotangent, first);
    for (int lane = 0; lane < packs; ++lane) {
      Pack<T> part[4];
      for (int k = 0; k < 4; ++k) {
        const Pack<T> weight = load_pack(a + k * sum_lanes + lane * width);
        part[k] = weight * (load_pack(g + k * sum_lanes + lane * width) - c);
        size[lane] += part[k] < pack_of(T(0)) ? -part[k] : part[k];
        largest[lane] = largest[lane] < weight ? weight : largest[lane];
      }
      sum.add(lane, (part[0] + part[1]) + (part[2] + part[3]));
    }
  }
  SpreadOfRow<T> spread{sum.value(), T(0), T(0)};
  for (const Pack<T>& pack : size) {
    T lanes[width];
    store_pack(lanes, pack);
    for (const T& lane : lanes) spread.size = spread.size + lane;
  }
  for (const Pack<T>& pack : largest) {
    T lanes[width];
    store_pack(lanes, pack);
    for (const T& lane : lanes) spread.largest = spread.largest < lane ? lane : spread.largest;
  }
  return spread;
}

/// out_i = slope(z_i) a_i (g_i - a . g) from the weights a; false, and nothing written, where no c is found as below,
/// such as where a masked key has no finite cotangent.
///
/// The mean a . g is c plus a small sum. As g_i - c is rounded, c must be near the mean in units of the row's spread,
/// or be the cotangent of a weight above 1/2, for which the difference is then exact. It starts as the mean of the
/// first block.
template <class T, class Slope>
INCONTEXT_HD bool write_packed_vjp_from_weights(const Slope& slope, Row<const T> scores, Row<const T> weights,
                                                Row<const T> cotangent, Row<T> out) {
  const std::ptrdiff_t some = weights.size < row_block ? weights.size : row_block;
  T seen = T(0), mean = T(0);
  for (std::ptrdiff_t i = 0; i < some; ++i) {
    seen = seen + weights[i];
    mean = mean + weights[i] * cotangent[i];
  }
  T c = T(0) < seen ? T(mean / seen) : T(0);
  SpreadOfRow<T> spread = spread_of<T>(weights, cotangent, c);
  if (T(0.5) < spread.largest) {
    c = cotangent[first_place_of<T>(spread.largest, weights)];
    spread = spread_of<T>(weights, cotangent, c);
  } else {
    const auto is_near = [&] { return T(4) * math::magnitude(spread.sum) <= spread.size; };
    for (int round = 0; round < 3 && !is_near(); ++round) {
      c = c + spread.sum;
      spread = spread_of<T>(weights, cotangent, c);
    }
    if (!is_near()) return false;
  }
  if (!math::is_finite(spread.sum)) return false;
  alignas(64) T a_copy[row_block], g_copy[row_block], z_copy[row_block], result[row_block];
  for (std::ptrdiff_t first = 0; first < out.size; first += row_block) {
    const T* const a = block_of<T>(weights, first, T(0), a_copy);
    const T* const g = block_of<T>(cotangent, first, T(0), g_copy);
    const bool in_place = out.stride == 1 && first + row_block <= out.size;
    T* const to = in_place ? out.data + first : result;
    expect_next_row(Row<const T>(out), first);
    [[maybe_unused]] const T* z = nullptr;
    if constexpr (!std::same_as<Slope, ConstantFactor<T>>) z = block_of<T>(scores, first, T(0), z_copy);
    for (int at = 0; at < row_block; at += pack_width<T>) {
      const Pack<T> change = load_pack(a + at) * ((load_pack(g + at) - c) - spread.sum);
      if constexpr (std::same_as<Slope, ConstantFactor<T>>) {
        store_pack(to + at, change * slope.factor);
      } else {
        const Pack<T> score = load_pack(z + at);
        store_pack(to + at, score <= pack_of(T(-math::infinity<T>())) ? pack_of(T(0)) : change * slope(score));
      }
    }
    for (int l = 0; !in_place && l < row_block && first + l < out.size; ++l) out[first + l] = result[l];
  }
  return true;
}

/// phi's derivative by a parameter exists over packs, as a difference to that at a reference.
template <class Phi, class Parameter, class T>
concept PackedParameter = PackedPhi<Phi, T> && requires(const Phi& phi, Parameter parameter, T z) {
  { phi.rates_by(parameter, z)(Pack<T>{}, Pack<T>{}) } -> std::same_as<Pack<T>>;
};

/// phi's derivative by a parameter is `rate_in_phi(parameter)` times phi itself.
template <class Phi, class Parameter, class T>
concept PackedProportional = PackedPhi<Phi, T> && requires(const Phi& phi, Parameter parameter) {
  { phi.rate_in_phi(parameter) } -> std::same_as<T>;
};

/// Writes phi's differences to the reference in octaves; -infinity where a score is masked.
template <class T, class Exponent>
INCONTEXT_HD void write_octaves(const Exponent& exponent, Row<const T> scores, Row<T> out) {
  const T masked = T(-math::infinity<T>());
  alignas(64) T copy[row_block], octaves[row_block];
  for (std::ptrdiff_t first = 0; first < scores.size; first += row_block) {
    const bool in_place = out.stride == 1 && first + row_block <= out.size;
    const T* const z = block_of<T>(scores, first, masked, copy);
    T* const to = in_place ? out.data + first : octaves;
    expect_next_row(scores, first);
    for (int at = 0; at < row_block; at += pack_width<T>) {
      const Pack<T> score = load_pack(z + at);
      const Pack<T> difference = exponent(score);
      store_pack(to + at, score <= pack_of(masked) ? pack_of(masked) : difference);
    }
    for (int l = 0; !in_place && l < row_block && first + l < out.size; ++l) out[first + l] = octaves[l];
  }
}

/// The derivative of the weights by a parameter that multiplies phi. The output first takes phi's differences in
/// octaves, so that they are computed once; from there on they are the scores of a softmax.
template <class T, class PhiFor, class Parameter>
INCONTEXT_HD bool write_packed_proportional(const PhiFor& phi_for, Parameter parameter, Row<const T> scores,
                                            Row<T> out) {
  const auto write = [&](const auto& phi, const auto& exponent, const T& reference, bool careful) {
    const std::ptrdiff_t top = first_place_of<T>(reference, scores);
    write_octaves<T>(exponent, scores, out);
    const Octaves<T> itself;
    const OctaveRate<T> rate{phi.rate_in_phi(parameter) / elementary::log2_e<T>};
    const ConstantFactor<T> one{T(1)};
    CenteredRow<false, T, Octaves<T>, OctaveRate<T>, ConstantFactor<T>>{itself, rate, one, careful, out, out, out}(
        top, AsItIs{});
  };
  return with_exponent<T, false>(phi_for, scores, write);
}

/// result = sum_i g_i d a_i / d parameter of softmax(phi(z)) for a cotangent g; false where with_exponent is false.
template <class T, class PhiFor, class Parameter>
INCONTEXT_HD bool sum_packed_derivative(const PhiFor& phi_for, Parameter parameter, Row<const T> scores,
                                        Row<const T> cotangent, Row<T> scratch, T& result) {
  using Direction = DirectionRate<T>;
  using One = ConstantFactor<T>;
  using Phi = decltype(phi_for(std::ptrdiff_t{1}));
  constexpr bool proportional = PackedProportional<Phi, Parameter, T>;
  const auto sum = [&](const auto& phi, const auto& exponent, const T& reference, bool careful) {
    using Exponent = std::remove_cvref_t<decltype(exponent)>;
    const Direction rate;
    const One one{T(1)};
    const std::ptrdiff_t top = first_place_of<T>(reference, scores);
    if constexpr (proportional) {
      write_octaves<T>(exponent, scores, scratch);
      const Octaves<T> itself;
      const CenteredRow<false, T, Octaves<T>, Direction, One> row{itself, rate, one, careful, scratch, cotangent, {}};
      const OctaveRate<T> function{phi.rate_in_phi(parameter) / elementary::log2_e<T>};
      RowCenter<T> center = row.begin(top);
      result = row.project(center, function);
    } else {
      const CenteredRow<true, T, Exponent, Direction, One> row{exponent, rate,      one,    careful,
                                                               scores,   cotangent, scratch};
      RowCenter<T> center = row.begin(top);
      result = row.project(center, phi.rates_by(parameter, reference));
    }
  };
  return with_exponent<T, !proportional>(phi_for, scores, sum);
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
