#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Mean logit difference of the context-adaptive step over balanced contexts of two classes, exact at any length.
///
/// \f[ c\, E\frac{Z_+ - Z_-}{Z_+ + Z_- + [q] e^\kappa} = c \int_0^\infty \frac n2 e^{-q t}\left[
///     \psi_+ \varphi_+^{n/2-1} \varphi_-^{n/2} - \psi_- \varphi_-^{n/2-1} \varphi_+^{n/2}\right] dt \f]
/// \f[ \varphi_\pm = E[e^{-t w}|\pm],\quad \psi_\pm = E[w e^{-t w}|\pm],\quad
///     P(+|\theta) = \tfrac12\left[1 + \mathrm{sign}(\cos\theta) I_{\min(1,\tan^2\alpha\cot^2\theta)}
///     (\tfrac12, \tfrac{d-2}{2})\right] \f]
///
/// Source    derived: docs/theory/classification.md#exact-logit-difference.
/// Units     gain = c in nats.
/// Domain    2 <= dimension <= 1e6, 0 <= kappa <= 1e5 (1e4 if the query is not a key), 0 <= boundary_angle <= pi/2,
///           context_length even.
/// Limits    kappa = 0 or boundary_angle = 0: 0; kappa -> 0: c kappa m_d sin(alpha) n/(n + q); n -> infinity: c Delta.
/// Errors    std::invalid_argument for counts, std::domain_error for values; numerics::QuadratureError.
/// Accuracy  1e-10 relative in double (tests/classification/two_class_softmax.cpp).
template <Real T>
T expected_adaptive_logit_difference(std::int64_t dimension, const T& kappa, const T& boundary_angle,
                                     std::int64_t context_length, const T& gain, QueryToken query);

namespace detail {

/// 2 P(u.b > 0 | angle of u to the query) - 1.
template <Real T>
T side_contrast(std::int64_t dimension, const T& boundary_angle, const T& angle) {
  using std::tan;
  const T half_pi = boost::math::constants::half_pi<T>();
  if (half_pi < angle) return -side_contrast(dimension, boundary_angle, T(T(2) * half_pi - angle));
  if (angle <= boundary_angle) return T(1);
  if (dimension == 2) return T(0);
  const T ratio = tan(boundary_angle) / tan(angle), square = ratio * ratio;
  if (!(square < T(1))) return T(1);
  return boost::math::ibeta(T(0.5), T(T(static_cast<double>(dimension - 2)) / T(2)), square);
}

/// Panels that halve toward the kinks of side_contrast at boundary_angle and pi - boundary_angle.
template <Real T>
std::vector<T> side_edges(std::int64_t dimension, const T& kappa, const T& boundary_angle) {
  using std::exp;
  using std::log;
  const T pi = boost::math::constants::pi<T>();
  auto edges = angle_edges(dimension, kappa);
  const T least = exp(T(log(T(std::numeric_limits<T>::epsilon())) * T(0.7)));
  for (const T& kink : {boundary_angle, T(pi - boundary_angle)}) {
    edges.push_back(kink);
    // a quarter turn from the kink always reaches the middle; edges past it do no harm
    add_graded_edges(edges, kink, T(kink < pi / T(2) ? pi / T(2) : boundary_angle), least * boundary_angle);
    add_graded_edges(edges, kink, T(kink < pi / T(2) ? T(pi - boundary_angle) : pi / T(2)), least * boundary_angle);
  }
  return edges;
}

/// The integrand over s = log t of E[N e^(-t D)] t, where N and D are the signed and unsigned kernel sums of a balanced
/// context.
template <Real T>
class SignedSumIntegrand {
 public:
  SignedSumIntegrand(std::int64_t dimension, const T& kappa, const T& boundary_angle, const T& count, const T& self)
      : rule_(dimension, kappa, side_edges(dimension, kappa, boundary_angle)),
        contrasts_(contrasts(rule_, dimension, boundary_angle)),
        sums_(rule_.shares),
        contrast_sums_(contrasts_),
        edge_(transition(kappa, count)),
        count_(count),
        self_(self) {}

