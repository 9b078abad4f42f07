#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/elementwise_softmax_readout.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/regression_run.hpp"
#include "incontext/simulate/regression/regression_trial.hpp"
#include "incontext/simulate/regression/score_exponent.hpp"

namespace incontext::simulate {

/// The prediction of several softmax heads: their own, times their values.
///
/// Source    definition.
/// Units     of the values.
/// Accuracy  ElementwiseSoftmaxReadout.
/// Runs on   host and device
template <class T>
struct HeadsReadout {
  ElementwiseSoftmaxReadout<T, LinearScoreExponent<T>> heads;  ///< a point is a head
  const T* values;                                             ///< one per head
  struct {
    int size = 1;
  } grid = {};  ///< one layer

  INCONTEXT_HD int rows() const { return heads.rows(); }

  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> state, const Lanes<T, W>& score_mean) const {
    heads.start(state, score_mean);
  }
  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> state, const Lanes<T, W>* scores, const Lanes<T, W>* read, int tokens) const {
    heads.add(state, scores, read, tokens);
  }
  template <int W>
  INCONTEXT_HD Lanes<T, W> predict(LaneArray<T, W> state, const Lanes<T, W>& score_mean, std::int64_t tokens,
                                   int) const {
    Lanes<T, W> sum(T(0));
    for (int head = 0; head < heads.grid.size; ++head) {
      sum += values[head] * heads.predict(state, score_mean, tokens, head);
    }
    return sum;
  }
};

/// The mean squared error of a layer of softmax heads at temperature 1, simulated by its definition.
///
/// \f[ E (\hat y - y_q)^2,\qquad \hat y = \sum_h v_h \sum_j \mathrm{softmax}(s_h\, x_j^T M x_q)\, y_j \f]
///
///     const Eigen::Vector2d scales(0.3, -0.3), values(1.5, -1.5);
///     const auto pair = simulate::multihead_error(attention.key_query, task, 40, scales, values, {.trials = 65536});
///
/// Source    definition. It judges regression::multihead_error.
/// Shapes    (key_query: d x d, task: d, key_query_scales: H, values: H) -> one estimate
/// Units     label units squared.
/// Domain    context_length >= 2, H >= 1.
/// Errors    std::invalid_argument for counts and shapes, std::domain_error for values that are not finite.
/// Accuracy  standard error in the result, and a bound on its rounding: that of the head with the largest scale, times
///           the sum of the |values|. T = float as regression_error.
/// Random    as RegressionErrorTrial.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
Simulation multihead_error(const regression::Matrix<double>& key_query, const regression::LinearTask<double>& task,
                           std::int64_t context_length, const regression::Vector<double>& key_query_scales,
                           const regression::Vector<double>& values, const Options& options) {
  constexpr std::string_view where = "simulate::multihead_error";
  validate(options);
  const std::int64_t count = key_query_scales.size();
  require_at_least(where, "context_length", context_length, std::int64_t{2});
  require_at_least(where, "key_query_scales.size()", count, std::int64_t{1});
  regression::require_finite_entries(where, "key_query_scales", key_query_scales);
  regression::require_shape(where, "values", values, count, 1);
  regression::require_finite_entries(where, "values", values);
  const regression::Attention<double> attention{key_query, regression::Vector<double>::Zero(task.dimension()), 1.0};
  std::vector<LinearScoreExponent<T>> exponents;
  std::vector<T> of_heads;
  for (std::int64_t h = 0; h < count; ++h) {
    exponents.push_back({static_cast<T>(key_query_scales(h))});
    of_heads.push_back(static_cast<T>(values(h)));
  }
  const Device device = resolve(options.device, options.gpu);
  Simulation simulation = detail::with_system(device, [&](auto system) {
    using System = decltype(system);
    const RegressionModelStorage<T, System::template Memory> storage(attention, task, context_length);
    const typename System::template Memory<LinearScoreExponent<T>> heads(exponents.begin(), exponents.end());
    const typename System::template Memory<T> read(of_heads.begin(), of_heads.end());
    const HeadsReadout<T> readout{{{detail::address(heads), static_cast<int>(count)}}, detail::address(read)};
    return run_on<System>(device,
                          RegressionErrorTrial<T, GaussianTokens<T>, HeadsReadout<T>>{
                              storage.model(), GaussianTokens<T>{}, readout, regression::QueryToken::excluded},
                          options);
  });
  auto scales = detail::scales_of<scoring::SSA<double>>(attention, task);
  const double gain = values.cwiseAbs().sum();
  scales.value *= gain;
  scales.value_deviation *= gain;
  detail::set_regression_rounding<T>(simulation, scales, task.dimension(), context_length,
                                     detail::RoundingOver::few_tokens, {key_query_scales.cwiseAbs().maxCoeff()});
  return simulation;
}

}  // namespace incontext::simulate
