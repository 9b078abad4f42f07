// Laws of a row, a closed form of regression and the simulation that judges it, under each accepted option.
#include <vector>

#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/laws/gaussian_row.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/simulate/regression/regression_error.hpp>
#include <incontext/statistics/agreement.hpp>

#include "checks.hpp"

namespace laws = incontext::laws;
namespace regression = incontext::regression;
namespace simulate = incontext::simulate;

namespace {

/// Against 30 digits found by other quadratures in another language (tests/oracles/scoring.json).
void check_laws() {
  const auto near = [](const char* name, double value, double expected) {
    flags::near(name, value, expected, 1e-11L * std::fabs(expected));
  };
  near("needle among 16", laws::needle_weight(16.0, 1.0, 3.25).value, 0.506346533350546752766786689809);
  near("needle among a million", laws::needle_weight(1e6, 6.0, 28.8125).value, 0.218825894416439618158515639618);
  const auto row = laws::gaussian_row(1024.0, 1.5);
  near("ipr", row.ipr, 0.00840904897515743601111423808296);
  near("entropy", row.entropy, 5.82140274535213597890317109852);
  near("log partition", row.log_partition, 8.05248238515803174787816406283);
  near("frozen inverse participation ratio", laws::gaussian_row(1e6, 6.0).ipr, 0.240963785002090144872991962461);
}

/// d = 20, l = 40, inputs of twice the variance: the optimum by hand as in tests/consume/optimal_temperature.cpp, and
/// two estimators against the parabola. A theory that is off by 5%, nine standard errors, must be rejected.
void check_regression() {
  const auto pretraining =
      regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
  const auto shifted = pretraining.with_input_covariance_scaled(2.0);
  const auto attention = regression::pretrained_attention(pretraining, 40);
  const auto error = regression::generalization_error(attention, shifted, 40);
  const double best = error.optimal_temperature();
  flags::near("optimal temperature", best, 3.05L / 1.05L, 1e-12L);

  const incontext::scoring::ApproximateSoftmax<double> map{best};
  for (const auto estimator : {simulate::Estimator::literal, simulate::Estimator::conditional}) {
    const auto trial =
        simulate::regression_error(attention, shifted, 40, map, {.seed = 5, .trials = 65536}, {}, estimator);
    flags::holds("trials counted", trial.count == 65536);
    flags::holds("no trial lost", trial.non_finite == 0);
    flags::near("simulation", incontext::statistics::agree(error(best), trial).z, 0, 4.5L);
    flags::holds("power", !incontext::statistics::agree(1.05 * error(best), trial).within(4.5));
  }
  const auto softmax = simulate::regression_error(attention, shifted, 40, incontext::scoring::Softmax<double>{best},
                                                  {.seed = 5, .trials = 16384});
  flags::holds("softmax is simulated", softmax.count == 16384 && softmax.mean > error(best) && softmax.mean < 3);
}

}  // namespace

int main() {
  check_laws();
  check_regression();
  return flags::verdict();
}
