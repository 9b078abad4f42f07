#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

/// Exponential and logarithm of packs, without branches: one polynomial each, and integer operations on exponent bits.
namespace incontext::elementary {

namespace detail {
inline namespace INCONTEXT_PACKS {

/// x = 2^e (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1], for positive normal x.
struct Split {
  Pack<float> e, f;
};

INCONTEXT_HD inline Split split(const Pack<float>& x) {
  const auto bits = __builtin_bit_cast(Pack<std::int32_t>, x) - 0x3f3504f3;
  const auto shifted = (bits >> 23) + 0x4b400000;
  const Pack<float> e = __builtin_bit_cast(Pack<float>, shifted) - 12582912.0f;
  const auto fraction = (bits & 0x7fffff) + 0x3f3504f3;
  const Pack<float> f = __builtin_bit_cast(Pack<float>, fraction) - 1.0f;
  return {e, f};
}

}  // namespace INCONTEXT_PACKS
}  // namespace detail

inline namespace INCONTEXT_PACKS {

/// The lowest argument of exp2_of; the result there is 0.
template <class T>
inline constexpr T lowest_power = std::same_as<T, float> ? T(-127) : T(-1023);

/// The binary logarithm of e: octaves per unit of the natural logarithm.
template <class T>
inline constexpr T log2_e = T(1.442695040888963407359924681001892137L);

/// Two to the power of each number of a pack.
///
/// \f[ 2^x = 2^k (1 + r p(r)),\quad k = \mathrm{round}(x),\ |r| \le 1/2 \f]
///
/// Domain    lowest_power <= x <= 0; the caller must clamp smaller arguments.
/// Limits    0 at lowest_power; NaN gives NaN.
/// Accuracy  1.2e-7 relative in float, 2e-16 in double (tests/core/pack_functions.cpp); fit errors 2e-9 and 4e-18.
/// Runs on   host and device
template <std::same_as<float> T>
INCONTEXT_HD inline Pack<float> exp2_of(const Pack<float>& x) {
  constexpr float bias = 12582912.0f + 127.0f;  // 1.5 * 2^23 rounds to the nearest integer; 127 is the exponent of 1
  const Pack<float> shifted = x + bias;
  const Pack<float> r = x - (shifted - bias);
  Pack<float> p = r * 0.000153533673535f + 0.00133988743776f;
  p = p * r + 0.00961843733811f;
  p = p * r + 0.0555033247125f;
  p = p * r + 0.240226479138f;
  p = p * r + 0.693147202855f;
  return (p * r + 1.0f) * __builtin_bit_cast(Pack<float>, __builtin_bit_cast(Pack<std::int32_t>, shifted) << 23);
}

/// The same for doubles.
template <std::same_as<double> T>
INCONTEXT_HD inline Pack<double> exp2_of(const Pack<double>& x) {
  constexpr double bias = 6755399441055744.0 + 1023.0;  // 1.5 * 2^52
  const Pack<double> shifted = x + bias;
  const Pack<double> r = x - (shifted - bias);
  Pack<double> p = r * 4.457157989763744350815e-10 + 7.073733921644042832982e-9;
  p = p * r + 1.017804835051746265257e-7;
  p = p * r + 0.000001321543563554918460551;
  p = p * r + 0.00001525273386162524075609;
  p = p * r + 0.0001540353045620987143488;
  p = p * r + 0.001333355814638770620322;
  p = p * r + 0.00961812910759507724684;
  p = p * r + 0.05550410866482169096136;
  p = p * r + 0.2402265069591012888772;
  p = p * r + 0.6931471805599453094172;
  return (p * r + 1.0) * __builtin_bit_cast(Pack<double>, __builtin_bit_cast(Pack<std::uint64_t>, shifted) << 52);
}

/// Natural logarithms of a pack; in double each is that of `log`.
///
/// \f[ \log x = e \log 2 + \log(1+f),\quad x = 2^e (1+f),\ f \in [\sqrt{1/2}-1, \sqrt 2-1] \f]
///
/// Domain    normal x > 0.
/// Accuracy  in float 1.2e-7 relative to 1/4 + |log x|, fit error of log(1 + f) 3e-8 (tests/core/pack_functions.cpp).
/// Runs on   host and device
template <std::same_as<float> T>
INCONTEXT_HD inline Pack<float> log_of(const Pack<float>& x) {
  const auto [e, f] = detail::split(x);
  Pack<float> p = f * 0.0872236620183f - 0.143668510018f;
  p = p * f + 0.14952266332f;
  p = p * f - 0.165623918629f;
  p = p * f + 0.19956833452f;
  p = p * f - 0.25002074121f;
  p = p * f + 0.333341856306f;
  p = p * f - 0.499999879638f;
  p = p * f + 0.999999974189f;
  return p * f + e * 0.693147180560f;
}

/// The same for doubles.
template <std::same_as<double> T>
INCONTEXT_HD inline Pack<double> log_of(const Pack<double>& x) {
  return detail::log_of_doubles<Pack<double>, Pack<std::uint64_t>>(x);
}

/// Binary logarithms of a pack.
///
/// Domain    normal x > 0.
/// Accuracy  6e-8 + 1 eps |log2 x| (tests/core/pack_functions.cpp).
/// Runs on   host and device
INCONTEXT_HD inline Pack<float> log2_of(const Pack<float>& x) {
  const auto [e, f] = detail::split(x);
  Pack<float> p = f * -0.145758170851f + 0.236882699229f;
  p = p * f - 0.250061064154f;
  p = p * f + 0.28670850709f;
  p = p * f - 0.360088127672f;
  p = p * f + 0.480939393345f;
  p = p * f - 0.721357121277f;
  p = p * f + 1.44269477346f;
  return p * f + e;
}

/// log(1 + x) of a pack, given u = 1 + x computed as a product that does not cancel.
///
/// u is rounded, and its rounding error is x - (u - 1). To first order the logarithm changes by that error over u,
/// which is added to log u. The factor 1/u is taken as max(1 - x, 0): near x = 0 the correction matters and the factor
/// is accurate; far from 0 the difference is only rounding noise, and the factor keeps it small.
///
/// Domain    x > -1.
/// Limits    NaN gives NaN.
/// Accuracy  3e-7 relative in float, 5e-16 in double (tests/core/pack_functions.cpp).
/// Runs on   host and device
template <class T>
INCONTEXT_HD inline Pack<T> log_one_plus_of(const Pack<T>& x, const Pack<T>& u) {
  const Pack<T> lost = x - (u - T(1));
  const Pack<T> share = T(1) - x;
  const Pack<T> zero = pack_of(T(0));
  return log_of<T>(u) + lost * (zero < share ? share : zero);
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::elementary
