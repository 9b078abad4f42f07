#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/softmax_pass.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

/// Softmax after an elementwise map, a = softmax(phi(z)): the one implementation of Softmax, SSMax and SSA.
///
/// Common to every function here. Masked scores are -infinity, with weight and derivative 0; n is the number of the
/// others. A row with no visible score, with a NaN or +infinity, or a map outside its domain gives NaN in every entry.
/// The output may be the scores, the direction, or both; nothing is allocated.
///
/// Weights are computed from the differences phi(z_i) - phi(z_r), where r is the entry of the largest weight, so they
/// keep relative accuracy. Derivatives are computed from differences of the rates phi' u, so that neither a peaked row
/// nor an offset common to all rates costs digits.
namespace incontext::scoring {

/// The scalar type of a map.
///
/// Runs on   host and device
template <class Map>
using Value = typename Map::value_type;

/// An elementwise map phi, for rows of one given length.
///
///   in_domain(), decreasing()    whether its parameters are in its domain; whether phi decreases with the score
///   value(z)                     phi(z)
///   difference(z, w)             phi(z) - phi(w), without cancellation where a formula for that is known
///   slope(z), curvature(z)       phi'(z), phi''(z)
///
/// Runs on   host and device
template <class Phi, class T>
concept Elementwise = Real<T> && std::copy_constructible<Phi> && requires(const Phi& phi, const T& z) {
  { phi.in_domain() } -> std::same_as<bool>;
  { phi.decreasing() } -> std::same_as<bool>;
  { phi.value(z) } -> std::same_as<T>;
  { phi.difference(z, z) } -> std::same_as<T>;
  { phi.slope(z) } -> std::same_as<T>;
  { phi.curvature(z) } -> std::same_as<T>;
};

/// Whether phi declares that it is linear, phi(z) = phi'(0) z, by a member `static constexpr bool is_linear = true`.
/// Laws of rows then use shared nodes and closed forms that are exact for linear maps only.
template <class Phi>
inline constexpr bool is_linear = false;
/// The map's own declaration, if it has one.
template <class Phi>
  requires requires { Phi::is_linear; }
inline constexpr bool is_linear<Phi> = Phi::is_linear;

namespace detail {

template <class Member>
struct ClassOfMember;
template <class Type, class Class>
struct ClassOfMember<Type Class::*> {
  using type = Class;
};

/// Whether a map declares elementwise(n) itself. A class that inherits it may define other weights, which the functions
/// here would ignore, so it is not accepted.
template <class Map>
inline constexpr bool declares_elementwise = true;
template <class Map>
  requires requires { &Map::elementwise; }
inline constexpr bool declares_elementwise<Map> =
    std::same_as<typename ClassOfMember<decltype(&Map::elementwise)>::type, Map>;

}  // namespace detail

/// A map that is softmax after a monotone elementwise map: `map.elementwise(n)` is phi for a row of n visible scores.
/// Any struct with this one member is a Scoring: every function below, the exact errors in regression/ and the
/// simulators in simulate/ accept it. If phi also has a member `difference_by(parameter, z, w)`, `derivative` exists
/// too. A class that inherits `elementwise` must declare it again; it must not define its weights in another way.
///
/// Source    arXiv 2508.14685 eq. 5 (the identity SSA = softmax after a logarithm); SSMax and softmax: phi linear.
/// Runs on   host and device
template <class Map>
concept SoftmaxLike = Real<typename Map::value_type> && std::copyable<Map> && detail::declares_elementwise<Map> &&
                      requires(const Map& map, const std::ptrdiff_t& count) {
                        { map.elementwise(count) } -> Elementwise<typename Map::value_type>;
                      };

namespace detail {

template <SoftmaxLike Map>
INCONTEXT_HD auto read(const Map& map, Row<const Value<Map>> scores) {
  return softmax_pass<Value<Map>>(map.elementwise(count_visible(scores)), scores);
}

}  // namespace detail

/// Weights of one row.
///
/// \f[ a_i = \frac{e^{\phi(z_i)}}{\sum_j e^{\phi(z_j)}} \f]
///
/// Source    arXiv 2310.12956 eq. 1; arXiv 2501.19399; arXiv 2508.14685 eq. 5.
/// Shapes    (scores: n, out: n)
/// Limits    n = 1: (1).
/// Errors    NaN row, see the top of this file.
/// Accuracy  4 eps (1 + |log(a_i / a_r)|) relative, for any n: tests/scoring/accuracy_50digits.cpp, long rows in
///           tests/scoring/softmax_row.cpp; in float and double what is below the normal range may be 0.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void weights(const Map& map, Row<const Value<Map>> scores, Row<Value<Map>> out) {
  detail::write_softmax<Value<Map>>([&](std::ptrdiff_t count) { return map.elementwise(count); }, scores, out);
}

