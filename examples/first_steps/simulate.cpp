// Shown by docs/first_steps.md: three rules of classification in context, on the same contexts.
#include <cstdio>
#include <incontext/simulate/classification.hpp>
#include <vector>

namespace simulate = incontext::simulate;

int main() {
  const simulate::SphereTask task{.dimension = 2, .classes = 5, .context_length = 100};
  const std::vector<simulate::Classifier> classifiers{{simulate::ClassificationRule::linear, 0, 43},
                                                      {simulate::ClassificationRule::kernel, 36, 88},
                                                      {simulate::ClassificationRule::adaptive_with_query, 200, 11}};
  const auto simulated = simulate::classification(task, classifiers, {.seed = 1, .trials = 16384});
  const char* const names[] = {"linear", "kernel", "softmax"};
  for (std::size_t i = 0; i < classifiers.size(); ++i) {
    const auto& loss = simulated.at(i, simulate::ClassificationMetric::loss);
    const auto& accuracy = simulated.at(i, simulate::ClassificationMetric::accuracy);
    std::printf("%-8s loss %.4f +- %.4f, accuracy %.4f +- %.4f\n", names[i], loss.mean, loss.standard_error,
                accuracy.mean, accuracy.standard_error);
  }
  return 0;
}
