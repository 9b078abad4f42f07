#include "incontext/random/normal.hpp"

#include <cstdint>

#include "bench/random/buffer.hpp"

// The sampler alone: Philox4x32-10 and Box-Muller, W trials side by side. W = 64 is the number on a CPU thread; W = 1
// is the form of a GPU thread, which here measures the gain from lanes.

namespace {

using namespace incontext;

template <class T, int W>
void normals(benchmark::State& state) {
  constexpr int per_block = random::normals_per_block<T>;
  constexpr std::int64_t numbers = std::int64_t{bench::buffer_blocks} * per_block * W;
  alignas(64) static T buffer[bench::buffer_blocks][per_block][W];
  const random::LaneStream<W> stream({1, 0}, random::StreamTag(0));
  const auto fill = [&](std::uint32_t round) {
    for (std::uint32_t block = 0; block < bench::buffer_blocks; ++block) {
      random::normals(stream, round * bench::buffer_blocks + block, buffer[block]);
    }
  };
  T* const first = &buffer[0][0][0];
  if (!bench::has_mean(state, first, numbers, fill, 1, [](T z) { return z * z; })) return;
  if (!bench::has_mean(state, first, numbers, fill, 3, [](T z) { return z * z * z * z; })) return;

  std::uint32_t round = 0;
  for (auto _ : state) {
    fill(round++);
    benchmark::DoNotOptimize(first);
    benchmark::ClobberMemory();
  }
  bench::declare<T>(state, numbers);
}

}  // namespace

BENCHMARK_TEMPLATE(normals, float, 64);
BENCHMARK_TEMPLATE(normals, double, 64);
BENCHMARK_TEMPLATE(normals, float, 1);
BENCHMARK_TEMPLATE(normals, double, 1);
