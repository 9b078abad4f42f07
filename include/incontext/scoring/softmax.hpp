#pragma once

#include "incontext/core/real.hpp"

namespace incontext::scoring {

/// Softmax with a temperature, the scoring function of standard attention, on one row of scores.
///
/// \f[ a_i = \frac{e^{z_i/\tau}}{\sum_j e^{z_j/\tau}} \f]
///
/// Source    arXiv 2310.12956 eq. 1; arXiv 2508.14685 eq. 3.
/// Units     temperature in units of the scores; weights dimensionless.
/// Domain    temperature > 0.
/// Limits    temperature -> infinity: uniform; temperature -> 0: hardmax, ties shared.
/// Runs on   host and device
template <Real T = double>
struct Softmax {
  using value_type = T;
  T temperature = T(1);
};

template <Real T>
Softmax(T) -> Softmax<T>;

}  // namespace incontext::scoring
