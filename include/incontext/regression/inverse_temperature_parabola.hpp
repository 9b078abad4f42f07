#pragma once

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::regression {

/// A squared error as a function of the attention temperature: a parabola in the inverse temperature.
///
/// \f[ G(\tau) = g_0 - \frac{2 g_1}{\tau} + \frac{g_2}{\tau^2},\qquad \tau^* = \frac{g_2}{g_1},\qquad
///     G(\tau^*) = g_0 - \frac{g_1^2}{g_2} \f]
///
/// g_0 is the error of the prediction without its attended part, g_1 the covariance of the attended part at temperature
/// 1 with what it should predict, and g_2 the second moment of the attended part. So g_2 >= 0, and where g_2 = 0 the
/// attended part vanishes and g_1 = 0 too.
///
/// Source    arXiv 2511.01292 Theorem 4.3, eqs. (16), (120)-(129).
/// Shapes    (constant g_0, linear g_1, quadratic g_2): scalars
/// Units     constant in label units squared; linear times temperature, quadratic times temperature squared.
/// Domain    temperature > 0, infinity included.
/// Limits    temperature -> infinity: constant. g_1 <= 0: no positive temperature helps; optimal_temperature() is
///           infinity and minimum() the constant, never a negative temperature.
/// Errors    temperature <= 0 or NaN: quiet NaN. A NaN coefficient gives NaN, unless the sign of the other one decides
///           the result.
/// Accuracy  4 eps of |g_0| + 2 |g_1| / temperature + g_2 / temperature^2; optimal_temperature half an eps
///           (tests/regression/inverse_temperature_parabola.cpp).
/// Runs on   host and device
template <Real T>
struct InverseTemperatureParabola {
  T constant;
  T linear;
  T quadratic;

  INCONTEXT_HD T operator()(const T& temperature) const {
    if (!(temperature > T(0.0))) return math::not_a_number<T>();
    return constant + (quadratic / temperature - T(2.0) * linear) / temperature;
  }

  INCONTEXT_HD bool has_optimal_temperature() const { return linear > T(0.0) && quadratic > T(0.0); }

  INCONTEXT_HD T optimal_temperature() const {
    if (linear <= T(0.0) || quadratic <= T(0.0)) return math::infinity<T>();
    return quadratic / linear;
  }

  INCONTEXT_HD T minimum() const {
    if (linear <= T(0.0) || quadratic <= T(0.0)) return constant;
    return constant - linear / quadratic * linear;
  }

  /// G(temperature) - minimum() without the cancellation of that difference.
  INCONTEXT_HD T excess(const T& temperature) const {
    if (!(temperature > T(0.0))) return math::not_a_number<T>();
    if (linear <= T(0.0) || quadratic <= T(0.0)) return (quadratic / temperature - T(2.0) * linear) / temperature;
    const T distance = T(1.0) / temperature - linear / quadratic;
    return quadratic * distance * distance;
  }
};

}  // namespace incontext::regression
