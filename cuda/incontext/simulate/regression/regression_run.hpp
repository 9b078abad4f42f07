#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/conditional_regression_trial.hpp"
#include "incontext/simulate/regression/readout_for.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/regression_rounding.hpp"
#include "incontext/simulate/regression/regression_trial.hpp"
#include "incontext/simulate/regression/regression_types.hpp"

/// Runs the trials of regression on one system, and bounds their rounding.
namespace incontext::simulate::detail {

/// Refuses combinations of map, convention and estimator that no trial simulates, and returns one point per map: its
/// parameters in the form in which its readout takes them. A readout is the part of a trial that turns the scores and
/// values of a context into predictions.
template <class T, class Map>
auto checked_grid(const std::vector<Map>& maps, std::int64_t context_length,
                  const regression::ErrorConvention& convention, Estimator estimator) {
  constexpr auto where = "simulate::regression_error";
  constexpr bool is_softmax = !is_affine<Map>;
  const bool included = convention.query == regression::QueryToken::included;
  if (included && estimator != Estimator::literal) {
    throw_invalid_argument(where, "estimator has no form with the query among the tokens", "query included",
                           "Estimator::literal");
  }
  if (is_softmax && estimator != Estimator::literal) {
    throw_invalid_argument(where, "estimator does not support softmax", "Softmax", "Estimator::literal");
  }
  if (is_softmax && convention.offset == regression::Offset::removed) {
    throw_invalid_argument(where, "softmax has no offset to remove", "Offset::removed", "Offset::kept");
  }
  return ReadoutFor<Map>::template points<T>(where, maps, context_length + (included ? 1 : 0));
}

/// Runs the literal trial on one system. `tokens` draws the inputs and labels of a context.
template <class System, class Map, class T, class Tokens, class Point>
Simulation run_literal(Device device, const RegressionModel<T>& model, const Tokens& tokens,
                       const std::vector<Point>& points, const regression::ErrorConvention& convention,
                       const Options& options) {
  const typename System::template Memory<Point> grid(points.begin(), points.end());
  const auto readout =
      ReadoutFor<Map>::template make<T>(address(grid), static_cast<int>(points.size()), convention.offset);
  using Readout = std::remove_const_t<decltype(readout)>;
  return run_on<System>(device, RegressionErrorTrial<T, Tokens, Readout>{model, tokens, readout, convention.query},
                        options);
}

/// Approximate softmax and softmax do not change if all scores are shifted by the same amount, so they are evaluated
/// without the scores' mean; every other map is evaluated at the scores themselves.
template <class Map>
inline constexpr bool reads_raw_scores = true;
template <class U>
inline constexpr bool reads_raw_scores<scoring::ApproximateSoftmax<U>> = false;
template <class U>
inline constexpr bool reads_raw_scores<scoring::Softmax<U>> = false;

/// The root mean squares of what a trial adds, on which its rounding error depends, for normal inputs. A trial draws
/// their scores without the scores' mean, and only maps that depend on the mean add it again.
template <class Map>
RegressionScales scales_of(const regression::Attention<double>& attention, const regression::LinearTask<double>& task) {
  const regression::Matrix<double> task_moment =
      task.task_covariance() + plain_product(task.task_mean(), task.task_mean().transpose());
  const double noise = task.noise_variance();
  RegressionScales scales = regression_scales(attention, task.input_second_moment(), task.input_covariance(),
                                              noise + trace_of_product(task_moment, task.input_second_moment()),
                                              noise + trace_of_product(task_moment, task.input_covariance()));
  if constexpr (reads_raw_scores<Map>) {
    scales.score = scales.raw_score;
  } else {
    scales.raw_score = scales.score;
  }
  return scales;
}

/// Sets the rounding of the estimates to a bound on that of the trial's sums. It replaces the bound of the run, which
/// does not know how large the terms of these sums are.
template <class T, class Map>
void set_rounding(Simulation& simulation, const RegressionScales& scales, std::int64_t dimension,
                  std::int64_t context_length, const std::vector<Map>& maps, regression::QueryToken query) {
  const std::int64_t tokens = context_length + (query == regression::QueryToken::included ? 1 : 0);
  set_regression_rounding<T>(simulation, scales, dimension, context_length,
                             is_affine<Map> ? RoundingOver::context : RoundingOver::few_tokens,
                             ReadoutFor<Map>::factors(maps, tokens, scales.raw_score));
}

/// Runs the trial that averages over the labels in closed form, on one system. `Moments` draws the moments of a
/// context, from its tokens or directly from their law.
template <class System, class Moments, class T>
Simulation run_conditional(Device device, const RegressionModel<T>& model, const std::vector<T>& inverse_temperatures,
                           AffineAttention kind, const Options& options) {
  const typename System::template Memory<T> grid(inverse_temperatures.begin(), inverse_temperatures.end());
  return run_on<System>(
      device,
      ConditionalErrorTrial<T, Moments>{model, {address(grid), static_cast<int>(inverse_temperatures.size())}, kind},
      options);
}

}  // namespace incontext::simulate::detail
