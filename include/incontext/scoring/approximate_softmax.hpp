#pragma once

#include "incontext/core/real.hpp"

namespace incontext::scoring {

/// Approximate (linearised) softmax: the first-order Taylor expansion of softmax at equal scores.
///
/// \f[ a_i = \frac1n \Bigl(1 + \frac{z_i - \bar z}{\tau}\Bigr) \f]
///
/// Source    first-order expansion of arXiv 2310.12956 eq. 1 at a constant row.
/// Units     temperature in units of the scores; weights dimensionless.
/// Domain    temperature > 0. Weights may be negative.
/// Limits    temperature -> infinity: uniform.
/// Runs on   host and device
template <Real T = double>
struct ApproximateSoftmax {
  using value_type = T;
  T temperature = T(1);
};

template <Real T>
ApproximateSoftmax(T) -> ApproximateSoftmax<T>;

}  // namespace incontext::scoring
