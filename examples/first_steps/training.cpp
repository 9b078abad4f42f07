// Shown by docs/first_steps.md: what a loss curve shows before a layer has learned its task.
#include <cstdio>
#include <incontext/training.hpp>

namespace training = incontext::training;

int main() {
  const auto reasoning = training::reasoning_task(10);  // a, b, c, d from 0 to 10; parities choose c or d
  std::printf("two-step reasoning: %lld inputs; a coin between c and d is right in %.4f of them,\n",
              static_cast<long long>(reasoning.inputs), reasoning.coin_accuracy);
  std::printf("  and the loss stays at %.4f until the parities are read\n", reasoning.plateau_cross_entropy);
  const training::AffineTask<double> affine{.input_stddev = 1, .function_stddev = 1};  // y = a x + b
  const auto risks = training::affine_risks(affine);
  std::printf("affine task: the best squared error is %.4f, %.4f and %.4f after 0, 1 and 2 examples;\n",
              risks.no_example, risks.one_example, risks.two_examples);
  for (const double bound : {1.0, 2.0, 4.0}) {
    std::printf("  outputs within %.0f cannot have less than %.4f\n", bound,
                training::clipped_affine_error(affine, bound).value);
  }
  return 0;
}
