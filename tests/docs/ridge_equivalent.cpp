// A program of docs/theory/regression.md, word for word: the deterministic equivalent of a risk, simulated.
#include <cstdint>
#include <cstdio>
#include <incontext/baselines/ridge_risk.hpp>
#include <incontext/regression/centered_ridge_risk.hpp>
#include <incontext/simulate/regression.hpp>

int main() {
  namespace reg = incontext::regression;
  std::printf("  d    l  equivalent    exact  simulated  +- error  equivalent off by\n");
  const std::int64_t shapes[][2] = {{20, 10}, {20, 20}, {20, 40}, {20, 100}, {40, 40}, {80, 80}};
  for (const auto [d, l] : shapes) {
    const auto task = reg::LinearTask<double>::isotropic(
        {.dimension = d, .input_variance = 1.5, .task_variance = 5.0 / static_cast<double>(d), .noise_variance = 0.1});
    const double equivalent = reg::centered_ridge_risk_equivalent(task, l).risk;
    const incontext::baselines::WishartSpectrum<double> spectrum(l - 1, d);  // the context is centered
    const double exact = incontext::baselines::bayes_risk<double>(
        spectrum, {.noise_variance = 0.1, .task_variance = 1.5 * 5.0 / static_cast<double>(d)});
    const auto risk = incontext::simulate::centered_ridge_risk(task, l, {.seed = 1, .trials = 4096}).estimates.front();
    std::printf("%3d %4d  %10.5f  %7.5f  %9.5f  %8.5f  %15.1f %%\n", static_cast<int>(d), static_cast<int>(l),
                equivalent, exact, risk.mean, risk.standard_error, 100 * (equivalent / exact - 1));
  }
  const auto centered = reg::LinearTask<double>::isotropic(
      {.dimension = 20, .input_variance = 1.5, .task_variance = 0.25, .noise_variance = 0.1});
  const auto task = centered.with_input_mean(reg::Vector<double>::Constant(20, 1.0));
  const auto equivalent = reg::centered_ridge_risk_equivalent(task, 40);
  const auto risk = incontext::simulate::centered_ridge_risk(task, 40, {.seed = 1, .trials = 4096}).estimates.front();
  std::printf("inputs with a mean: %.5f about it, %.5f more for it, simulated %.5f +- %.5f\n", equivalent.risk,
              equivalent.mean_excess, risk.mean, risk.standard_error);
  return 0;
}
