#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/simulate/gradients/gradient_norms_trial.hpp"
#include "incontext/simulate/gradients/gradient_norms_types.hpp"

/// Gradients of a softmax layer at random tokens, simulated: the referee of laws::gradient_sizes, and the only answer
/// to what has no formula, which is medians and NormSoftmax.
namespace incontext::simulate {

/// The values of every trial, for medians.
struct GradientNormsSample {
  Sample sample;

  [[nodiscard]] double median(std::size_t point, GradientNorm norm) const {
    return sample.median(point * detail::gradient_norms + static_cast<std::size_t>(norm));
  }
};

namespace detail {

inline void require_gradients(std::string_view where, const GradientRow& row,
                              const std::vector<double>& score_stddevs) {
  const std::int64_t fewest = row.map == GradientMap::softmax ? 1 : 2;
  require_at_least(where, "tokens", row.tokens, fewest);
  require_at_least(where, "dimension", row.dimension, std::int64_t{1});
  require_at_least(where, "score_stddevs.size()", score_stddevs.size(), std::size_t{1});
  // Blocks of a stream are counted in 32 bits.
  if (row.tokens > 4000000000 / row.dimension) {
    throw_invalid_argument(where, "tokens are too many for the dimension", row.tokens, "tokens x dimension <= 4e9");
  }
  for (const double x : score_stddevs) {
    require_positive(where, "score_stddev", x);
    if (!std::isfinite(x)) throw_domain_error(where, "score_stddev is not finite", x, "a number");
  }
}

/// Calls visit(System{}, trial) with a trial whose grid is in the memory of the system.
template <class T, class Visit>
auto with_gradient_trial(Device device, const GradientRow& row, const std::vector<double>& score_stddevs, Visit visit) {
  std::vector<T> numbers;
  for (const double x : score_stddevs) {
    require_holds<T>("simulate::gradient_norms", "score_stddev", x, x);
    numbers.push_back(static_cast<T>(x));
  }
  return with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<T> grid(numbers.begin(), numbers.end());
    const GradientNormsTrial<T> trial{row.map, row.tokens, row.dimension, address(grid),
                                      static_cast<int>(numbers.size())};
    return visit(system, trial);
  });
}

}  // namespace detail

/// Mean squared gradients at several score standard deviations x = |W_K q| / tau, simulated on common draws.
///
///     const auto run = simulate::gradient_norms({.tokens = 16, .dimension = 8}, {0.5, 1.0, 4.0}, {.seed = 1});
///
/// Source    GradientNormsTrial. It is the referee of laws::gradient_sizes.
/// Shapes    a point for each x.
/// Domain    as GradientRow; score_stddevs positive and finite. A trial keeps tokens x (3 + number of x) numbers.
/// Errors    std::invalid_argument for row, options or no x; std::domain_error for an x that is not positive and
///           finite.
/// Accuracy  standard error in the result, and a bound on its rounding: tests/simulate/gradients/gradient_norms.cpp;
///           W_K's norms have heavy tails where rows freeze.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
GradientNormsSimulation gradient_norms(const GradientRow& row, const std::vector<double>& score_stddevs,
                                       const Options& options) {
  validate(options);
  detail::require_gradients("simulate::gradient_norms", row, score_stddevs);
  const Device device = resolve(options.device, options.gpu);
  auto simulation = detail::with_gradient_trial<T>(
      device, row, score_stddevs, [&](auto system, const GradientNormsTrial<T>& trial) -> GradientNormsSimulation {
        return {run_on<decltype(system)>(device, trial, options)};
      });
  // The trial sums over the tokens without compensation.
  const double sum = static_cast<double>(row.tokens) / 4 * detail::eps_of<T>;
  for (statistics::Estimate& estimate : simulation.run.estimates) estimate.rounding += sum * std::abs(estimate.mean);
  return simulation;
}

/// The first `options.trials` trials of gradient_norms, each kept.
///
/// Source    as gradient_norms.
/// Domain    as gradient_norms; options.trials >= 1.
/// Errors    as gradient_norms.
/// Random    as gradient_norms: the same trials.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
GradientNormsSample gradient_norms_sample(const GradientRow& row, const std::vector<double>& score_stddevs,
                                          const Options& options) {
  validate(options);
  detail::require_gradients("simulate::gradient_norms_sample", row, score_stddevs);
  return detail::with_gradient_trial<T>(resolve(options.device, options.gpu), row, score_stddevs,
                                        [&](auto system, const GradientNormsTrial<T>& trial) -> GradientNormsSample {
                                          return {sample_on<decltype(system)>(trial, options)};
                                        });
}

}  // namespace incontext::simulate
