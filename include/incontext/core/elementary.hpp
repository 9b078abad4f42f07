#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"

/// Elementary functions made of + - * / and integer operations only, without branches. Therefore compilers vectorize
/// them over lanes, and every compiler, instruction set and back end gives the same bits (with contraction off). The
/// standard library's functions have neither property. The coefficients are Remez fits
/// (tests/oracles/generate/polynomials.py), not taken from a library.
namespace incontext::elementary {

/// Minus twice the natural logarithm of a positive normal number: the square of Box and Muller's radius.
///
/// \f[ -2\log x = f q(f) - 2 e \log 2,\quad x = 2^e (1+f),\ f \in [\sqrt{1/2}-1, \sqrt 2-1] \f]
///
/// Source    derived: docs/theory/statistics.md#elementary-functions; relative fit error 1.7e-7.
/// Domain    normal x > 0; anything else gives an unspecified number.
/// Limits    -0 at 1, where it changes sign.
/// Accuracy  3e-7 relative (tests/core/elementary.cpp).
/// Runs on   host and device
INCONTEXT_HD inline float minus_two_log(float x) {
  const std::int32_t bits = __builtin_bit_cast(std::int32_t, x) - 0x3f3504f3;
  const auto e = static_cast<float>(bits >> 23);
  const float f = __builtin_bit_cast(float, (bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  float q = 0.202137966438f;
  q = q * f - 0.324451608054f;
  q = q * f + 0.345016578256f;
  q = q * f - 0.398003310699f;
  q = q * f + 0.499398182736f;
  q = q * f - 0.6667011788f;
  q = q * f + 1.00000730243f;
  q = q * f - 1.99999989062f;
  return f * q - e * 1.38629436112f;
}

namespace detail {

/// The logarithm of one double, or of a pack of doubles; Bits is as many unsigned integers of 64 bits.
template <class Number, class Bits>
INCONTEXT_HD inline Number log_of_doubles(const Number& x) {
  const Bits bits = __builtin_bit_cast(Bits, x);
  // The biased exponent is put into the mantissa of 2^52 to become a double, as AVX2 cannot convert 64-bit integers.
  const Bits biased = (bits + (0x3ff0000000000000ULL - 0x3fe6a09e667f3bcdULL)) >> 52;
  const Number e = __builtin_bit_cast(Number, biased | 0x4330000000000000ULL) - (4503599627370496.0 + 1023.0);
  const Number f = __builtin_bit_cast(Number, bits - ((biased - 1023) << 52)) - 1.0;
  const Number s = f / (2.0 + f);
  const Number w = s * s;
  Number r = 0.1461773786533966642455 * w + 0.1533160786884683813653;
  r = r * w + 0.1818289289049445234233;
  r = r * w + 0.2222221107734689412176;
  r = r * w + 0.2857142862637162342149;
  r = r * w + 0.3999999999989850581555;
  r = r * w + 0.6666666666666669726874;
  return e * 0.693147180369123816490 + (2.0 * s + (s * w * r + e * 1.90821492927058770002e-10));
}

}  // namespace detail

/// Natural logarithm of a positive normal number in double, fit error 3e-16 on R.
///
/// \f[ \log x = e \log 2 + 2s + s^3 R(s^2),\quad s = f/(2+f),\ x = 2^e (1+f) \f]
///
/// Source    derived: docs/theory/statistics.md#elementary-functions.
/// Domain    normal x > 0; anything else gives an unspecified number.
/// Accuracy  4e-16 relative (tests/core/elementary.cpp).
/// Runs on   host and device
INCONTEXT_HD inline double log(double x) { return detail::log_of_doubles<double, std::uint64_t>(x); }

/// The exponential function. It is 0 from half an octave below the normal range on, and it does not clamp large x.
///
/// \f[ e^x = 2^k (1 + r + r^2 q(r)),\quad k = \mathrm{round}(x / \log 2),\ |r| \le \log(2)/2 \f]
///
/// Source    derived: docs/theory/statistics.md#elementary-functions; relative fit error 4.5e-9.
/// Domain    x <= 88, meant for the non-positive arguments of a shifted softmax.
/// Limits    0 for x < -87.6832, -infinity included; NaN gives NaN.
/// Accuracy  9e-8 relative for x >= -87.33 (tests/core/elementary.cpp).
/// Runs on   host and device
INCONTEXT_HD inline float exp(float x) {
  const float clamped = x < -88.0f ? -88.0f : x;
  const float shifted = clamped * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to the nearest integer
  const float k = shifted - 12582912.0f;
  const float r = (clamped - k * 0.693145752f) - k * 1.42860677e-6f;
  float q = 0.00139503189474f;
  q = q * r + 0.00836881479128f;
  q = q * r + 0.0416662091606f;
  q = q * r + 0.166665196259f;
  q = q * r + 0.500000009362f;
  const auto exponent = __builtin_bit_cast(std::int32_t, shifted) - __builtin_bit_cast(std::int32_t, 12582912.0f) + 127;
  return (1.0f + (r + r * r * q)) * __builtin_bit_cast(float, exponent << 23);
}

/// The exponential function in double; the relative error of the fit is 5e-18.
///
/// Source    derived: docs/theory/statistics.md#elementary-functions.
/// Domain    x <= 709, meant for the non-positive arguments of a shifted softmax.
/// Limits    0 for x < -708.743, -infinity included; NaN gives NaN.
/// Accuracy  2e-16 relative for x >= -708.39 (tests/core/elementary.cpp).
/// Runs on   host and device
INCONTEXT_HD inline double exp(double x) {
  const double clamped = x < -709.0 ? -709.0 : x;
  const double shifted = clamped * 1.4426950408889634 + 6755399441055744.0;  // 1.5 * 2^52
  const double k = shifted - 6755399441055744.0;
  const double r = (clamped - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
  double q = 2.511758941704231217254e-8;
  q = q * r + 2.763084135732188733382e-7;
  q = q * r + 2.755721726243542644623e-6;
  q = q * r + 2.480149129943641436234e-5;
  q = q * r + 1.984126991615285381791e-4;
  q = q * r + 1.388888894553919604812e-3;
  q = q * r + 8.333333333307872858488e-3;
  q = q * r + 0.04166666666652197144192;
  q = q * r + 0.1666666666666669778935;
  q = q * r + 0.5000000000000011777601;
  const std::int64_t exponent =
      __builtin_bit_cast(std::int64_t, shifted) - __builtin_bit_cast(std::int64_t, 6755399441055744.0) + 1023;
  return (1.0 + (r + r * r * q)) * __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent) << 52);
}

/// Sine and cosine of an angle of at most a quarter of a turn either way: \f$ \sin 2\pi t,\ \cos 2\pi t \f$.
///
/// Source    derived: docs/theory/statistics.md#elementary-functions; fit errors 4e-9 and 5e-8.
/// Units     t in turns.
/// Domain    |t| <= 1/4; outside, an unspecified number.
/// Accuracy  2.1e-7 absolute (tests/core/elementary.cpp).
/// Runs on   host and device
INCONTEXT_HD inline void sincos_turns(float t, float& sine, float& cosine) {
  const float s = t * t;
  float p = 39.574331832f;
  p = p * s - 76.5553989874f;
  p = p * s + 81.6012906907f;
  p = p * s - 41.3416607084f;
  p = p * s + 6.28318519391f;
  sine = p * t;
  float q = 56.2423798955f;
  q = q * s - 85.2403302741f;
  q = q * s + 64.9345906262f;
  q = q * s - 19.7391714347f;
  q = q * s + 0.999999953467f;
  cosine = q;
}

/// Sine and cosine in double; the errors of the fits are 1e-18.
///
/// Source    derived: docs/theory/statistics.md#elementary-functions.
/// Units     t in turns.
/// Domain    |t| <= 1/4; outside, an unspecified number.
/// Accuracy  4e-16 absolute (tests/core/elementary.cpp).
/// Runs on   host and device
INCONTEXT_HD inline void sincos_turns(double t, double& sine, double& cosine) {
  const double s = t * t;
  double p = 0.1008974941339097441924;
  p = p * s - 0.7177339268957268464895;
  p = p * s + 3.819928107910228494796;
  p = p * s - 15.09464167684135136254;
  p = p * s + 42.05869392544987180028;
  p = p * s - 76.70585975282525623654;
  p = p * s + 81.60524927607361781584;
  p = p * s - 41.34170224039975686973;
  p = p * s + 6.283185307179586475628;
  sine = p * t;
  double q = -0.03521975831703918169582;
  q = q * s + 0.2818523025525229149902;
  q = q * s - 1.714379442189919322027;
  q = q * s + 7.903535871422664731859;
  q = q * s - 26.42625676964291264384;
  q = q * s + 60.24464137164697807321;
  q = q * s - 85.45681720669152078504;
  q = q * s + 64.93939402266828072125;
  q = q * s - 19.73920880217871721728;
  q = q * s + 0.9999999999999999999936;
  cosine = q;
}

}  // namespace incontext::elementary
