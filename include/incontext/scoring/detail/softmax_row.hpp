#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

/// Softmax of a whole row over packs, in three passes: one finds the largest score, one writes the exponentials to the
/// output and sums them, one scales them. The order of all sums is fixed, whatever the width of a pack.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// The lowest and the highest score of a row and how many scores are visible; NaN is not detected.
template <class T>
struct RowExtent {
  T low = math::infinity<T>();  // of the visible scores
  T high = -math::infinity<T>();
  std::ptrdiff_t count = 0;

  INCONTEXT_HD T largest_size() const {
    return math::magnitude(low) < math::magnitude(high) ? math::magnitude(high) : math::magnitude(low);
  }
};

/// The exponent factor (z - reference), in octaves (base 2).
template <class T>
struct LinearExponent {
  T octaves;
  T reference;

  INCONTEXT_HD LinearExponent(const T& factor, const T& from)
      : octaves(factor * elementary::log2_e<T>), reference(from) {}
  INCONTEXT_HD bool fits(const RowExtent<T>& extent) const {
    return math::Constants<T>::smallest <= math::magnitude(octaves) && math::is_finite(octaves) &&
           math::is_finite(extent.high - extent.low);
  }
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z) const { return (z - reference) * octaves; }
};

/// The slope of a linear phi, or any factor that is the same for a whole row.
template <class T>
struct ConstantFactor {
  T factor;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>&) const { return pack_of(factor); }
};

/// The derivative of a linear phi with respect to a parameter, less that at the reference: rate (z - reference).
template <class T>
struct LinearRate {
  T rate;
  T reference;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>&) const { return (z - reference) * rate; }
};

/// A phi whose differences to a reference can be computed over packs.
template <class Phi, class T>
concept PackedPhi = (std::same_as<T, float> || std::same_as<T, double>)&&requires(const Phi& phi, T z) {
  { phi.exponent_from(z)(Pack<T>{}) } -> std::same_as<Pack<T>>;
};

/// Sets the lowest visible score and the number of visible scores of a row with masks.
template <class T>
INCONTEXT_HD void find_visible(Row<const T> row, RowExtent<T>& extent) {
  constexpr int width = pack_width<T>;
  constexpr std::ptrdiff_t stretch = std::ptrdiff_t{row_block} << 14;  // a lane then counts to 2^20, exact in float
  const T mask = T(-math::infinity<T>());
  Pack<T> low = pack_of(math::infinity<T>()), seen = pack_of(T(0));
  extent.count = 0;
  const auto collect = [&] {
    T counts[width];
    store_pack(counts, seen);
    for (int l = 0; l < width; ++l) extent.count += static_cast<std::ptrdiff_t>(counts[l]);
    seen = pack_of(T(0));
  };
  for_each_block<T>(row, mask, [&](const T* block, std::ptrdiff_t first, bool) {
    if (first % stretch == 0) collect();
    for (int l = 0; l < row_block; l += width) {
      const Pack<T> z = load_pack(block + l);
      const Pack<T> shown = z <= pack_of(mask) ? pack_of(math::infinity<T>()) : z;
      low = shown < low ? shown : low;
      seen += z <= pack_of(mask) ? pack_of(T(0)) : pack_of(T(1));
    }
  });
  collect();
  T lows[width];
  store_pack(lows, low);
  extent.low = math::infinity<T>();
  for (int l = 0; l < width; ++l) extent.low = lows[l] < extent.low ? lows[l] : extent.low;
}

template <class T>
INCONTEXT_HD RowExtent<T> extent_of(Row<const T> row) {
  constexpr int width = pack_width<T>;
  constexpr int side_by_side = width == 1 ? 1 : 4;
  Pack<T> low[side_by_side], high[side_by_side];
  for (int k = 0; k < side_by_side; ++k) {
    low[k] = pack_of(math::infinity<T>());
    high[k] = pack_of(T(-math::infinity<T>()));
  }
  for_each_block<T>(row, row[0], [&](const T* block, std::ptrdiff_t, bool) {
    for (int l = 0; l < row_block; l += side_by_side * width) {
      for (int k = 0; k < side_by_side; ++k) {
        const Pack<T> z = load_pack(block + l + k * width);
        low[k] = z < low[k] ? z : low[k];
        high[k] = high[k] < z ? z : high[k];
      }
    }
  });
  RowExtent<T> extent;
  for (int k = 0; k < side_by_side; ++k) {
    T lows[width], highs[width];
    store_pack(lows, low[k]);
    store_pack(highs, high[k]);
    for (int l = 0; l < width; ++l) {
      if (lows[l] < extent.low) extent.low = lows[l];
      if (extent.high < highs[l]) extent.high = highs[l];
    }
  }
  extent.count = row.size;
  if (!is_visible(extent.low)) find_visible<T>(row, extent);
  return extent;
}