/// Logarithms of the weights; -infinity for a masked score.
///
/// \f[ \log a_i = (\phi(z_i) - \phi(z_r)) - \log\bigl(1 + \textstyle\sum_{j \ne r} e^{\phi(z_j) - \phi(z_r)}\bigr) \f]
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map.
/// Shapes    (scores: n, out: n)
/// Units     nats.
/// Limits    n = 1: (0).
/// Errors    NaN row, see the top of this file.
/// Accuracy  8 eps (1 + |log a_i|): tests/scoring/accuracy_50digits.cpp.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void log_weights(const Map& map, Row<const Value<Map>> scores, Row<Value<Map>> out) {
  using T = Value<Map>;
  const auto pass = detail::read(map, scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const T log_total = math::log_one_plus(pass.others);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = detail::is_visible(scores[i]) ? T(pass.relative(scores[i]) - log_total) : T(-math::infinity<T>());
  }
}

/// Jacobian times a direction, in O(n).
///
/// \f[ (J u)_i = a_i (t_i - a \cdot t), \qquad t_j = \phi'(z_j) u_j \f]
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map.
/// Shapes    (scores: n, direction: n, out: n)
/// Limits    n = 1: (0).
/// Errors    NaN row, see the top of this file.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max a / min a):
///           tests/scoring/accuracy_50digits.cpp, long rows in tests/scoring/long_row_derivatives.cpp; in float and
///           double a weight below the normal range may count as 0.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void jvp(const Map& map, Row<const Value<Map>> scores, Row<const Value<Map>> direction,
                      Row<Value<Map>> out) {
  detail::write_softmax_jvp<Value<Map>>([&](std::ptrdiff_t count) { return map.elementwise(count); }, scores, direction,
                                        out);
}

/// Transposed Jacobian times a cotangent, in O(n).
///
/// \f[ (J^T g)_i = \phi'(z_i)\, a_i (g_i - a \cdot g) \f]
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map; equals `jvp` when phi is linear.
/// Shapes    (scores: n, cotangent: n, out: n)
/// Limits    n = 1: (0).
/// Errors    NaN row, see the top of this file.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max a / min a):
///           tests/scoring/accuracy_50digits.cpp, long rows in tests/scoring/long_row_derivatives.cpp; in float and
///           double a weight below the normal range may count as 0.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void vjp(const Map& map, Row<const Value<Map>> scores, Row<const Value<Map>> cotangent,
                      Row<Value<Map>> out) {
  detail::write_softmax_vjp<Value<Map>>([&](std::ptrdiff_t count) { return map.elementwise(count); }, scores, cotangent,
                                        out);
}

/// Transposed Jacobian times a cotangent from the weights of the same scores, which a forward pass has kept. In
/// float and double no exponential is computed in a row of 16 scores or more, but where a sum is not finite, as with a
/// NaN for a weight: there, and in other rows, it is vjp.
///
/// \f[ (J^T g)_i = \phi'(z_i)\, a_i (g_i - a \cdot g) \f]
///
/// Source    as vjp.
/// Shapes    (scores: n, weights: n, cotangent: n, out: n); out may be weights or cotangent, and shares no element with
///           the scores.
/// Domain    weights are those that `weights` gives for the scores.
/// Limits    n = 1: (0).
/// Errors    NaN row, see the top of this file.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, as vjp, from this file's weights:
///           tests/scoring/long_row_derivatives.cpp.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void vjp_from_weights(const Map& map, Row<const Value<Map>> scores, Row<const Value<Map>> weights,
                                   Row<const Value<Map>> cotangent, Row<Value<Map>> out) {
  detail::write_softmax_vjp_from_weights<Value<Map>>([&](std::ptrdiff_t count) { return map.elementwise(count); },
                                                     scores, weights, cotangent, out);
}

