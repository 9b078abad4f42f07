#pragma once

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
#include "incontext/simulate/attention_readout.hpp"
#include "incontext/simulate/conditional_trial.hpp"
#include "incontext/simulate/elementwise_softmax_readout.hpp"
#include "incontext/simulate/regression_model.hpp"
#include "incontext/simulate/regression_trial.hpp"
#include "incontext/simulate/run.hpp"
#include "incontext/simulate/score_exponent.hpp"

namespace incontext::simulate {

/// How a trial estimates the error: by the model itself, with the labels averaged given the inputs, or with the labels
/// averaged given the context's sufficient statistics. All three have the same mean.
///
/// Source    design: literal is the referee; the others are faster and tested against it.
/// Runs on   host
enum class Estimator { literal, conditional, sufficient_statistics };

namespace detail {

/// Which readout reads a map token by token, and what each point of its grid holds.
template <class Map>
struct ReadoutFor;

/// Maps with a temperature: a point is the factor of the readout's scores.
template <class Map>
struct TemperatureReadout {
  template <class T>
  static std::vector<T> points(std::string_view where, const std::vector<Map>& maps, std::int64_t tokens) {
    require_at_least(where, "maps.size()", maps.size(), std::size_t{1});
    std::vector<T> inverse_temperatures;
    for (const Map& map : maps) {
      require_positive(where, "temperature", static_cast<double>(map.temperature));
      inverse_temperatures.push_back(static_cast<T>(ReadoutFor<Map>::inverse_temperature(map, tokens)));
    }
    return inverse_temperatures;
  }
};

template <class U>
struct ReadoutFor<scoring::ApproximateSoftmax<U>> : TemperatureReadout<scoring::ApproximateSoftmax<U>> {
  template <class T>
  static ApproximateSoftmaxReadout<T> make(const T* points, int size, regression::Offset offset) {
    return {{points, size}, offset == regression::Offset::removed};
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
struct ReadoutFor<scoring::LinearAttention<U>> : TemperatureReadout<scoring::LinearAttention<U>> {
  template <class T>
  static LinearAttentionReadout<T> make(const T* points, int size, regression::Offset) {
    return {{points, size}};
  }
  static double inverse_temperature(const scoring::LinearAttention<U>& map, std::int64_t tokens) {
    const bool divided = map.normalisation == scoring::LinearNormalisation::context_length;
    return (divided ? 1.0 : static_cast<double>(tokens)) / static_cast<double>(map.temperature);
  }
  static AffineAttention kind(regression::Offset) { return AffineAttention::linear; }
};

template <class U>
struct ReadoutFor<scoring::Softmax<U>> : TemperatureReadout<scoring::Softmax<U>> {
  template <class T>
  static SoftmaxReadout<T> make(const T* points, int size, regression::Offset) {
    return {{points, size}};
  }
  static double inverse_temperature(const scoring::Softmax<U>& map, std::int64_t) {
    return 1 / static_cast<double>(map.temperature);
  }
};

/// Softmax after any other elementwise map: a point is its phi.
template <SimulatedSoftmax Map>
struct ReadoutFor<Map> {
  template <class T>
  static std::vector<ScoreExponent<T, Map>> points(std::string_view where, const std::vector<Map>& maps,
                                                   std::int64_t tokens) {
    return score_exponents<T>(where, maps, tokens);
  }
  template <class T>
  static ElementwiseSoftmaxReadout<T, ScoreExponent<T, Map>> make(const ScoreExponent<T, Map>* points, int size,
                                                                  regression::Offset) {
    return {{points, size}};
  }
};

/// Whether the map's weights are affine in the scores, so that estimators other than the literal one exist. (nvcc does
/// not take the same requirement inside a generic lambda.)
template <class Map>
inline constexpr bool is_affine = requires {
  ReadoutFor<Map>::kind(regression::Offset::kept);
};

/// Refuses what no trial stands for, and turns the maps into the points of a readout's grid.
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
    throw_invalid_argument(where, "estimator has no edition for softmax", "Softmax", "Estimator::literal");
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

/// A map whose attention a trial can read token by token: ApproximateSoftmax, LinearAttention, and any
/// SimulatedSoftmax, your own too. A map that needs its whole row at once has no such trial, and does not compile here.
///
/// Runs on   host
template <class Map>
concept StreamedScoring = requires {
  sizeof(detail::ReadoutFor<Map>);
};

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
///           A map of your own is read through the phi that it defines, with the scores as they are; phi must be
///           INCONTEXT_HD where CUDA runs it.
/// Errors    std::invalid_argument, std::domain_error: as the validations of task, attention, maps and options.
/// Accuracy  standard error in the result; T = float adds a relative bias below 1e-6 (tests/simulate/regression.cpp).
/// Random    bits depend on seed and number of trials alone (tests/simulate/bits.cpp).
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, StreamedScoring Map>
Simulation regression_error(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                            std::int64_t context_length, const std::vector<Map>& maps, const Options& options,
                            const regression::ErrorConvention& convention = {},
                            Estimator estimator = Estimator::literal) {
  validate(options);
  const auto grid = detail::checked_grid<T>(maps, context_length, convention, estimator);
  const Device device = resolve(options.device);
  return detail::with_system(device, [&](auto system) {
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
}

/// The same for one map: its estimate alone.
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
