#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// Expected error of the approximate softmax on independent normal scores of mean 0 and variance v, in units of the
/// temperature (v is the variance of the scores over tau^2). `ipr` is Y_2 = E sum_j softmax_j^2 of such a row; it is an
/// input here and depends on n and v alone.
namespace incontext::scoring {

/// n^2 times the expected squared error of one weight, exact for every n.
///
/// \f[ n^2\, E e_i^2 = n Y_2 - 1 - v + 2 v Y_2 - \frac{v}{n} \f]
///
/// Source    derived: docs/theory/scoring.md#expected-error; Stein's lemma for the cross term.
/// Domain    n >= 1, v >= 0, 1/n <= ipr <= 1.
/// Limits    n = 1: 0; n -> infinity: e^v - 1 - v.
/// Errors    NaN outside the domain of n and v.
/// Accuracy  8 eps (1 + v + n Y_2) absolute, as small v cancels: tests/scoring/approximate_softmax_expected_error.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_expected_squared_error(std::ptrdiff_t count, const T& variance, const T& ipr) {
  if (count < 1 || !(T(0) <= variance)) return math::not_a_number<T>();
  const T n = math::from_count<T>(count);
  return (n * ipr - T(1)) + variance * (T(2) * ipr - T(1) - T(1) / n);
}

/// Limit of approximate_softmax_expected_squared_error for n -> infinity.
///
/// \f[ e^v - 1 - v = \frac{v^2}{2} + O(v^3) \f]
///
/// Source    derived: docs/theory/scoring.md#expected-error; n Y_2 -> e^v.
/// Domain    v >= 0.
/// Limits    v = 0: 0.
/// Errors    NaN outside the domain.
/// Accuracy  8 eps relative: tests/scoring/approximate_softmax_expected_error.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_expected_squared_error_limit(const T& variance) {
  return T(0) <= variance ? math::exp_minus_one_minus(variance) : math::not_a_number<T>();
}

namespace detail {

/// Phi(b) - Phi(a) for a < 1 and a < b, from the lower tails.
template <Real T>
INCONTEXT_HD T normal_probability_between(const T& a, const T& b) {
  return math::normal_tail(T(-b)) - math::normal_tail(T(-a));
}

/// Root of x - log(1 + x) = level > 0 on the side of `start`, by Newton's method on this convex function. The start is
/// beyond the root, so the iterates move toward 0 until rounding stops them.
template <Real T>
INCONTEXT_HD T outer_root(const T& level, const T& start) {
  T x = start;
  constexpr int limit = 4 * std::numeric_limits<T>::digits + 64;
  for (int i = 0; i < limit; ++i) {
    const T step = (math::minus_log_one_plus(x) - level) * (T(1) + x) / x;
    const T next = x - step;
    if (!(math::magnitude(next) < math::magnitude(x))) break;
    x = next;
  }
  return x;
}

}  // namespace detail

/// Limit of n times the expected absolute error of one weight for n -> infinity.
///
/// \f[ E\bigl|e^{c - v/2} - 1 - c\bigr|, \; c \sim N(0, v) \quad = 2 \bigl[ \Phi(c/\sigma) - \Phi(c/\sigma - \sigma)
///     - \sigma \varphi(c/\sigma) \bigr]_{c_1}^{c_2} \f]
///
/// c_1 < 0 < c_2 are the roots of e^(c - v/2) = 1 + c, between which the error is negative; sigma^2 = v.
///
/// Source    derived: docs/theory/scoring.md#expected-error.
/// Domain    v >= 0.
/// Limits    v -> 0: 2 phi(1) v = 0.48394 v.
/// Errors    NaN outside the domain.
/// Accuracy  64 eps absolute, so 128 eps / v relative: tests/scoring/approximate_softmax_expected_error.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_expected_absolute_error_limit(const T& variance) {
  using std::exp;
  using std::sqrt;
  if (!(T(0) <= variance)) return math::not_a_number<T>();
  if (!(T(0) < variance)) return T(0);
  const T stddev = sqrt(variance);
  const T level = variance / T(2);
  const T deepest = -(T(1) + level);
  const T left_start = exp(deepest) - T(1);
  const T left = detail::outer_root(level, left_start) / stddev;
  const T right = detail::outer_root(level, T(stddev + variance)) / stddev;
  const T root_two_pi = sqrt(T(T(2) * math::pi<T>()));
  const T left_exponent = -left * left / T(2);
  const T right_exponent = -right * right / T(2);
  const T densities = (exp(left_exponent) - exp(right_exponent)) / root_two_pi;
  return T(2) * (detail::normal_probability_between(T(right - stddev), right) -
                 detail::normal_probability_between(T(left - stddev), left) + stddev * densities);
}

/// Probability that a weight of the approximate softmax is negative.
///
/// \f[ P(a_i < 0) = \Phi\Bigl( -\frac{1}{\sqrt{v (1 - 1/n)}} \Bigr) \f]
///
/// Source    derived: docs/theory/scoring.md#expected-error.
/// Domain    n >= 1, v >= 0.
/// Limits    v = 0 or n = 1: 0; v -> infinity: 1/2.
/// Errors    NaN outside the domain.
/// Accuracy  8 eps (1 + 1/v) relative: tests/scoring/approximate_softmax_expected_error.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_negative_weight_probability(std::ptrdiff_t count, const T& variance) {
  using std::sqrt;
  if (count < 1 || !(T(0) <= variance)) return math::not_a_number<T>();
  const T spread = variance * (math::from_count<T>(count - 1) / math::from_count<T>(count));
  if (!(T(0) < spread)) return T(0);
  return math::normal_tail(T(T(1) / sqrt(spread)));
}

/// Leading 1/n term of the squared distance between the outputs of both maps on standard normal tokens.
///
/// \f[ E|o_{\mathrm{softmax}} - o_{\mathrm{approximate}}|^2 \approx \frac1n \bigl[ (d - 1)(e^v - 1 - v) + (1 + v) e^v
///     - 1 - 2 v \bigr] \f]
///
/// Source    derived: docs/theory/scoring.md#expected-error. Both maps have the same mean output up to 1/n:
///           v^(1/2) (1 - Y_2) and v^(1/2) (1 - 1/n) along the query (Stein's lemma).
/// Units     of a squared token component.
/// Domain    n >= 1, d >= 1, v >= 0.
/// Limits    v = 0: 0.
/// Errors    NaN outside the domain.
/// Accuracy  16 eps relative: tests/scoring/approximate_softmax_expected_error.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_output_error(std::ptrdiff_t count, std::ptrdiff_t dimension, const T& variance) {
  if (count < 1 || dimension < 1 || !(T(0) <= variance)) return math::not_a_number<T>();
  const T surplus = math::exp_minus_one_minus(variance);
  const T along = variance * math::exp_minus_one(variance);
  return (math::from_count<T>(dimension) * surplus + along) / math::from_count<T>(count);
}

}  // namespace incontext::scoring
