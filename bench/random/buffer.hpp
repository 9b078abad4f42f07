#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench/support/answer.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"

/// The common part of the sampler benchmarks: a buffer of 64 blocks that stays in the nearest cache and is filled again
/// and again.
namespace incontext::bench {

inline constexpr int buffer_blocks = 64;

/// Reports numbers per second and bytes per second.
template <class T>
void declare(benchmark::State& state, std::int64_t numbers) {
  state.SetItemsProcessed(state.iterations() * numbers);
  state.SetBytesProcessed(state.iterations() * numbers * static_cast<std::int64_t>(sizeof(T)));
}

/// Whether the mean of f over `fills` fills of the buffer agrees with the law.
template <class T, class Fill, class Function>
bool has_mean(benchmark::State& state, T* buffer, std::int64_t numbers, const Fill& fill, double theory,
              const Function& f) {
  constexpr std::uint32_t fills = 64;
  statistics::Moments moments;
  for (std::uint32_t i = 0; i < fills; ++i) {
    fill(i);
    for (std::int64_t k = 0; k < numbers; ++k) buffer[k] = static_cast<T>(f(buffer[k]));
    moments = statistics::merge(moments, statistics::moments_of(buffer, numbers));
  }
  return agrees(state, theory, statistics::Estimate(moments));
}

}  // namespace incontext::bench
