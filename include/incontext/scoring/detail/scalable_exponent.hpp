#pragma once

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// The elementwise map of SSMax.
namespace incontext::scoring::detail {

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

}  // namespace incontext::scoring::detail
