#pragma once

#include <cmath>

#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/fading_thresholds.hpp"

/// One score against an even grid: of the n scores of a row, n - 1 are k/(n-2) for k = 0 ... n-2, and one is z_max.
namespace incontext::laws {

/// Logarithm of the grid's sum of exponentials.
///
/// \f[ \log S = \log \sum_{k=0}^{n-2} e^{\beta k/(n-2)}
///     = \max(\beta, 0) + \log\Bigl(1 + e^{-y} \frac{1 - e^{-|\beta|}}{1 - e^{-y}}\Bigr),
///     \quad y = \frac{|\beta|}{n-2} \f]
///
/// Source    arXiv 2501.19399, Fig. 3, for an input of n scores; a geometric sum with its largest term taken out.
/// Units     inverse_temperature in one over the units of the scores; result in nats.
/// Domain    row_length >= 3 (not necessarily whole), inverse_temperature finite.
/// Limits    inverse_temperature = 0: log(n - 1); n -> infinity at beta = 1: log((n - 2)(e - 1)).
/// Errors    std::domain_error for row_length or inverse_temperature outside the domain.
/// Accuracy  8 eps relative: tests/laws/fading_grid.cpp.
template <Real T>
T grid_log_sum(const Count<T>& row_length, const T& inverse_temperature) {
  const T& n = row_length;
  using std::exp;
  detail::require_count("laws::grid_log_sum", "row_length", n, 3);
  require_finite("laws::grid_log_sum", "inverse_temperature", inverse_temperature);
  const bool rising = T(0) < inverse_temperature;
  const T span = rising ? inverse_temperature : T(-inverse_temperature);
  const T step = span / (n - T(2));
  const T width = math::exp_minus_one(T(-step));
  const T terms = width < T(0) ? T(math::exp_minus_one(T(-span)) / width) : T(n - T(2));
  const T rest = exp(T(-step)) * terms;
  return (rising ? span : T(0)) + math::log_one_plus(rest);
}

/// The score z_max that has half of the weight against the grid.
///
/// \f[ z_* = \frac{\log S}{\beta} \f]
///
/// Source    derived: docs/theory/laws.md#grid; arXiv 2501.19399, Fig. 3: softmax has beta = 1, SSMax beta = s log n.
/// Units     of the scores.
/// Domain    as grid_log_sum, inverse_temperature > 0.
/// Limits    softmax: diverges like log n; SSMax: 1 + 1/s - log(s log n) / (s log n) + o(1), ssmax_bounded_threshold
///           with edge 1.
/// Errors    std::domain_error for row_length or inverse_temperature outside the domain.
/// Accuracy  10 eps relative: tests/laws/fading_grid.cpp.
template <Real T>
T grid_threshold(const Count<T>& row_length, const T& inverse_temperature) {
  const T& n = row_length;
  require_positive("laws::grid_threshold", "inverse_temperature", inverse_temperature);
  return grid_log_sum(n, inverse_temperature) / inverse_temperature;
}

/// Weight of z_max against the grid.
///
/// \f[ a_{\max} = \frac{1}{1 + e^{-\beta (z_{\max} - z_*)}} = \frac{1}{1 + e^{\log S - \beta z_{\max}}} \f]
///
/// Source    derived: docs/theory/laws.md#grid; arXiv 2501.19399, Fig. 3.
/// Domain    as grid_log_sum; z_max finite, not necessarily above the grid.
/// Limits    z_max = z_*: 1/2.
/// Errors    std::domain_error for row_length, inverse_temperature or z_max outside the domain.
/// Accuracy  8 eps (1 + |log S| + |beta z_max|) relative: tests/laws/fading_grid.cpp.
template <Real T>
T grid_weight(const Count<T>& row_length, const T& inverse_temperature, const T& z_max) {
  const T& n = row_length;
  using std::exp;
  require_finite("laws::grid_weight", "z_max", z_max);
  const T log_sum = grid_log_sum(n, inverse_temperature);
  const T exponent = inverse_temperature * z_max - log_sum;
  if (exponent < T(0)) return exp(exponent) / (T(1) + exp(exponent));
  return T(1) / (T(1) + exp(T(-exponent)));
}

/// Width of the range of z_max over which a logistic weight rises from 10% to 90%.
///
/// \f[ \frac{2 \log 9}{\beta} \f]
///
/// Source    derived: docs/theory/laws.md#grid.
/// Units     of the scores.
/// Domain    inverse_temperature > 0.
/// Limits    SSMax: falls like 1 / log n; softmax: does not depend on n.
/// Errors    std::domain_error for inverse_temperature outside the domain.
/// Accuracy  4 eps relative: tests/laws/fading_grid.cpp.
template <Real T>
T logistic_width(const T& inverse_temperature) {
  using std::log;
  require_positive("laws::logistic_width", "inverse_temperature", inverse_temperature);
  return T(2) * log(T(9)) / inverse_temperature;
}

}  // namespace incontext::laws
