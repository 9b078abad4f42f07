// Shown by docs/first_steps.md: the floor of in-context regression, exact at every length.
#include <cstdio>
#include <incontext/baselines.hpp>

namespace baselines = incontext::baselines;

int main() {
  const baselines::TaskVariances<double> task{.noise_variance = 0.1, .task_variance = 0.05};
  std::printf("examples  Bayes risk  least squares  information, nats\n");
  for (const int examples : {0, 5, 10, 20, 40, 80}) {
    const baselines::WishartSpectrum<double> spectrum(examples, 20);  // of 20 dimensions
    std::printf("%8d %11.5f %14.5f %18.4f\n", examples, baselines::bayes_risk(spectrum, task),
                baselines::least_squares_risk(examples, 20, task), baselines::mutual_information(spectrum, task));
  }
  return 0;
}