/// Derivative of the weights with respect to one parameter of the map.
///
/// \f[ \frac{\partial a_i}{\partial \theta} = a_i (f_i - a \cdot f), \qquad
///     f_j = \frac{\partial \phi(z_j)}{\partial \theta} \f]
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map; f - f_r is the map's own cancellation-free difference.
/// Shapes    (scores: n, out: n)
/// Units     one over the parameter's.
/// Limits    n = 1: (0).
/// Errors    NaN row, see the top of this file; a parameter the map does not have does not compile.
/// Accuracy  16 eps (1 + G) times a_i sum_j a_j |f_i - f_j| + a_i max|d a|: tests/scoring/accuracy_50digits.cpp, long
///           rows in tests/scoring/long_row_derivatives.cpp.
/// Runs on   host and device
template <SoftmaxLike Map, class Parameter>
  requires requires(const Map& map, const Parameter& parameter, const Value<Map>& z) {
    { map.elementwise(1).difference_by(parameter, z, z) } -> std::same_as<Value<Map>>;
  }
INCONTEXT_HD void derivative(const Map& map, Parameter parameter, Row<const Value<Map>> scores, Row<Value<Map>> out) {
  detail::write_softmax_derivative<Value<Map>>([&](std::ptrdiff_t count) { return map.elementwise(count); }, parameter,
                                               scores, out);
}

/// Derivative of g . a, for a cotangent g of the weights, with respect to one parameter of the map.
///
/// \f[ \sum_i g_i \frac{\partial a_i}{\partial \theta} = \sum_i a_i (g_i - a \cdot g)(f_i - f_r), \qquad
///     f_j = \frac{\partial \phi(z_j)}{\partial \theta} \f]
///
/// It is what training needs of a parameter. `scratch` holds numbers of the row in between.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map.
/// Shapes    (scores: n, cotangent: n, scratch: n) -> scalar; scratch shares no element with the others.
/// Units     those of g . a over the parameter's.
/// Limits    n = 1: 0; equal g: 0.
/// Errors    NaN where `weights` answers with a NaN row; a parameter the map does not have does not compile.
/// Accuracy  16 eps (1 + G) sum_ij a_i a_j |g_i - g_j| |f_i - f_r|: tests/scoring/long_row_derivatives.cpp.
/// Runs on   host and device
template <SoftmaxLike Map, class Parameter>
  requires requires(const Map& map, const Parameter& parameter, const Value<Map>& z) {
    { map.elementwise(1).difference_by(parameter, z, z) } -> std::same_as<Value<Map>>;
  }
INCONTEXT_HD Value<Map> derivative_along(const Map& map, Parameter parameter, Row<const Value<Map>> scores,
                                         Row<const Value<Map>> cotangent, Row<Value<Map>> scratch) {
  return detail::softmax_derivative_along<Value<Map>>([&](std::ptrdiff_t count) { return map.elementwise(count); },
                                                      parameter, scores, cotangent, scratch);
}

/// Second derivative of the weights along two directions, in O(n).
///
/// \f[ (D^2 a[u, v])_i = a_i \bigl( (s_i - a \cdot s)(t_i - a \cdot t) + w_i - a \cdot (\ldots) \bigr), \qquad
///     s = \phi' u, \; t = \phi' v, \; w = \phi'' u v \f]
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map. Where phi'' jumps (SSA at z = 0) its mean is taken.
/// Shapes    (scores: n, first: n, second: n, out: n)
/// Limits    n = 1: (0).
/// Errors    NaN row, see the top of this file.
/// Accuracy  the formula to 25 digits at 50 digits: tests/scoring/derivatives_50digits.cpp.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void second_derivative(const Map& map, Row<const Value<Map>> scores, Row<const Value<Map>> first,
                                    Row<const Value<Map>> second, Row<Value<Map>> out) {
  using T = Value<Map>;
  const auto pass = detail::read(map, scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const auto s = pass.center(scores, [=](std::ptrdiff_t i) -> T { return pass.phi.slope(scores[i]) * first[i]; });
  const auto t = pass.center(scores, [=](std::ptrdiff_t i) -> T { return pass.phi.slope(scores[i]) * second[i]; });
  detail::write_centered(pass, scores, out, [=](std::ptrdiff_t i) -> T {
    return s(i) * t(i) + pass.phi.curvature(scores[i]) * first[i] * second[i];
  });
}

}  // namespace incontext::scoring
