#include "incontext/random/uniform.hpp"

#include <cstdint>

#include "bench/random/buffer.hpp"
#include "incontext/random/philox.hpp"

// Conversion of words to uniforms; the words are drawn beforehand.

namespace {

using namespace incontext;

constexpr int lanes = 64;
constexpr std::int64_t count = std::int64_t{bench::buffer_blocks} * 4 * lanes;
alignas(64) std::uint32_t words[count];

void draw_words(std::uint32_t round) {
  const random::LaneStream<lanes> stream({1, 0}, random::StreamTag(0));
  for (std::uint32_t block = 0; block < bench::buffer_blocks; ++block) {
    stream.words(round * bench::buffer_blocks + block,
                 reinterpret_cast<std::uint32_t(&)[4][lanes]>(words[block * 4 * lanes]));
  }
}

template <class T, class Convert>
void convert_words(benchmark::State& state, std::int64_t numbers, const Convert& convert) {
  alignas(64) static T buffer[count];
  const auto draw_and_convert = [&](std::uint32_t round) {
    draw_words(round);
    convert(buffer);
  };
  if (!bench::has_mean(state, buffer, numbers, draw_and_convert, 0.5, [](T u) { return u; })) return;
  if (!bench::has_mean(state, buffer, numbers, draw_and_convert, 1.0 / 3, [](T u) { return u * u; })) return;
  for (auto _ : state) {
    convert(buffer);
    benchmark::DoNotOptimize(&buffer[0]);
    benchmark::ClobberMemory();
  }
  bench::declare<T>(state, numbers);
}

void uniform_open_closed_float(benchmark::State& state) {
  convert_words<float>(state, count, [](float* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = random::uniform_open_closed(words[i]);
  });
}

void uniform_open_float(benchmark::State& state) {
  convert_words<float>(state, count, [](float* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = random::uniform_open(words[i]);
  });
}

void uniform_open_double(benchmark::State& state) {
  convert_words<double>(state, count / 2, [](double* out) {
    for (std::int64_t i = 0; i < count / 2; ++i) out[i] = random::uniform_open(words[i], words[count / 2 + i]);
  });
}

}  // namespace

BENCHMARK(uniform_open_closed_float);
BENCHMARK(uniform_open_float);
BENCHMARK(uniform_open_double);
