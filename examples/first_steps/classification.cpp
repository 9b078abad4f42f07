// Shown by docs/first_steps.md: one step of linear attention as a classifier, at its best rate.
#include <cstdint>
#include <cstdio>
#include <incontext/classification/two_class_risk.hpp>

namespace classification = incontext::classification;

int main() {
  std::printf("  d     n  best rate    loss  accuracy\n");
  for (const std::int64_t dimension : {2, 5, 20}) {
    for (const std::int64_t context_length : {100, 1000}) {
      const auto best = classification::best_linear_rate<double>(dimension, context_length);
      const double accuracy = classification::linear_accuracy<double>(dimension, context_length);
      std::printf("%3d %5d %10.2f %7.4f %9.4f\n", static_cast<int>(dimension), static_cast<int>(context_length),
                  best.learning_rate, best.cross_entropy, accuracy);
    }
  }
  return 0;
}
