#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/uniform.hpp"

namespace incontext::random {

/// How many normals one counter of four words gives: four in single precision, two in double precision.
template <class T>
inline constexpr int normals_per_block = sizeof(T) == 4 ? 4 : 2;

/// Two independent standard normals from two words, by Box and Muller's method with half a turn and a random sign.
///
/// \f[ \pm\sqrt{-2 \log u}\,(\cos 2\pi t, \sin 2\pi t),\quad u \in (0,1],\ t \in [-1/4, 1/4] \f]
///
/// Source    Box and Muller 1958; half of the circle and a sign: docs/theory/statistics.md#normals.
/// Domain    every pair of words.
/// Limits    |z| <= 6.5556, since u >= 2^-31.
/// Accuracy  3.5e-7 of the radius against the same map in double; law and moments (tests/random/normal.cpp).
/// Random    two words; bits depend on neither libm, compiler, nor instruction set.
/// Runs on   host and device
INCONTEXT_HD inline void box_muller(std::uint32_t word0, std::uint32_t word1, float& first, float& second) {
  using std::sqrt;
  const float radius = sqrt(elementary::minus_two_log(uniform_open_closed(word0)));
  const float flipped = __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, radius) ^ (word0 & 0x80000000u));
  float sine, cosine;
  elementary::sincos_turns(static_cast<float>(static_cast<std::int32_t>(word1)) * 0x1p-33f, sine, cosine);
  first = flipped * cosine;
  second = flipped * sine;
}

/// The same method in double, from four words that make uniforms of 52 bits.
///
/// Source    as in single precision.
/// Domain    every four words.
/// Limits    |z| <= 8.572, since u >= 2^-53.
/// Accuracy  6e-16 of the radius (tests/random/normal_50digits.cpp); law and moments (tests/random/normal.cpp).
/// Random    four words.
/// Runs on   host and device
INCONTEXT_HD inline void box_muller(std::uint32_t word0, std::uint32_t word1, std::uint32_t word2, std::uint32_t word3,
                                    double& first, double& second) {
  using std::sqrt;
  const double radius = sqrt(-2.0 * elementary::log(uniform_open(word0, word1)));
  const double flipped =
      __builtin_bit_cast(double, __builtin_bit_cast(std::uint64_t, radius) ^ (std::uint64_t{word3} << 63));
  double sine, cosine;
  elementary::sincos_turns(0.5 * uniform_open(word2, word3) - 0.25, sine, cosine);
  first = flipped * cosine;
  second = flipped * sine;
}

/// The standard normals of one block for W trials: normal i of trial `lane` is out[i][lane].
///
/// Source    box_muller on LaneStream's words.
/// Shapes    out: normals_per_block rows of W numbers, Lanes<T, W> or plain arrays, T float or double.
/// Domain    as LaneStream.
/// Accuracy  as box_muller.
/// Random    one counter per lane; normal i of a stream is number i mod normals_per_block of block
///           i / normals_per_block.
/// Runs on   host and device
template <int W, class Row, int size>
INCONTEXT_HD void normals(const LaneStream<W>& stream, std::uint32_t block, Row (&out)[size]) {
  using T = std::remove_cvref_t<decltype(out[0][0])>;
  static_assert(size == normals_per_block<T>);
  Lanes<std::uint32_t, W> words[4];
  stream.words(block, words);
  if constexpr (sizeof(T) == 4) {
    for (int pair = 0; pair < 4; pair += 2) {
      for (int lane = 0; lane < W; ++lane) {
        box_muller(words[pair][lane], words[pair + 1][lane], out[pair][lane], out[pair + 1][lane]);
      }
    }
  } else {
    for (int lane = 0; lane < W; ++lane) {
      box_muller(words[0][lane], words[1][lane], words[2][lane], words[3][lane], out[0][lane], out[1][lane]);
    }
  }
}

}  // namespace incontext::random
