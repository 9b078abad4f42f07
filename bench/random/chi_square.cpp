#include "incontext/random/chi_square.hpp"

#include <cstdint>

#include "bench/random/buffer.hpp"

namespace {

using namespace incontext;

void chi_square(benchmark::State& state) {
  constexpr int lanes = 64;
  constexpr std::int64_t numbers = std::int64_t{bench::buffer_blocks} * lanes;
  const std::int64_t degrees = state.range(0);
  alignas(64) static double buffer[bench::buffer_blocks][lanes];
  const auto fill = [&](std::uint32_t round) {
    for (std::uint32_t block = 0; block < bench::buffer_blocks; ++block) {
      const random::LaneStream<lanes> stream({1, std::uint64_t{round * bench::buffer_blocks + block} * lanes},
                                             random::StreamTag(0));
      random::chi_square(stream, 0, degrees, buffer[block]);
    }
  };
  const auto k = static_cast<double>(degrees);
  double* const first = &buffer[0][0];
  if (!bench::has_mean(state, first, numbers, fill, k, [](double x) { return x; })) return;
  if (!bench::has_mean(state, first, numbers, fill, 2 * k, [k](double x) { return (x - k) * (x - k); })) return;
  std::uint32_t round = 0;
  for (auto _ : state) {
    fill(round++);
    benchmark::DoNotOptimize(first);
    benchmark::ClobberMemory();
  }
  bench::declare<double>(state, numbers);
}

}  // namespace

BENCHMARK(chi_square)->ArgName("degrees_of_freedom")->Arg(1)->Arg(3)->Arg(99)->Arg(1000000);
