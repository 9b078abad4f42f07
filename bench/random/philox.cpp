#include "incontext/random/philox.hpp"

#include <cstdint>

#include "bench/random/buffer.hpp"

// Random words alone, W counters side by side, beside Random123's own function, one counter at a time.

namespace {

using namespace incontext;

template <int W>
void lane_words(benchmark::State& state) {
  alignas(64) static std::uint32_t buffer[bench::buffer_blocks][4][W];
  const random::LaneStream<W> stream({7, 64}, random::StreamTag(3));
  for (std::uint32_t block = 0; block < bench::buffer_blocks; ++block) {
    stream.words(block, buffer[block]);
    for (std::uint32_t lane = 0; lane < W; ++lane) {
      std::uint32_t expected[4];
      random::philox(7, {64 + lane, block, 3}, expected);
      for (int k = 0; k < 4; ++k) {
        if (!bench::equals(state, expected[k], buffer[block][k][lane], 0)) return;
      }
    }
  }
  std::uint32_t round = 0;
  for (auto _ : state) {
    for (std::uint32_t block = 0; block < bench::buffer_blocks; ++block) {
      stream.words(round * bench::buffer_blocks + block, buffer[block]);
    }
    ++round;
    benchmark::DoNotOptimize(&buffer[0]);
    benchmark::ClobberMemory();
  }
  bench::declare<std::uint32_t>(state, std::int64_t{bench::buffer_blocks} * 4 * W);
}

void random123_words(benchmark::State& state) {
  std::uint32_t words[4];
  random::philox(~std::uint64_t{0}, {~std::uint64_t{0}, ~std::uint32_t{0}, ~std::uint32_t{0}}, words);
  if (!bench::equals(state, 0x408f276d, words[0], 0)) return;  // Random123's known answer
  std::uint32_t block = 0;
  for (auto _ : state) {
    random::philox(7, {64, block++, 3}, words);
    benchmark::DoNotOptimize(words);
  }
  bench::declare<std::uint32_t>(state, 4);
}

}  // namespace

BENCHMARK_TEMPLATE(lane_words, 64);
BENCHMARK_TEMPLATE(lane_words, 1);
BENCHMARK(random123_words);
