// Shown by docs/first_steps.md: three maps, and what they leave to one high score in longer rows.
#include <cstdio>
#include <incontext/scoring.hpp>
#include <vector>

namespace scoring = incontext::scoring;

int main() {
  std::printf("     n  softmax    SSMax  sparsemax\n");
  for (const std::size_t n : {10u, 100u, 1000u, 10000u}) {
    std::vector<double> scores(n, 0.0), out(n);
    scores.front() = 3;  // the needle
    const auto needle = [&](const auto& map) {
      scoring::checked::weights(map, scores, out);
      return out.front();
    };
    std::printf("%6zu %8.4f %8.4f %10.4f\n", n, needle(scoring::Softmax<double>{1}),
                needle(scoring::SSMax<double>{.scale = 0.5}), needle(scoring::Sparsemax<double>{}));
  }
  return 0;
}
