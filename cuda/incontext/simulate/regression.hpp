#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/attention_readout.hpp"
#include "incontext/simulate/conditional_trial.hpp"
#include "incontext/simulate/detail/regression_rounding.hpp"
#include "incontext/simulate/regression_model.hpp"
#include "incontext/simulate/regression_trial.hpp"
#include "incontext/simulate/run.hpp"

namespace incontext::simulate {

/// How a trial estimates the error: by the model itself, with the labels averaged given the inputs, or with the labels
/// averaged given the context's sufficient statistics. All three have the same mean.
///
/// Source    design: literal is the referee; the others are faster and tested against it.
/// Runs on   host
enum class Estimator { literal, conditional, sufficient_statistics };

namespace detail {

/// Which readout reads a map, and the factor by which a temperature of the map divides the readout's scores.
template <class Map>
struct ReadoutFor;

template <class U>
struct ReadoutFor<scoring::ApproximateSoftmax<U>> {
  template <class T>
  static ApproximateSoftmaxReadout<T> make(TemperatureGrid<T> grid, regression::Offset offset) {
    return {grid, offset == regression::Offset::removed};
  }
  static double inverse_temperature(const scoring::ApproximateSoftmax<U>& map, std::int64_t) {
    return 1 / static_cast<double>(map.temperature);
  }
  static AffineAttention kind(regression::Offset offset) {
    return offset == regression::Offset::removed ? AffineAttention::approximate_softmax_without_offset
                                                 : AffineAttention::approximate_softmax;
  }
};

template <class U>
struct ReadoutFor<scoring::LinearAttention<U>> {
  template <class T>
  static LinearAttentionReadout<T> make(TemperatureGrid<T> grid, regression::Offset) {
    return {grid};
  }
  static double inverse_temperature(const scoring::LinearAttention<U>& map, std::int64_t tokens) {
    const bool divided = map.normalisation == scoring::LinearNormalisation::context_length;
    return (divided ? 1.0 : static_cast<double>(tokens)) / static_cast<double>(map.temperature);
  }
  static AffineAttention kind(regression::Offset) { return AffineAttention::linear; }
};

template <class U>
struct ReadoutFor<scoring::Softmax<U>> {
  template <class T>
  static SoftmaxReadout<T> make(TemperatureGrid<T> grid, regression::Offset) {
    return {grid};
  }
  static double inverse_temperature(const scoring::Softmax<U>& map, std::int64_t) {
    return 1 / static_cast<double>(map.temperature);
  }
};

/// Whether the map's weights are affine in the scores, so that estimators other than the literal one exist. (nvcc does
/// not take the same requirement inside a generic lambda.)
template <class Map>
inline constexpr bool is_affine = requires {
  ReadoutFor<Map>::kind(regression::Offset::kept);
};

/// Refuses what no trial stands for, and turns the maps into inverse temperatures.
template <class T, class Map>
std::vector<T> checked_grid(const std::vector<Map>& maps, std::int64_t context_length,
                            const regression::ErrorConvention& convention, Estimator estimator) {
  constexpr auto where = "simulate::regression_error";
  constexpr bool is_softmax = !is_affine<Map>;
  require_at_least(where, "maps.size()", maps.size(), std::size_t{1});
  const bool included = convention.query == regression::QueryToken::included;
  if (included && estimator != Estimator::literal) {
    throw_invalid_argument(where, "estimator has no edition with the query among the tokens", "query included",
                           "Estimator::literal");
  }
  if (is_softmax && estimator != Estimator::literal) {
    throw_invalid_argument(where, "estimator has no edition for softmax", "Softmax", "Estimator::literal");
  }
  if (is_softmax && convention.offset == regression::Offset::removed) {
    throw_invalid_argument(where, "softmax has no offset to remove", "Offset::removed", "Offset::kept");
  }
  std::vector<T> inverse_temperatures;
  for (const Map& map : maps) {
    require_positive(where, "temperature", static_cast<double>(map.temperature));
    const double inverse = ReadoutFor<Map>::inverse_temperature(map, context_length + (included ? 1 : 0));
    require_holds<T>(where, "temperature's inverse", static_cast<double>(map.temperature), inverse);
    inverse_temperatures.push_back(static_cast<T>(inverse));
  }
  return inverse_temperatures;
}

/// Runs the literal trial with the given tokens on one system.
template <class System, class T, class Tokens, class Map>
Simulation run_literal(Device device, const RegressionModel<T>& model, const Tokens& tokens,
                       const std::vector<T>& inverse_temperatures, const regression::ErrorConvention& convention,
                       const Options& options, const Map&) {
  const typename System::template Memory<T> grid(inverse_temperatures.begin(), inverse_temperatures.end());
  const auto readout = ReadoutFor<Map>::template make<T>({address(grid), static_cast<int>(inverse_temperatures.size())},
                                                         convention.offset);
  using Readout = std::remove_const_t<decltype(readout)>;
  return run_on<System>(device, RegressionErrorTrial<T, Tokens, Readout>{model, tokens, readout, convention.query},
                        options);
}

/// The sizes of what a trial adds up, for normal inputs. Approximate softmax and softmax read scores with their mean
/// over the inputs taken off from the start, linear attention as they are.
template <class Map>
RegressionScales scales_of(const regression::Attention<double>& attention, const regression::LinearTask<double>& task) {
  const regression::Matrix<double> task_moment =
      task.task_covariance() + plain_product(task.task_mean(), task.task_mean().transpose());
  const double noise = task.noise_variance();
  RegressionScales scales = regression_scales(attention, task.input_second_moment(), task.input_covariance(),
                                              noise + trace_of_product(task_moment, task.input_second_moment()),
                                              noise + trace_of_product(task_moment, task.input_covariance()));
  if constexpr (std::is_same_v<Map, scoring::LinearAttention<typename Map::value_type>>) {
    scales.score = scales.raw_score;
  } else {
    scales.raw_score = scales.score;
  }
  return scales;
}

template <class Map>
inline constexpr RoundingOver rounding_over = is_affine<Map> ? RoundingOver::context : RoundingOver::few_tokens;

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

/// Maps of one kind, one a temperature: the grid of a run.
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

/// The mean squared error of single-layer attention on in-context regression, simulated; every map of the grid on the
/// same draws.
///
/// \f[ E\,(\hat y(\tau) - y_q)^2 \f]
///
/// Source    arXiv 2511.01292 eqs. (5)-(8); regression::generalization_error and its kin are what it judges.
/// Shapes    (attention: d, task: d, maps: m) -> m estimates
/// Units     label units squared.
/// Domain    context_length >= 2; conditional and sufficient_statistics: query excluded, approximate softmax or linear.
/// Errors    std::invalid_argument, std::domain_error: as the validations of task, attention, maps and options.
/// Accuracy  standard error in the result, and a bound on its rounding, which the sizes of labels, values and scores
///           set (tests/simulate/regression_trial.cpp); T = float adds a relative bias below 1e-6 where none of them is
///           much larger than the error.
/// Random    bits depend on seed and number of trials alone (tests/simulate/bits.cpp).
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, class Map>
Simulation regression_error(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                            std::int64_t context_length, const std::vector<Map>& maps, const Options& options,
                            const regression::ErrorConvention& convention = {},
                            Estimator estimator = Estimator::literal) {
  validate(options);
  const auto grid = detail::checked_grid<T>(maps, context_length, convention, estimator);
  const Device device = resolve(options.device);
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
    return detail::run_literal<System>(device, storage.model(), GaussianTokens<T>{}, grid, convention, options,
                                       maps.front());
  });
  detail::set_regression_rounding(simulation, detail::scales_of<Map>(attention, task), task.dimension(), context_length,
                                  detail::rounding_over<Map>, grid);
  return simulation;
}

/// The same for one map: its estimate alone.
///
/// Source    as above.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, class Map>
requires requires(Map map) { map.temperature; }
statistics::Estimate regression_error(const regression::Attention<double>& attention,
                                      const regression::LinearTask<double>& task, std::int64_t context_length,
                                      const Map& map, const Options& options,
                                      const regression::ErrorConvention& convention = {},
                                      Estimator estimator = Estimator::literal) {
  return regression_error<T>(attention, task, context_length, std::vector<Map>{map}, options, convention, estimator)
      .estimates.front();
}

}  // namespace incontext::simulate
