#pragma once

#include <cmath>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::scoring {

/// How Heat Treatment moves from the start to the end temperature. The shapes named inverse move 1 / tau, as the public
/// code does; the shapes named half reach the end temperature at half of the epochs and stay there.
///
/// Runs on   host and device
enum class HeatShape {
  constant,             ///< the start temperature throughout
  half_cosine_inverse,  ///< 1 / tau along half a cosine, over the first half
  full_cosine_inverse,  ///< 1 / tau along half a cosine, over all epochs
  linear_inverse,       ///< 1 / tau linear, over all epochs
  half_linear           ///< tau linear, over the first half
};

namespace detail {

/// Shares of the start and the end value; they add up to 1 without rounding at both ends.
template <Real T>
struct HeatMix {
  T start;
  T end;
};

template <Real T>
INCONTEXT_HD HeatMix<T> heat_mix(HeatShape shape, int epoch, int epochs) {
  if (!(0 <= epoch && epoch < epochs)) return {math::not_a_number<T>(), math::not_a_number<T>()};
  if (shape == HeatShape::constant) return {T(1), T(0)};
  const bool half = shape == HeatShape::half_cosine_inverse || shape == HeatShape::half_linear;
  const int length = half ? epochs / 2 : epochs - 1;
  if (epoch >= length) return {T(0), T(1)};
  const T progress = math::from_count<T>(epoch) / math::from_count<T>(length);
  const T rest = math::from_count<T>(length - epoch) / math::from_count<T>(length);
  if (shape == HeatShape::linear_inverse || shape == HeatShape::half_linear) return {rest, progress};
  using std::sin;
  const T angle = math::pi<T>() / T(2);
  const T done = sin(T(angle * progress));
  const T left = sin(T(angle * rest));
  return {T(left * left), T(done * done)};
}

template <Real T>
INCONTEXT_HD T positive_or_nan(const T& x) {
  return T(0) < x ? x : math::not_a_number<T>();
}

}  // namespace detail

/// Heat Treatment: a training schedule of the softmax temperature. It is low at first, so that the gradients of queries
/// and keys are not starved.
///
/// \f[ \frac1{\tau(t)} = \frac1{\tau_1} + \Bigl(\frac1{\tau_0} - \frac1{\tau_1}\Bigr) \frac{1 + \cos(\pi t/H)}{2},
///     \quad t < H = \lfloor E/2 \rfloor; \qquad \tau(t) = \tau_1, \quad t \ge H \f]
///
/// This is half_cosine_inverse; full_cosine_inverse has E - 1 in the place of H. Likewise linear_inverse moves 1 / tau
/// linearly over t / (E - 1), half_linear moves tau linearly over t / H, and constant stays at tau_0.
///
/// Source    arXiv 2310.12956 sec. 3 and its public code (half cosine in 1 / tau); linear tau is what the text says.
/// Units     temperatures in units of the scores; epochs from 0.
/// Domain    both temperatures > 0, epochs >= 1, 0 <= epoch < epochs.
/// Limits    epoch 0: start temperature; last epoch: end temperature; a single epoch: end temperature, but start
///           temperature for `constant`.
/// Errors    NaN outside the domain.
/// Accuracy  8 eps relative: tests/scoring/heat_schedule.cpp.
/// Runs on   host and device
template <Real T = double>
struct HeatSchedule {
  T start_temperature = T(1) / T(3);
  T end_temperature = T(8);
  int epochs = 1;
  HeatShape shape = HeatShape::half_cosine_inverse;

  INCONTEXT_HD T inverse_temperature(int epoch) const {
    if (shape == HeatShape::half_linear) return T(1) / temperature(epoch);
    const auto mix = detail::heat_mix<T>(shape, epoch, epochs);
    return mix.start / detail::positive_or_nan(start_temperature) + mix.end / detail::positive_or_nan(end_temperature);
  }

  INCONTEXT_HD T temperature(int epoch) const {
    if (shape != HeatShape::half_linear) return T(1) / inverse_temperature(epoch);
    const auto mix = detail::heat_mix<T>(shape, epoch, epochs);
    return mix.start * detail::positive_or_nan(start_temperature) + mix.end * detail::positive_or_nan(end_temperature);
  }
};

/// Refuses a schedule outside its domain: both temperatures > 0, epochs >= 1.
///
/// Source    arXiv 2310.12956.
/// Errors    std::domain_error or std::invalid_argument naming the parameter.
template <Real T>
void validate(const HeatSchedule<T>& schedule) {
  require_positive("scoring::validate", "start_temperature", schedule.start_temperature);
  require_positive("scoring::validate", "end_temperature", schedule.end_temperature);
  require_at_least("scoring::validate", "epochs", schedule.epochs, 1);
}

}  // namespace incontext::scoring
