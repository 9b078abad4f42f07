// Shown by docs/first_steps.md: the normals of any trial, without those of the trials before it.
#include <cstdint>
#include <cstdio>
#include <incontext/random.hpp>

namespace random_numbers = incontext::random;

int main() {
  const std::uint64_t seed = 7;
  const auto normal = [&](std::uint64_t trial) {
    std::uint32_t words[4];
    random_numbers::philox(seed, {.trial = trial, .block = 0, .stream = 1000}, words);
    float first = 0, second = 0;
    random_numbers::box_muller(words[0], words[1], first, second);
    return static_cast<double>(first);
  };
  for (const std::uint64_t trial : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    std::printf("trial %13llu: %9.6f\n", static_cast<unsigned long long>(trial), normal(trial));
  }
  double square = 0, fourth = 0;
  const int trials = 1000000;
  for (int i = 0; i < trials; ++i) {
    const double g = normal(static_cast<std::uint64_t>(i));
    square += g * g / trials;
    fourth += g * g * g * g / trials;
  }
  std::printf("E g^2 = %.3f, E g^4 = %.3f over %d trials\n", square, fourth, trials);
  return normal(1) == normal(1) ? 0 : 1;
}
