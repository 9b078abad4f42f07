#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"

/// Maps as a user writes them: in their own namespace, with the members that the library's concepts require and no
/// others.
namespace foreign {

using incontext::Real;
using incontext::scoring::Row;

struct Steepness {};

/// phi(z) = beta asinh(z), written out so that any scalar has it; not copyable by assignment, no default.
template <Real T>
class AsinhExponent {
 public:
  INCONTEXT_HD explicit AsinhExponent(const T& steepness) : steepness_(steepness) {}

  INCONTEXT_HD bool in_domain() const { return T(0) < steepness_; }
  INCONTEXT_HD bool decreasing() const { return false; }
  INCONTEXT_HD T value(const T& z) const { return steepness_ * asinh_of(z); }
  INCONTEXT_HD T difference(const T& z, const T& w) const { return value(z) - value(w); }
  INCONTEXT_HD T slope(const T& z) const { return steepness_ / root(z); }
  INCONTEXT_HD T curvature(const T& z) const { return -steepness_ * z / (root(z) * (T(1) + z * z)); }
  INCONTEXT_HD T difference_by(Steepness, const T& z, const T& w) const { return asinh_of(z) - asinh_of(w); }

 private:
  INCONTEXT_HD static T root(const T& z) {
    using std::sqrt;
    return sqrt(T(T(1) + z * z));
  }
  INCONTEXT_HD static T asinh_of(const T& z) {
    using std::log;
    const T size = z < T(0) ? T(-z) : z;
    const T value = log(T(size + root(z)));
    return z < T(0) ? T(-value) : value;
  }

  const T steepness_;
};

/// softmax(beta asinh(z)): SoftmaxLike, by one member.
template <Real T = double>
class Asinh {
 public:
  using value_type = T;
  INCONTEXT_HD explicit Asinh(const T& steepness) : steepness_(steepness) {}
  INCONTEXT_HD AsinhExponent<T> elementwise(std::ptrdiff_t) const { return AsinhExponent<T>(steepness_); }

 private:
  T steepness_;
};

/// Softmax with a sink, a_i = e^(z_i / tau) / (1 + sum_j e^(z_j / tau)): a Scoring that is not SoftmaxLike.
template <Real T = double>
class SinkSoftmax {
 public:
  using value_type = T;
  INCONTEXT_HD explicit SinkSoftmax(const T& temperature) : temperature_(temperature) {}
  INCONTEXT_HD const T& temperature() const { return temperature_; }

 private:
  T temperature_;
};

/// The row types are exactly those of the concept, so that no conversion from Row<T> to Row<const T> hides a wrong
/// call.
template <Real T>
INCONTEXT_HD void weights(const SinkSoftmax<T>& map, Row<const T> scores, Row<T> out) {
  using std::exp;
  T top = T(0);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T exponent = scores[i] / map.temperature();
    if (top < exponent) top = exponent;
  }
  T total = exp(T(-top));
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) total = total + exp(T(scores[i] / map.temperature() - top));
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) out[i] = exp(T(scores[i] / map.temperature() - top)) / total;
}

template <Real T>
INCONTEXT_HD void log_weights(const SinkSoftmax<T>& map, Row<const T> scores, Row<T> out) {
  using std::exp;
  using std::log;
  T total = T(1);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) total = total + exp(T(scores[i] / map.temperature()));
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) out[i] = scores[i] / map.temperature() - log(total);
}

/// J = (diag(a) - a a^T) / tau, which is symmetric.
template <Real T>
INCONTEXT_HD void jvp(const SinkSoftmax<T>& map, Row<const T> scores, Row<const T> direction, Row<T> out) {
  using std::exp;
  T total = T(1), along = T(0);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T power = exp(T(scores[i] / map.temperature()));
    total = total + power;
    along = along + power * direction[i];
  }
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T weight = exp(T(scores[i] / map.temperature())) / total;
    out[i] = weight * (direction[i] - along / total) / map.temperature();
  }
}

template <Real T>
INCONTEXT_HD void vjp(const SinkSoftmax<T>& map, Row<const T> scores, Row<const T> cotangent, Row<T> out) {
  jvp(map, scores, cotangent, out);
}

/// d a_i / d tau = -a_i (z_i - a . z) / tau^2.
struct Warmth {};
template <Real T>
INCONTEXT_HD void derivative(const SinkSoftmax<T>& map, Warmth, Row<const T> scores, Row<T> out) {
  jvp(map, scores, scores, out);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) out[i] = -out[i] / map.temperature();
}

template <Real T>
void validate(const SinkSoftmax<T>& map) {
  incontext::require_positive("foreign::SinkSoftmax", "temperature", map.temperature());
}

}  // namespace foreign
