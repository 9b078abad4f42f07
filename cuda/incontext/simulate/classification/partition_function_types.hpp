#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// What a simulation of the partition function around a query measures and gives.
namespace incontext::simulate {

/// What a trial measures of the partition function around its query, Z~ = sum_j e^(kappa (x_j.x - 1)): Z~ over a
/// reference value, and the squared deviation of this quotient from 1; then 1/Z~ and 1/(1 + Z~) without the reference;
/// and of the weights w_j/Z~ their sum of squares, their largest, and the total of the query's own class.
///
/// Runs on   host and device
enum class PartitionFunctionMetric {
  partition_function,
  squared_deviation,
  inverse,
  inverse_with_query,
  ipr,
  largest_weight,
  label_share
};

/// What a trial measures of its classes: the largest and the smallest share of the context's points, the sum of the
/// squared shares, and the length of the mean point. Shares vary in independent contexts only.
///
/// Runs on   host and device
enum class BalanceMetric { largest_share, smallest_share, squared_shares, mean_point_length };

namespace detail {

inline constexpr int partition_function_metrics = 7;
inline constexpr int balance_metrics = 4;

}  // namespace detail

/// Estimates for every kernel, all on the same contexts. A partition function is divided by n A_d(kappa) e^(-kappa),
/// its mean over contexts of independent points, so that 1 is the value of such contexts.
struct PartitionFunctionSimulation {
  Simulation run;
  std::size_t kernels = 0;
  std::vector<double> independent_variance;  ///< v / n, the variance of the quotient for independent points

  [[nodiscard]] const statistics::Estimate& at(std::size_t kernel, PartitionFunctionMetric metric) const {
    return run.estimates.at(kernel * detail::partition_function_metrics + static_cast<std::size_t>(metric));
  }
  [[nodiscard]] const statistics::Estimate& at(BalanceMetric metric) const {
    return run.estimates.at(kernels * detail::partition_function_metrics + static_cast<std::size_t>(metric));
  }
  /// Var Z over its value for independent points. The standard error treats the estimated mean as known.
  [[nodiscard]] statistics::Estimate variance_ratio(std::size_t kernel) const {
    const double off = at(kernel, PartitionFunctionMetric::partition_function).mean - 1,
                 scale = independent_variance.at(kernel);
    statistics::Estimate ratio = at(kernel, PartitionFunctionMetric::squared_deviation);
    ratio.mean = (ratio.mean - off * off) / scale;
    ratio.standard_error /= scale;
    ratio.rounding /= scale;
    return ratio;
  }
  /// Coefficient of variation of Z.
  [[nodiscard]] double variation(std::size_t kernel) const {
    const double variance = variance_ratio(kernel).mean * independent_variance.at(kernel);
    return std::sqrt(variance) / at(kernel, PartitionFunctionMetric::partition_function).mean;
  }
};

}  // namespace incontext::simulate
