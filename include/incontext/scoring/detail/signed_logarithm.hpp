#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::scoring::detail {

/// The same difference as the logarithm of one product. Its rounding is multiplied by k, so it is for small k.
struct SignedProductExponent {
  float knee;
  float exponent;
  float negative_rate;
  float positive_rate;

  INCONTEXT_HD Pack<float> operator()(const Pack<float>& z) const {
    const auto below = z < pack_of(0.0f);
    const Pack<float> size = __builtin_bit_cast(Pack<float>, __builtin_bit_cast(Pack<std::int32_t>, z) & 0x7fffffff);
    const Pack<float> ratio = (size + knee) * (below ? pack_of(negative_rate) : pack_of(positive_rate));
    const Pack<float> lost = z - z;  // 0, but NaN for NaN, which the logarithm's integer steps would lose
    return elementary::log2_of(ratio) * (below ? pack_of(-exponent) : pack_of(exponent)) + lost;
  }
};

/// phi(z) - phi(reference) of SSA in octaves. On the reference's side of zero it is k log(1 + (|z| - |r|) / (c + |r|)),
/// on the other side k (log(1 + |z| / c) + log(1 + |r| / c)), each times the sign of z.
template <class T>
struct SignedLogarithmExponent {
  struct Side {
    T from;    // |r|, or 0
    T rate;    // 1 / (c + |r|), or 1 / c
    T offset;  // 0, or log(1 + |r| / c)
  };
  T knee;
  T exponent;
  Side negative;
  Side positive;

  INCONTEXT_HD static bool is_normal(const T& x) { return math::Constants<T>::smallest <= x && math::is_finite(x); }
  INCONTEXT_HD bool fits(const RowExtent<T>& extent) const {
    for (const Side& side : {negative, positive}) {
      if (!is_normal(side.rate) || !is_normal(T(knee * side.rate)) || !math::is_finite(side.offset)) return false;
      if (!math::is_finite(T((knee + extent.largest_size()) * side.rate))) return false;
    }
    return is_normal(knee);
  }
  /// The form with one product, in which the rate of the other side contains 1 + |r| / c.
  INCONTEXT_HD SignedProductExponent quick() const {
    return {knee, exponent, product_rate(negative), product_rate(positive)};
  }
  /// Whether the product is as accurate as softmax_of.hpp promises.
  INCONTEXT_HD bool quick_fits(const RowExtent<T>& extent) const {
    const T size = knee + extent.largest_size();
    return exponent <= T(1.5) && math::is_finite(T(size * product_rate(negative))) &&
           math::is_finite(T(size * product_rate(positive)));
  }
  INCONTEXT_HD T product_rate(const Side& side) const {
    const T size = negative.from + positive.from;  // |r|: one of them is 0
    return T(0) < side.offset ? T(side.rate * (T(1) + size * side.rate)) : side.rate;
  }
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z) const {
    const auto below = z < pack_of(T(0));
    const Pack<T> size = below ? -z : z;
    const Pack<T> from = below ? pack_of(negative.from) : pack_of(positive.from);
    const Pack<T> rate = below ? pack_of(negative.rate) : pack_of(positive.rate);
    const Pack<T> offset = below ? pack_of(negative.offset) : pack_of(positive.offset);
    const Pack<T> logarithm = elementary::log_one_plus_of<T>((size - from) * rate, (size + knee) * rate);
    const T octaves = exponent * elementary::log2_e<T>;
    return (logarithm + offset) * (below ? pack_of(T(-octaves)) : pack_of(octaves));
  }
};

/// phi'(z) = k / (c + |z|).
template <class T>
struct SignedLogarithmSlope {
  T knee;
  T exponent;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z) const {
    return pack_of(exponent) / ((z < pack_of(T(0)) ? -z : z) + knee);
  }
};

/// d phi / d k, less that at the reference: the difference of logarithms itself.
template <class T>
struct SignedLogarithmByExponent {
  SignedLogarithmExponent<T> difference;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>&) const {
    return difference(z) * (T(1) / (elementary::log2_e<T> * difference.exponent));
  }
};

/// d phi / d (b / tau), less that at the reference w, times a factor: k (z - w) c / (c + |z|) c / (c + |w|) on the side
/// of w, and k (z c / (c + |z|) - w c / (c + |w|)) on the other.
template <class T>
struct SignedLogarithmBySteepness {
  T knee;
  T rate;  // k times the factor
  T reference;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>&) const {
    const auto below = z < pack_of(T(0));
    const Pack<T> far_factor = pack_of(knee) / ((below ? -z : z) + knee);
    const T near_factor = knee / (knee + math::magnitude(reference));
    const Pack<T> same = (z - reference) * far_factor * near_factor;
    const Pack<T> other = z * far_factor - reference * near_factor;
    const Pack<T> when_below = reference < T(0) ? same : other, when_above = reference < T(0) ? other : same;
    return (below ? when_below : when_above) * rate;
  }
};

