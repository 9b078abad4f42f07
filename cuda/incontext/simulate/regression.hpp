#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/trials/conditional_regression.hpp"
#include "incontext/simulate/trials/readout_for.hpp"
#include "incontext/simulate/trials/regression.hpp"
#include "incontext/simulate/trials/regression_model.hpp"
#include "incontext/simulate/trials/regression_rounding.hpp"
#include "incontext/simulate/types/regression.hpp"

namespace incontext::simulate {

namespace detail {

/// Refuses what no trial can be run for, and turns the maps into the points of a readout's grid.
template <class T, class Map>
auto checked_grid(const std::vector<Map>& maps, std::int64_t context_length,
                  const regression::ErrorConvention& convention, Estimator estimator) {
  constexpr auto where = "simulate::regression_error";
  constexpr bool is_softmax = !is_affine<Map>;
  const bool included = convention.query == regression::QueryToken::included;
  if (included && estimator != Estimator::literal) {
    throw_invalid_argument(where, "estimator has no edition with the query among the tokens", "query included",
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

/// Runs the literal trial with the given tokens on one system.
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

/// The sizes of the terms that a trial adds for normal inputs, whose scores are drawn without their mean.
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

/// Replaces the rounding that the run gave its estimates by the rounding of the trial's sums.
template <class T, class Map>
void set_rounding(Simulation& simulation, const RegressionScales& scales, std::int64_t dimension,
                  std::int64_t context_length, const std::vector<Map>& maps, regression::QueryToken query) {
  const std::int64_t tokens = context_length + (query == regression::QueryToken::included ? 1 : 0);
  set_regression_rounding<T>(simulation, scales, dimension, context_length,
                             is_affine<Map> ? RoundingOver::context : RoundingOver::few_tokens,
                             ReadoutFor<Map>::factors(maps, tokens, scales.raw_score));
}

template <class System, class Moments, class T>
Simulation run_conditional(Device device, const RegressionModel<T>& model, const std::vector<T>& inverse_temperatures,
                           AffineAttention kind, const Options& options) {
  const typename System::template Memory<T> grid(inverse_temperatures.begin(), inverse_temperatures.end());
  return run_on<System>(
      device,
      ConditionalErrorTrial<T, Moments>{model, {address(grid), static_cast<int>(inverse_temperatures.size())}, kind},
      options);
}

}  // namespace detail

/// A map whose attention a trial can evaluate token by token: ApproximateSoftmax, LinearAttention, and any
/// SimulatedSoftmax, also one defined elsewhere. A map that needs its whole row at once does not satisfy the concept.
///
/// Runs on   host
template <class Map>
concept StreamedScoring = requires { sizeof(detail::ReadoutFor<Map>); };

/// Copies of a map, one per temperature: the grid of a run.
///
/// Shapes    as many maps as temperatures.
/// Runs on   host
template <class Map>
std::vector<Map> at_temperatures(const std::vector<double>& temperatures, Map map = {}) {
  std::vector<Map> maps;
  for (const double temperature : temperatures) {
    map.temperature = static_cast<typename Map::value_type>(temperature);
    maps.push_back(map);
  }
  return maps;
}

/// The mean squared error of single-layer attention on in-context regression, simulated for every map of a grid on the
/// same draws.
///
/// \f[ E\,(\hat y(\tau) - y_q)^2 \f]
///
///     const auto maps = simulate::at_temperatures({1.0, 2.0}, scoring::Softmax<double>{});
///     const auto run = simulate::regression_error(attention, task, 40, maps, {.seed = 7, .trials = 65536});
///
/// Source    arXiv 2511.01292 eqs. (5)-(8). It is the referee of regression::generalization_error and its relatives.
/// Shapes    (attention: d, task: d, maps: m) -> m estimates
/// Units     label units squared.
/// Domain    context_length >= 2; conditional and sufficient_statistics: query excluded, approximate softmax or linear.
///           A map defined elsewhere is evaluated through its own phi at the scores themselves; phi must be
///           INCONTEXT_HD if it runs on CUDA.
/// Errors    std::invalid_argument, std::domain_error: as the validations of task, attention, maps and options.
/// Accuracy  standard error in the result, and a bound on its rounding, which depends on the sizes of labels, values
///           and scores (tests/simulate/trials/regression.cpp); T = float adds a relative bias below 1e-6 where none of
///           them is much larger than the error.
/// Random    bits depend on seed and number of trials alone (tests/simulate/bits.txt).
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, StreamedScoring Map>
Simulation regression_error(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                            std::int64_t context_length, const std::vector<Map>& maps, const Options& options,
                            const regression::ErrorConvention& convention = {},
                            Estimator estimator = Estimator::literal) {
  validate(options);
  const auto grid = detail::checked_grid<T>(maps, context_length, convention, estimator);
  const Device device = resolve(options.device, options.gpu);
  Simulation simulation = detail::with_system(device, [&](auto system) {
    using System = decltype(system);
    const RegressionModelStorage<T, System::template Memory> storage(attention, task, context_length);
    if constexpr (detail::is_affine<Map>) {
      const AffineAttention kind = detail::ReadoutFor<Map>::kind(convention.offset);
      if (estimator == Estimator::conditional) {
        return detail::run_conditional<System, TokenMoments<T>>(device, storage.model(), grid, kind, options);
      }
      if (estimator == Estimator::sufficient_statistics) {
        return detail::run_conditional<System, WishartMoments<T>>(device, storage.model(), grid, kind, options);
      }
    }
    return detail::run_literal<System, Map>(device, storage.model(), GaussianTokens<T>{}, grid, convention, options);
  });
  detail::set_rounding<T>(simulation, detail::scales_of<Map>(attention, task), task.dimension(), context_length, maps,
                          convention.query);
  return simulation;
}

/// regression_error of one map, which returns its estimate alone.
///
/// Source    as above.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, StreamedScoring Map>
statistics::Estimate regression_error(const regression::Attention<double>& attention,
                                      const regression::LinearTask<double>& task, std::int64_t context_length,
                                      const Map& map, const Options& options,
                                      const regression::ErrorConvention& convention = {},
                                      Estimator estimator = Estimator::literal) {
  return regression_error<T>(attention, task, context_length, std::vector<Map>{map}, options, convention, estimator)
      .estimates.front();
}

}  // namespace incontext::simulate
