#pragma once

#include <cmath>
#include <cstddef>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::scoring {

// The elementwise map of SSMax.
namespace detail {

/// phi(z) = beta z with beta = s log n + b.
template <Real T>
struct ScalableExponent {
  static constexpr bool is_linear = true;
  T scale;
  T log_count;
  T count;
  T factor;
  INCONTEXT_HD bool in_domain() const { return math::is_finite(factor); }
  INCONTEXT_HD bool decreasing() const { return factor < T(0); }
  INCONTEXT_HD T value(const T& z) const { return factor * z; }
  INCONTEXT_HD T difference(const T& z, const T& w) const { return factor * (z - w); }
  INCONTEXT_HD T slope(const T&) const { return factor; }
  INCONTEXT_HD T curvature(const T&) const { return T(0); }
  INCONTEXT_HD LinearExponent<T> exponent_from(const T& reference) const {
    return LinearExponent<T>(factor, reference);
  }
  INCONTEXT_HD ConstantFactor<T> slopes() const { return {factor}; }
  INCONTEXT_HD LinearRate<T> rates_by(parameter::Scale, const T& reference) const { return {log_count, reference}; }
  INCONTEXT_HD LinearRate<T> rates_by(parameter::Bias, const T& reference) const { return {T(1), reference}; }
  INCONTEXT_HD LinearRate<T> rates_by(parameter::VisibleCount, const T& reference) const {
    return {T(scale / count), reference};
  }
  INCONTEXT_HD T difference_by(parameter::Scale, const T& z, const T& w) const { return log_count * (z - w); }
  INCONTEXT_HD T difference_by(parameter::Bias, const T& z, const T& w) const { return z - w; }
  INCONTEXT_HD T difference_by(parameter::VisibleCount, const T& z, const T& w) const {
    return scale / count * (z - w);
  }
};

}  // namespace detail

/// Scalable-Softmax: softmax whose inverse temperature grows with the logarithm of the row length, so that attention
/// to a clearly larger score does not fade.
///
/// \f[ a_i = \frac{e^{\beta_n z_i}}{\sum_j e^{\beta_n z_j}}, \qquad \beta_n = s \log n + b \f]
///
/// n is the number of visible scores of this row: under a causal mask, row i has n = i.
///
/// Source    arXiv 2501.19399, base version b = 0, bias version b != 0. Evaluation and derivatives: softmax_of.hpp.
/// Units     scale and bias in one over the units of the scores; weights dimensionless.
/// Domain    any finite scale and bias; s log n + b < 0 prefers small scores.
/// Limits    n = 1: (1); bias = 0: sharper than softmax iff n > e^(1/s).
/// Errors    NaN weights and derivatives if s log n + b is not finite.
/// Accuracy  as stated in softmax_of.hpp.
/// Runs on   host and device
template <Real T = double>
struct SSMax {
  using value_type = T;
  T scale = T(1);
  T bias = T(0);

  /// beta_n, the inverse temperature of a row with `visible_count` scores.
  INCONTEXT_HD T inverse_temperature(std::ptrdiff_t visible_count) const { return elementwise(visible_count).factor; }
  INCONTEXT_HD detail::ScalableExponent<T> elementwise(std::ptrdiff_t visible_count) const {
    using std::log;
    const T count = math::from_count<T>(visible_count);
    const T log_count = log(count);
    return {scale, log_count, count, T(scale * log_count + bias)};
  }
};

template <Real T>
SSMax(T) -> SSMax<T>;
template <Real T>
SSMax(T, T) -> SSMax<T>;

/// Refuses a map outside its domain: scale and bias must be finite.
///
/// Source    arXiv 2501.19399.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const SSMax<T>& map) {
  require_finite("scoring::validate", "scale", map.scale);
  require_finite("scoring::validate", "bias", map.bias);
}

}  // namespace incontext::scoring