  T operator()(const T& s) const {
    using std::exp;
    using std::expm1;
    const auto [first, last] = band(rule_.exponents, s, edge_);
    T share = sums_.from[last], complement = sums_.before[first], lost_contrast = contrast_sums_.before[first];
    T weight = T(0), weight_contrast = T(0);
    for (std::size_t i = first; i < last; ++i) {
      const T tw = exp(T(s + rule_.exponents[i])), fall = expm1(T(-tw)), kept = T(1) + fall;
      share += rule_.shares[i] * kept;
      complement -= rule_.shares[i] * fall;
      lost_contrast -= contrasts_[i] * fall;
      weight += rule_.shares[i] * kept * tw;
      weight_contrast += contrasts_[i] * kept * tw;
    }
    // phi+- = share -+ lost_contrast; psi+- = weight +- weight_contrast
    const T plus = share - lost_contrast, minus = share + lost_contrast;
    if (!(T(0) < plus && T(0) < minus)) return T(0);
    const T log_others = (count_ / T(2) - T(1)) * (log_of_share(plus, T(complement + lost_contrast)) +
                                                   log_of_share(minus, T(complement - lost_contrast)));
    return count_ * exp(T(log_others - self_ * exp(s))) * (weight_contrast * share + weight * lost_contrast);
  }

 private:
  static std::vector<T> contrasts(const AngleRule<T>& rule, std::int64_t dimension, const T& boundary_angle) {
    std::vector<T> values;
    for (std::size_t i = 0; i < rule.angles.size(); ++i) {
      values.push_back(rule.shares[i] * side_contrast(dimension, boundary_angle, rule.angles[i]));
    }
    return values;
  }

  AngleRule<T> rule_;
  std::vector<T> contrasts_;
  PartialSums<T> sums_, contrast_sums_;
  Transition<T> edge_;
  T count_, self_;
};

}  // namespace detail

template <Real T>
T expected_adaptive_logit_difference(std::int64_t dimension, const T& kappa, const T& boundary_angle,
                                     std::int64_t context_length, const T& gain, QueryToken query) {
  using std::exp;
  using std::log;
  using std::sin;
  using std::sqrt;
  constexpr auto where = "classification::expected_adaptive_logit_difference";
  detail::require_two_classes(where, dimension, kappa, boundary_angle, context_length);
  detail::require_partition_function_law(where, dimension, kappa, query);
  require_finite(where, "gain", gain);
  if (!(T(0) < kappa && T(0) < boundary_angle)) return T(0);
  const T n = T(static_cast<double>(context_length)), self = query == QueryToken::included ? T(1) : T(0);
  const T little = exp(T(log(T(std::numeric_limits<T>::epsilon())) / T(3)));
  if (kappa < little) {  // correct up to kappa^2, because the weights are nearly equal
    return gain * (kappa * (n / (n + self * exp(kappa)))) * sphere_constants<T>(dimension).mean_absolute *
           sin(boundary_angle);
  }
  const T linear = little / sqrt(T(T(1) + kappa));  // below this angle the mean is proportional to its sine
  if (boundary_angle < linear) {
    return expected_adaptive_logit_difference(dimension, kappa, linear, context_length, gain, query) *
           (sin(boundary_angle) / sin(linear));
  }
  const detail::SignedSumIntegrand<T> integrand(dimension, kappa, boundary_angle, n, self);
  const T log_least = T(0) < self ? T(0) : T(log(n) - T(2) * kappa);
  const detail::LocatedIntegrals<T> integrals(log_least, log(T(n + self)));
  std::vector<T> sizes;
  for (const T& s : integrals.grid()) {
    const T value = integrand(s);
    sizes.push_back(T(0) < value ? T(log(value)) : T(-std::numeric_limits<T>::infinity()));
  }
  return gain * integrals(where, sizes, integrand);
}

INCONTEXT_COMPILED(classification_two_class_softmax, expected_adaptive_logit_difference<double>);

}  // namespace incontext::classification
