// Shown by docs/first_steps.md: the temperature at which a needle has half of the weight.
#include <cstdio>
#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/numerics/solve.hpp>

namespace laws = incontext::laws;
namespace numerics = incontext::numerics;

int main() {
  const double score = 6;  // standard deviations above the mean of the others
  std::printf("      n  inverse temperature  weight\n");
  for (const double n : {1e2, 1e3, 1e4, 1e5}) {
    const auto weight = [&](double beta) { return laws::needle_weight(n - 1, beta, beta * score).value; };
    const auto excess = [&](double beta) { return weight(beta) - 0.5; };
    const double beta = numerics::root_between<double>("first_steps", excess, 0.1, 4.0);
    std::printf("%7.0f  %19.4f  %6.4f\n", n, beta, weight(beta));
  }
  return 0;
}
