#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/packed_derivatives.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// Whether phi declares that it is the same for rows of every length, by a member `ignores_count`.
template <class Phi>
inline constexpr bool ignores_count = false;
template <class Phi>
  requires requires { Phi::ignores_count; }
inline constexpr bool ignores_count<Phi> = Phi::ignores_count;

/// d phi / d divisor of z / divisor, less that at the reference.
template <class T>
struct QuotientRate {
  T slope;
  T reference;
  template <class Lanes>
  INCONTEXT_HD Lanes operator()(const Lanes& z, const Lanes&) const {
    return ((z - reference) * slope) * -slope;
  }
};

/// phi(z) = z / divisor.
template <Real T>
struct Quotient {
  T divisor;
  INCONTEXT_HD T difference_by(parameter::Temperature, const T& z, const T& w) const {
    return -((z - w) / divisor) / divisor;
  }
  INCONTEXT_HD bool in_domain() const { return T(0) < divisor; }
  INCONTEXT_HD bool decreasing() const { return false; }
  INCONTEXT_HD T value(const T& z) const { return z / divisor; }
  INCONTEXT_HD T difference(const T& z, const T& w) const {
    const T apart = z - w;
    return math::is_finite(apart) ? T(apart / divisor) : T(z / divisor - w / divisor);  // the largest scores overflow
  }
  INCONTEXT_HD T slope(const T&) const { return T(1) / divisor; }
  INCONTEXT_HD T curvature(const T&) const { return T(0); }
  INCONTEXT_HD LinearExponent<T> exponent_from(const T& reference) const {
    return LinearExponent<T>(T(1) / divisor, reference);
  }
  INCONTEXT_HD ConstantFactor<T> slopes() const { return {T(T(1) / divisor)}; }
  INCONTEXT_HD QuotientRate<T> rates_by(parameter::Temperature, const T& reference) const {
    return {T(T(1) / divisor), reference};
  }
};

/// The result of one pass over a row: the entry r of the largest weight, and the sum of the other terms relative to its
/// own. With these, 1 - a_r = others / (1 + others) is never computed as a difference.
template <class Phi, Real T>
struct SoftmaxPass {
  Phi phi;
  std::ptrdiff_t reference_index = 0;
  T reference = T(0);
  T others = T(0);
  bool valid = false;

  INCONTEXT_HD T relative(const T& z) const { return phi.difference(z, reference); }
  INCONTEXT_HD T weight(const T& z) const {
    using std::exp;
    const T exponent = relative(z);
    return exp(exponent) / (T(1) + others);
  }
  INCONTEXT_HD T weight_or_zero(const T& z) const { return is_visible(z) ? weight(z) : T(0); }
  /// sum_i a_i rate(i) over the visible entries.
  template <class Rate>
  INCONTEXT_HD T mean(Row<const T> scores, Rate rate) const {
    Sum<T> sum;
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
      if (is_visible(scores[i])) sum.add(weight(scores[i]) * rate(i));
    }
    return sum.value();
  }
  /// rate(i) - sum_j a_j rate(j).
  template <class Rate>
  INCONTEXT_HD Centered<T, Rate> center(Row<const T> scores, Rate rate) const {
    return centered<T>(
        scores.size, reference_index, [&](std::ptrdiff_t i) -> T { return weight_or_zero(scores[i]); }, rate);
  }
};

template <Real T, class Phi>
INCONTEXT_HD SoftmaxPass<Phi, T> softmax_pass(const Phi& phi, Row<const T> scores) {
  using std::exp;
  SoftmaxPass<Phi, T> pass{phi};
  std::ptrdiff_t lowest = -1, highest = -1;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!is_visible(scores[i])) continue;
    if (!math::is_finite(scores[i])) return pass;
    if (highest < 0 || scores[highest] < scores[i]) highest = i;
    if (lowest < 0 || scores[i] < scores[lowest]) lowest = i;
  }
  if (highest < 0 || !phi.in_domain()) return pass;
  pass.reference_index = phi.decreasing() ? lowest : highest;
  pass.reference = scores[pass.reference_index];
  Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (i == pass.reference_index || !is_visible(scores[i])) continue;
    const T exponent = pass.relative(scores[i]);
    sum.add(exp(exponent));
  }
  pass.others = sum.value();
  pass.valid = true;
  return pass;
}

/// out_i = a_i of softmax(phi(z)), 0 where masked; `phi_for(n)` is phi for a row of n visible scores.
template <Real T, class PhiFor>
INCONTEXT_HD void write_softmax(const PhiFor& phi_for, Row<const T> scores, Row<T> out) {
  if constexpr (PackedPhi<decltype(phi_for(std::ptrdiff_t{1})), T>) {
    if (scores.size >= shortest_packed_row) {
      const auto extent = extent_of<T>(scores);
      if (write_packed_softmax<T>(phi_for(extent.count), extent, scores, out)) return;
    }
  }
  const auto pass = softmax_pass<T>(phi_for(count_visible(scores)), scores);
  if (!pass.valid) return fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) out[i] = pass.weight_or_zero(scores[i]);
}

/// out_i = a_i (rate_i - sum_j a_j rate_j), 0 where masked.
template <class Phi, Real T, class Rate>
INCONTEXT_HD void write_centered(const SoftmaxPass<Phi, T>& pass, Row<const T> scores, Row<T> out, Rate rate) {
  const auto change = pass.center(scores, rate);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = is_visible(z) ? T(pass.weight(z) * change(i)) : T(0);
  }
}

