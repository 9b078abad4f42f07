#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/scoring/softmax_of.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/reduced_softmax_trial.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/regression_rounding.hpp"
#include "incontext/simulate/regression/score_exponent.hpp"
#include "incontext/simulate/regression/softmax_moments_readout.hpp"

namespace incontext::simulate {

/// The mean squared error of softmax attention, or of a map that is softmax after an elementwise one, on centered
/// Gaussian inputs, by the reduced trial; every map of the grid on the same draws. A map defined elsewhere is
/// simulated through its own phi.
///
/// \f[ E\,(\hat y - y_q)^2,\qquad \hat y = v \textstyle\sum_j p_j y_j \f]
///
///     const auto run = simulate::reduced_softmax_error(attention, task, 40, maps, {.seed = 1});
///
/// Source    arXiv 2511.01292 eqs. (5)-(6); ReducedSoftmaxTrial. It is a referee of regression::softmax_error, with
///           which it shares algebra; regression_error shares none and is the referee of both.
/// Shapes    (attention: d, task: d, maps: m) -> m estimates; the query attends to the l examples only
/// Units     label units squared; the maps' parameters in units of the scores.
/// Domain    context_length >= 2; input_mean = 0, input_value = 0; maps in their domains, Softmax, SSMax and SSA with
///           slopes below 1e20 at score 0. phi must be INCONTEXT_HD if it runs on CUDA.
/// Errors    std::invalid_argument, std::domain_error: as the validations of task, attention, maps and options.
/// Accuracy  standard error in the result, and a bound on its rounding; T = float moves the moments of a row by less
///           than 3e-6, in rows of 1e5 too (tests/simulate/regression/reduced_softmax_error.cpp).
/// Random    bits depend on seed and number of trials alone (tests/simulate/bits.txt).
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, SimulatedSoftmax Map>
Simulation reduced_softmax_error(const regression::Attention<double>& attention,
                                 const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const std::vector<Map>& maps, const Options& options);

/// reduced_softmax_error of one map, which returns its estimate alone.
///
/// Source    as above.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, SimulatedSoftmax Map>
statistics::Estimate reduced_softmax_error(const regression::Attention<double>& attention,
                                           const regression::LinearTask<double>& task, std::int64_t context_length,
                                           const Map& map, const Options& options) {
  return reduced_softmax_error<T>(attention, task, context_length, std::vector<Map>{map}, options).estimates.front();
}

// The rounding of the reduced simulation of softmax.
namespace detail {

/// tr(R Sigma), the variance of a label without its noise.
inline double signal_variance(const regression::LinearTask<double>& task) {
  const regression::Matrix<double> second_moment =
      task.task_covariance() + plain_product(task.task_mean(), task.task_mean().transpose());
  return trace_of_product(second_moment, task.input_covariance());
}

/// Replaces the rounding of mean squared errors, which a trial sums from terms as large as a squared label. The weights
/// carry the rounding of their exponents, which the map may enlarge.
template <class T, scoring::SoftmaxLike Map>
void set_reduced_rounding(Simulation& simulation, const regression::Attention<double>& attention,
                          const regression::LinearTask<double>& task, const std::vector<Map>& maps,
                          std::int64_t context_length) {
  const double label_square = task.noise_variance() + signal_variance(task);
  const RegressionScales scales =
      regression_scales(attention, task.input_covariance(), task.input_covariance(), label_square, label_square);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    statistics::Estimate& estimate = simulation.estimates[i];
    if (estimate.count == 0) continue;
    const auto phi = maps[i].elementwise(static_cast<std::ptrdiff_t>(context_length));
    const double exponent = largest_factor(phi, scales.score) * scales.score;
    const double in_eps = 16 + std::sqrt(static_cast<double>(task.dimension())) + exponent;
    estimate.rounding = in_eps * eps_of<T> * (scales.label * scales.label + std::abs(estimate.mean)) +
                        static_cast<double>((std::numeric_limits<T>::min)());
  }
}

}  // namespace detail

template <class T, SimulatedSoftmax Map>
Simulation reduced_softmax_error(const regression::Attention<double>& attention,
                                 const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const std::vector<Map>& maps, const Options& options) {
  validate(options);
  regression::require_softmax_domain("simulate::reduced_softmax_error", attention, task, context_length);
  const auto exponents = detail::score_exponents<T>("simulate::reduced_softmax_error", maps, context_length);
  using Exponent = detail::ScoreExponent<T, Map>;
  const Device device = resolve(options.device, options.gpu);
  Simulation simulation = detail::with_system(device, [&](auto system) {
    using System = decltype(system);
    const RegressionModelStorage<T, System::template Memory> storage(attention, task, context_length);
    const typename System::template Memory<Exponent> grid(exponents.begin(), exponents.end());
    return run_on<System>(device,
                          ReducedSoftmaxTrial<T, Exponent>{storage.model(),
                                                           {detail::address(grid), static_cast<int>(maps.size())},
                                                           static_cast<T>(detail::signal_variance(task))},
                          options);
  });
  detail::set_reduced_rounding<T>(simulation, attention, task, maps, context_length);
  return simulation;
}

}  // namespace incontext::simulate
