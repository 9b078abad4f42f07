// Shown by docs/first_steps.md: a true and a false theory beside one simulation.
#include <algorithm>
#include <cstdio>
#include <incontext/statistics.hpp>
#include <random>
#include <vector>

namespace statistics = incontext::statistics;

int main() {
  std::minstd_rand generator(1);
  std::vector<double> trials(20000);  // the largest of ten scores, each uniform between 0 and 1
  for (double& largest : trials) {
    for (int i = 0; i < 10; ++i) largest = std::max(largest, static_cast<double>(generator()) / generator.max());
  }
  const statistics::Estimate estimate(statistics::moments_of(trials.data(), 20000));
  const auto [lower, upper] = statistics::confidence_interval(estimate, 0.95);
  std::printf("simulated %.5f +- %.5f, between %.5f and %.5f with 95%%\n", estimate.mean, estimate.standard_error,
              lower, upper);
  const double bound = statistics::family_wise_bound(2, 0.001);
  for (const double theory : {10.0 / 11, 9.0 / 10}) {
    const auto agreement = statistics::agree(theory, estimate);
    std::printf("theory %.5f: z = %7.2f, %s\n", theory, agreement.z, agreement.within(bound) ? "agrees" : "disagrees");
  }
  return 0;
}
