#pragma once

#include "incontext/core/real.hpp"

namespace incontext::scoring {

/// What the scores of linear attention are divided by: nothing, or the number of visible keys.
///
/// Runs on   host and device
enum class LinearNormalisation { none, context_length };

/// Linear attention: the scores themselves are the weights, up to a factor.
///
/// \f[ a_i = \frac{z_i}{\tau c}, \qquad c \in \{1, n\} \f]
///
/// Source    standard linear attention without feature map.
/// Units     temperature in units of the scores; weights dimensionless.
/// Domain    temperature > 0. Weights are neither positive nor of sum 1.
/// Limits    temperature -> infinity: zero.
/// Runs on   host and device
template <Real T = double>
struct LinearAttention {
  using value_type = T;
  T temperature = T(1);
  LinearNormalisation normalisation = LinearNormalisation::context_length;
};

template <Real T>
LinearAttention(T) -> LinearAttention<T>;
template <Real T>
LinearAttention(T, LinearNormalisation) -> LinearAttention<T>;

}  // namespace incontext::scoring
