#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/softmax_of.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/regression/regression_rounding.hpp"

/// The rounding of the reduced simulation of softmax.
namespace incontext::simulate::detail {

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

}  // namespace incontext::simulate::detail