/// to_i = 2^exponent(z_i) of one block; `careful` if a score may be masked or a power may be below the normal range.
template <bool careful, class T, class Exponent>
INCONTEXT_HD inline void write_block(const Exponent& exponent, const T* z, T* to, LaneSum<T>& total) {
  constexpr int width = pack_width<T>;
  for (int p = 0; p < LaneSum<T>::packs; ++p) {
    Pack<T> power[4];
    for (int g = 0; g < 4; ++g) {
      power[g] = power_of<careful, T>(exponent, load_pack(z + g * sum_lanes + p * width));
    }
    for (int g = 0; g < 4; ++g) store_pack(to + g * sum_lanes + p * width, power[g]);
    total.add(p, (power[0] + power[1]) + (power[2] + power[3]));
  }
}

/// Writes out_i = 2^exponent(z_i) and returns their sum.
template <class T, class Exponent>
INCONTEXT_HD T write_powers(const Exponent& exponent, bool careful, Row<const T> scores, Row<T> out) {
  LaneSum<T> total;
  const bool in_place = !careful && scores.stride == 1 && out.stride == 1;
  std::ptrdiff_t first = 0;
  for (; in_place && first + row_block <= scores.size; first += row_block) {
    expect_next_row(scores, first);
    expect_next_row(Row<const T>(out), first);
    write_block<false>(exponent, scores.data + first, out.data + first, total);
  }
  alignas(64) T copy[row_block], powers[row_block];
  for (; first < scores.size; first += row_block) {
    const T* const z = block_of<T>(scores, first, T(-math::infinity<T>()), copy);
    write_block<true>(exponent, z, powers, total);
    for (int l = 0; l < row_block && first + l < out.size; ++l) out[first + l] = powers[l];
  }
  return total.value();
}

/// Writes the weights, given the exponent as a function of packs and the score whose exponent is lowest.
template <class T, class Exponent>
INCONTEXT_HD void write_normalized_powers(const Exponent& exponent, const T& farthest, bool masked, Row<const T> scores,
                                          Row<T> out) {
  T octaves[pack_width<T>];
  store_pack(octaves, exponent(pack_of(farthest)));
  const bool careful = pack_width<T> == 1 || masked || !(elementary::lowest_power<T> + 1 < octaves[0]);
  const T total = write_powers<T>(exponent, careful, scores, out);
  const T factor = math::is_finite(total) ? T(T(1) / total) : math::not_a_number<T>();
  std::ptrdiff_t i = 0;
  for (; out.stride == 1 && i + row_block <= out.size; i += row_block) {
    for (int l = 0; l < row_block; l += pack_width<T>) {
      store_pack(out.data + i + l, load_pack<T>(out.data + i + l) * factor);
    }
  }
  for (; i < out.size; ++i) out[i] = out[i] * factor;
}

/// Writes the weights softmax(phi(z)). False, and nothing is written, if packs cannot represent the exponents.
template <class T, class Phi>
  requires PackedPhi<Phi, T>
INCONTEXT_HD bool write_packed_softmax(const Phi& phi, const RowExtent<T>& extent, Row<const T> scores, Row<T> out) {
  if (extent.count == 0 || !math::is_finite(extent.high) || !phi.in_domain()) return false;
  const auto exponent = phi.exponent_from(phi.decreasing() ? extent.low : extent.high);
  if (!exponent.fits(extent)) return false;
  const T farthest = phi.decreasing() ? extent.high : extent.low;
  const bool masked = extent.count < scores.size;
  if constexpr (std::same_as<T, float> && requires { exponent.quick(); }) {
    if (exponent.quick_fits(extent)) {
      write_normalized_powers<T>(exponent.quick(), farthest, masked, scores, out);
      return true;
    }
  }
  write_normalized_powers<T>(exponent, farthest, masked, scores, out);
  return true;
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