/// phi(z) = sgn(z) k log(1 + |z| / c), c = tau / b. Differences of two scores of one sign go through
/// (z - w) / (c + |w|); for different signs both parts add up, so the plain difference is exact to rounding.
template <Real T>
struct SignedLogarithm {
  static constexpr bool ignores_count = true;
  T knee;      // c
  T exponent;  // k
  T base;      // b
  T temperature;

  INCONTEXT_HD bool in_domain() const {
    return T(0) < base && T(0) < temperature && T(1) <= exponent && math::is_finite(exponent) && T(0) < knee &&
           math::is_finite(knee);
  }
  INCONTEXT_HD bool decreasing() const { return false; }
  INCONTEXT_HD static bool same_sign(const T& z, const T& w) { return (T(0) <= z) == (T(0) <= w); }
  INCONTEXT_HD T logarithm(const T& size) const {
    using std::log;
    const T ratio = size / knee;
    if (math::is_finite(ratio)) return math::log_one_plus(ratio);
    return log(size) - log(knee);
  }
  INCONTEXT_HD T value(const T& z) const {
    return z < T(0) ? T(-exponent * logarithm(T(-z))) : T(exponent * logarithm(z));
  }
  INCONTEXT_HD T difference(const T& z, const T& w) const {
    using std::log;
    if (!same_sign(z, w)) return value(z) - value(w);
    const T size = math::magnitude(z);
    const T reference = math::magnitude(w);
    const T change = (size - reference) / (knee + reference);
    const T ratio = (knee + size) / (knee + reference);
    const T growth = math::magnitude(change) <= T(0.5) ? math::log_one_plus(change) : T(log(ratio));
    return z < T(0) ? T(-exponent * growth) : T(exponent * growth);
  }
  INCONTEXT_HD SignedLogarithmExponent<T> exponent_from(const T& reference) const {
    const T size = math::magnitude(reference);
    const typename SignedLogarithmExponent<T>::Side own{size, T(T(1) / (knee + size)), T(0)};
    const typename SignedLogarithmExponent<T>::Side other{T(0), T(T(1) / knee), logarithm(size)};
    if (reference < T(0)) return {knee, exponent, own, other};
    return {knee, exponent, other, own};
  }
  INCONTEXT_HD SignedLogarithmSlope<T> slopes() const { return {knee, exponent}; }
  INCONTEXT_HD T rate_in_phi(parameter::Exponent) const { return T(1) / exponent; }
  INCONTEXT_HD SignedLogarithmByExponent<T> rates_by(parameter::Exponent, const T& reference) const {
    return {exponent_from(reference)};
  }
  INCONTEXT_HD SignedLogarithmBySteepness<T> rates_by(parameter::Base, const T& reference) const {
    return {knee, T(exponent / temperature), reference};
  }
  INCONTEXT_HD SignedLogarithmBySteepness<T> rates_by(parameter::Temperature, const T& reference) const {
    return {knee, T(-exponent * (base / temperature) / temperature), reference};
  }
  INCONTEXT_HD T slope(const T& z) const { return exponent / (knee + math::magnitude(z)); }
  INCONTEXT_HD T curvature(const T& z) const {
    const T distance = knee + math::magnitude(z);
    if (z < T(0)) return exponent / distance / distance;
    return T(0) < z ? T(-exponent / distance / distance) : T(0);
  }
  /// d phi / d (b / tau) = k z / (1 + |z| / c), as a difference.
  INCONTEXT_HD T difference_by_steepness(const T& z, const T& w) const {
    const T far_factor = knee / (knee + math::magnitude(z));
    const T near_factor = knee / (knee + math::magnitude(w));
    if (same_sign(z, w)) return exponent * (z - w) * far_factor * near_factor;
    return exponent * (z * far_factor - w * near_factor);
  }
  INCONTEXT_HD T difference_by(parameter::Exponent, const T& z, const T& w) const {
    return difference(z, w) / exponent;
  }
  INCONTEXT_HD T difference_by(parameter::Base, const T& z, const T& w) const {
    return difference_by_steepness(z, w) / temperature;
  }
  INCONTEXT_HD T difference_by(parameter::Temperature, const T& z, const T& w) const {
    return -difference_by_steepness(z, w) * (base / temperature) / temperature;
  }
};

}  // namespace incontext::scoring::detail
