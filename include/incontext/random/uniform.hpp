#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"

namespace incontext::random {

/// A uniform number in the half-open interval (0, 1] from the lower 31 bits of a word; its logarithm is finite.
///
/// \f[ u = \mathrm{fl}(2k + 1)\, 2^{-31},\quad k \text{ of 30 bits} \f]
///
/// Source    derived: docs/theory/statistics.md#uniforms; 31 bits, because AVX2 converts signed integers only.
/// Domain    every word; bits 0 and 31 do not matter.
/// Limits    smallest 2^-31; largest exactly 1 (rounding of the 32 largest k); 0 never.
/// Accuracy  mean and variance of U(0,1) to 2^-24 (tests/random/uniform.cpp).
/// Random    one word.
/// Runs on   host and device
INCONTEXT_HD inline float uniform_open_closed(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>((word & 0x7fffffffu) | 1u)) * 0x1p-31f;
}

/// A uniform number in the open interval (0, 1) from two words: \f$ (k + 1/2)\, 2^{-52} \f$, k of 52 bits.
///
/// Source    derived: docs/theory/statistics.md#uniforms; made exactly, from the mantissa of a number in [1, 2).
/// Domain    every pair of words.
/// Limits    smallest 2^-53, largest 1 - 2^-53; 0 and 1 never.
/// Accuracy  exact (tests/random/uniform.cpp).
/// Random    two words.
/// Runs on   host and device
INCONTEXT_HD inline double uniform_open(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t mantissa = (std::uint64_t{high} << 20) | (low >> 12);
  return (__builtin_bit_cast(double, mantissa | 0x3ff0000000000000ULL) - 1.0) + 0x1p-53;
}

/// A uniform number in the open interval (0, 1) from one word: \f$ (k + 1/2)\, 2^{-23} \f$, k of 23 bits.
///
/// Source    derived: docs/theory/statistics.md#uniforms; made exactly, from the mantissa of a number in [1, 2).
/// Domain    every word.
/// Limits    smallest 2^-24, largest 1 - 2^-24; 0 and 1 never.
/// Accuracy  exact (tests/random/uniform.cpp).
/// Random    one word.
/// Runs on   host and device
INCONTEXT_HD inline float uniform_open(std::uint32_t word) {
  return (__builtin_bit_cast(float, (word >> 9) | 0x3f800000u) - 1.0f) + 0x1p-24f;
}

}  // namespace incontext::random
