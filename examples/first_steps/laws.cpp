// Shown by docs/first_steps.md: the weight of a needle among normal scores, exact at every length.
#include <cmath>
#include <cstdio>
#include <incontext/laws/gaussian_needle.hpp>

namespace laws = incontext::laws;

int main() {
  const double score = 4;  // standard deviations above the mean of the others
  std::printf("      n  softmax    SSMax\n");
  for (const double n : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    const auto weight = [&](double inverse_temperature) {
      return laws::needle_weight(n - 1, inverse_temperature, inverse_temperature * score).value;
    };
    std::printf("%7.0f %8.4f %8.4f\n", n, weight(1), weight(0.5 * std::log(n)));
  }
  return 0;
}
