#pragma once

#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/conditional_regression_trial.hpp"
#include "incontext/simulate/regression/readout_for.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/regression_run.hpp"
#include "incontext/simulate/regression/regression_trial.hpp"
#include "incontext/simulate/regression/regression_types.hpp"

namespace incontext::simulate {

/// A map whose attention a trial can evaluate token by token: ApproximateSoftmax, LinearAttention, and any
/// SimulatedSoftmax, also one defined elsewhere. A map that needs its whole row at once does not satisfy the concept.
template <class Map>
concept StreamedScoring = requires { sizeof(detail::ReadoutFor<Map>); };

/// Copies of a map that differ in temperature only: a grid of maps for regression_error.
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
///           Your own map is evaluated through its phi, which must be INCONTEXT_HD if it runs on CUDA.
/// Errors    std::invalid_argument, std::domain_error: as the validations of task, attention, maps and options.
/// Accuracy  standard error in the result, and a bound on its rounding, which depends on the sizes of labels, values
///           and scores (tests/simulate/regression/regression_trial.cpp); T = float adds a relative bias below 1e-6
///           where none of them is much larger than the error.
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

/// The mean squared error of one map: the estimate that regression_error has for it.
///
/// Source    as regression_error of a grid of maps.
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
