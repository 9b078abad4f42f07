#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"

#if defined(__CUDACC__) && !defined(R123_CUDA_DEVICE)
#define R123_CUDA_DEVICE __host__ __device__
#endif
#include <Random123/philox.h>

#include "incontext/random/detail/wide_multiply.hpp"
#include "incontext/random/streams.hpp"

namespace incontext::random {

/// Philox's counter: which block of which stream of which trial is drawn. The seed is Philox's key.
///
/// Runs on   host and device
struct Counter {
  std::uint64_t trial = 0;
  std::uint32_t block = 0;
  std::uint32_t stream = 0;
};

/// The four words of one counter of Philox4x32-10, by Random123: the definition every faster form is tested against.
///
/// \f[ \text{words} = \mathrm{Philox4x32}_{10}(\text{counter} = (\text{trial}_{lo}, \text{trial}_{hi},
///     \text{block}, \text{stream}),\ \text{key} = (\text{seed}_{lo}, \text{seed}_{hi})) \f]
///
/// Source    Salmon, Moraes, Dror, Shaw, SC'11; the counter layout is this library's (changing it breaks every result).
/// Domain    every argument.
/// Accuracy  Random123's known answers (tests/random/philox.cpp).
/// Random    one counter; a pure function of its arguments.
/// Runs on   host and device
INCONTEXT_HD inline void philox(std::uint64_t seed, const Counter& at, std::uint32_t (&words)[4]) {
  const r123::Philox4x32::ctr_type counter{
      {static_cast<std::uint32_t>(at.trial), static_cast<std::uint32_t>(at.trial >> 32), at.block, at.stream}};
  const r123::Philox4x32::key_type key{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type result = r123::Philox4x32{}(counter, key);
  for (int i = 0; i < 4; ++i) words[i] = result.v[i];
}

/// W consecutive trials of a run, the first of which is `first`. A trial's random numbers are a pure function of the
/// run's seed and the trial's number.
///
/// Domain    first a multiple of W.
/// Runs on   host and device
template <int W>
struct Trials {
  std::uint64_t seed;
  std::uint64_t first;
};

/// The same words for W consecutive trials side by side: word k of trial first + lane is words[k][lane].
///
///     const random::LaneStream stream(trials, RowStream::scores);
///
/// The first two of the ten rounds are shared: what depends on the lane alone is computed once per stream, and what
/// depends on the block alone is computed once for all lanes. The products are computed in 64-bit lanes, whose upper
/// halves may hold anything.
///
/// Source    as philox().
/// Shapes    words: 4 rows of W words, Lanes<std::uint32_t, W> or plain arrays.
/// Domain    W a power of two; trials.first a multiple of W (the trial's upper word is then the same in all lanes).
/// Accuracy  every word equals philox()'s (tests/random/philox.cpp).
/// Random    one counter per lane and call; the words do not depend on W.
/// Runs on   host and device (a GPU thread is W = 1)
template <int W>
class LaneStream {
  static_assert(W > 0 && (W & (W - 1)) == 0);

 public:
  INCONTEXT_HD LaneStream(Trials<W> trials, StreamTag stream)
      : key_low_(static_cast<std::uint32_t>(trials.seed)),
        key_high_(static_cast<std::uint32_t>(trials.seed >> 32)),
        trial_high_(static_cast<std::uint32_t>(trials.first >> 32)) {
    for (int lane = 0; lane < W; ++lane) {
      const std::uint32_t trial_low = static_cast<std::uint32_t>(trials.first) + static_cast<std::uint32_t>(lane);
      const detail::WideProduct first = detail::wide_product(trial_low, multiplier0);
      const detail::WideProduct second = detail::wide_product(first.high ^ stream.number() ^ key_high_, multiplier1);
      round1_[lane] = first.low;
      round2_low_[lane] = second.low;
      round2_high_[lane] = second.high;
    }
  }

  template <class Row>
  INCONTEXT_HD void words(std::uint32_t block, Row (&out)[4]) const {
    const detail::WideProduct first = detail::wide_product(block, multiplier1);
    const detail::WideProduct second = detail::wide_product(first.high ^ trial_high_ ^ key_low_, multiplier0);
    const std::uint32_t key_low = key_low_ + weyl0;
    const std::uint32_t key_high = key_high_ + weyl1;
    const std::uint64_t mask0 = first.low ^ key_low;
    const std::uint64_t mask2 = second.high ^ key_high;
    const std::uint64_t word3 = second.low;

    using Products = detail::Products<W>;
    for (int at = 0; at < W; at += Products::stride) {
      auto c0 = Products::exclusive_or(Products::load(round2_high_ + at), mask0);
      auto c1 = Products::load(round2_low_ + at);
      auto c2 = Products::exclusive_or(Products::load(round1_ + at), mask2);
      auto c3 = Products::broadcast(word3);
      std::uint32_t k0 = key_low;
      std::uint32_t k1 = key_high;
      for (int round = 2; round < 10; ++round) {
        k0 += weyl0;
        k1 += weyl1;
        const auto product0 = Products::multiply(c0, multiplier0);
        const auto product1 = Products::multiply(c2, multiplier1);
        c0 = Products::mix(product1, c1, k0);
        c2 = Products::mix(product0, c3, k1);
        c1 = product1;
        c3 = product0;
      }
      Products::store(&out[0][at], c0);
      Products::store(&out[1][at], c1);
      Products::store(&out[2][at], c2);
      Products::store(&out[3][at], c3);
    }
  }

 private:
  static constexpr std::uint32_t multiplier0 = 0xD2511F53u;
  static constexpr std::uint32_t multiplier1 = 0xCD9E8D57u;
  static constexpr std::uint32_t weyl0 = 0x9E3779B9u;
  static constexpr std::uint32_t weyl1 = 0xBB67AE85u;

  std::uint32_t key_low_;
  std::uint32_t key_high_;
  std::uint32_t trial_high_;
  alignas(W >= 8 ? 64 : 8) std::uint64_t round1_[W];
  alignas(W >= 8 ? 64 : 8) std::uint64_t round2_low_[W];
  alignas(W >= 8 ? 64 : 8) std::uint64_t round2_high_[W];
};

}  // namespace incontext::random
