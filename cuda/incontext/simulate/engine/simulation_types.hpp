#pragma once

#include <cstdint>
#include <vector>

#include "incontext/simulate/engine/device_types.hpp"
#include "incontext/statistics/estimate.hpp"

namespace incontext::simulate {

/// The result of a run: one estimate per grid point, all on common random numbers.
///
/// Shapes    estimates: as many as the grid has points, in its order.
/// Units     seconds of wall time.
struct Simulation {
  std::vector<statistics::Estimate> estimates;
  std::int64_t trials = 0;
  bool interrupted = false;
  Device device = Device::serial;
  double seconds = 0;
};

/// The effective number of trials of a mean. If it is small, a few trials dominate the mean, as happens with heavy
/// tails, and the standard error is not to be trusted.
///
/// \f[ n_{\mathrm{eff}} = \frac{(\sum_i x_i)^2}{\sum_i x_i^2} = \frac{n}{1 + (n - 1)\, \mathrm{se}^2 / \bar x^2} \f]
///
/// The largest trial's share of the total is at least 1 / n_eff and, for values >= 0, at most n_eff^(-1/2). An event
/// that happened in no trial is not detected.
///
/// Source    Kish 1965; the shares by max^2 <= sum of squares <= max times sum.
/// Units     trials.
/// Domain    at least two trials.
/// Limits    equal values: n; one value alone is not 0: 1.
/// Errors    NaN where the estimate has no standard error, or its mean and it are both 0.
/// Accuracy  against the trials themselves, 1e-9 relative: tests/simulate/rows/score_rows.cpp.
inline double effective_trials(const statistics::Estimate& estimate) {
  const auto n = static_cast<double>(estimate.count);
  const double square = estimate.mean * estimate.mean;
  return n * square / (square + (n - 1) * estimate.standard_error * estimate.standard_error);
}

}  // namespace incontext::simulate