/// Jacobian times a direction of softmax(phi(z)).
template <Real T, class PhiFor>
INCONTEXT_HD void write_softmax_jvp(const PhiFor& phi_for, Row<const T> scores, Row<const T> direction, Row<T> out) {
  if constexpr (PackedSlopes<decltype(phi_for(std::ptrdiff_t{1})), T>) {
    using Slope = decltype(phi_for(std::ptrdiff_t{1}).slopes());
    if constexpr (std::same_as<Slope, ConstantFactor<T>>) {
      const auto rate = [](const auto&, const T&) { return DirectionRate<T>{}; };
      const auto factor = [](const auto& phi) { return phi.slopes(); };
      if (write_packed_centered<T>(phi_for, rate, factor, scores, direction, out)) return;
    } else {
      const auto rate = [](const auto& phi, const T&) { return SlopeRate<T, Slope>{phi.slopes()}; };
      const auto factor = [](const auto&) { return ConstantFactor<T>{T(1)}; };
      if (write_packed_centered<T>(phi_for, rate, factor, scores, direction, out)) return;
    }
  }
  const auto pass = softmax_pass<T>(phi_for(count_visible(scores)), scores);
  if (!pass.valid) return fill(out, math::not_a_number<T>());
  write_centered(pass, scores, out, [=](std::ptrdiff_t i) -> T { return pass.phi.slope(scores[i]) * direction[i]; });
}

/// Transposed Jacobian times a cotangent of softmax(phi(z)).
template <Real T, class PhiFor>
INCONTEXT_HD void write_softmax_vjp(const PhiFor& phi_for, Row<const T> scores, Row<const T> cotangent, Row<T> out) {
  if constexpr (PackedSlopes<decltype(phi_for(std::ptrdiff_t{1})), T>) {
    const auto rate = [](const auto&, const T&) { return DirectionRate<T>{}; };
    const auto factor = [](const auto& phi) { return phi.slopes(); };
    if (write_packed_centered<T>(phi_for, rate, factor, scores, cotangent, out)) return;
  }
  const auto pass = softmax_pass<T>(phi_for(count_visible(scores)), scores);
  if (!pass.valid) return fill(out, math::not_a_number<T>());
  const auto change = pass.center(scores, [=](std::ptrdiff_t i) -> T { return cotangent[i]; });
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = is_visible(z) ? T(pass.phi.slope(z) * pass.weight(z) * change(i)) : T(0);
  }
}

/// The same from the weights a of the scores, in rows for which packs are worth it: no power is computed.
template <Real T, class PhiFor>
INCONTEXT_HD void write_softmax_vjp_from_weights(const PhiFor& phi_for, Row<const T> scores, Row<const T> weights,
                                                 Row<const T> cotangent, Row<T> out) {
  using Phi = decltype(phi_for(std::ptrdiff_t{1}));
  if constexpr (PackedSlopes<Phi, T>) {
    if (shortest_packed_row <= scores.size) {
      const Phi phi = phi_for(ignores_count<Phi> ? scores.size : extent_of<T>(scores).count);
      if (phi.in_domain() && write_packed_vjp_from_weights<T>(phi.slopes(), scores, weights, cotangent, out)) return;
    }
  }
  write_softmax_vjp<T>(phi_for, scores, cotangent, out);
}

/// Derivative of softmax(phi(z)) with respect to a parameter of phi.
template <Real T, class PhiFor, class Parameter>
INCONTEXT_HD void write_softmax_derivative(const PhiFor& phi_for, Parameter parameter, Row<const T> scores,
                                           Row<T> out) {
  using Phi = decltype(phi_for(std::ptrdiff_t{1}));
  if constexpr (PackedProportional<Phi, Parameter, T>) {
    if (write_packed_proportional<T>(phi_for, parameter, scores, out)) return;
  } else if constexpr (PackedParameter<Phi, Parameter, T>) {
    const auto rate = [&](const auto& phi, const T& reference) { return phi.rates_by(parameter, reference); };
    const auto factor = [](const auto&) { return ConstantFactor<T>{T(1)}; };
    if (write_packed_centered<T>(phi_for, rate, factor, scores, scores, out)) return;
  }
  const auto pass = softmax_pass<T>(phi_for(count_visible(scores)), scores);
  if (!pass.valid) return fill(out, math::not_a_number<T>());
  write_centered(pass, scores, out,
                 [=](std::ptrdiff_t i) -> T { return pass.phi.difference_by(parameter, scores[i], pass.reference); });
}

/// sum_i g_i d a_i / d parameter of softmax(phi(z)), without the derivatives themselves.
template <Real T, class PhiFor, class Parameter>
INCONTEXT_HD T softmax_derivative_along(const PhiFor& phi_for, Parameter parameter, Row<const T> scores,
                                        Row<const T> cotangent, Row<T> scratch) {
  if constexpr (PackedParameter<decltype(phi_for(std::ptrdiff_t{1})), Parameter, T>) {
    T result = T(0);
    if (sum_packed_derivative<T>(phi_for, parameter, scores, cotangent, scratch, result)) return result;
  }
  const auto pass = softmax_pass<T>(phi_for(count_visible(scores)), scores);
  if (!pass.valid) return math::not_a_number<T>();
  const auto change = pass.center(scores, [=](std::ptrdiff_t i) -> T { return cotangent[i]; });
  Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!is_visible(scores[i]) || i == pass.reference_index) continue;
    sum.add(pass.weight(scores[i]) * change(i) * pass.phi.difference_by(parameter, scores[i], pass.reference));
  }
  return sum.value();
}

}  // namespace incontext::scoring::detail
