#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/elementary.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/score_function.hpp"

namespace incontext::scoring {

/// What the values f(z) of a ratio score are divided by.
///
/// Runs on   host and device
enum class ScoreNormalisation { none, context_length, sum, absolute_sum };

/// A function of the score over a normalisation: the average, tanh, ReLU and square heads.
///
/// \f[ a_i = \frac{f(z_i)}{N}, \qquad N \in \Bigl\{1,\; n,\; \textstyle\sum_j f(z_j),\; \sum_j |f(z_j)|\Bigr\} \f]
///
/// Masked scores are -infinity: weight and derivative 0, and n counts the others.
///
/// Source    arXiv 2508.14685, heads of table 1; the paper does not say how they are normalised, so all four are here.
/// Units     scores and weights dimensionless.
/// Domain    Function is Average, Tanh, Relu or Square; N != 0.
/// Limits    the sum is singular for tanh and relu: near its zeros the weights diverge.
/// Errors    NaN row: no visible score, a NaN or +infinity, N = 0.
/// Runs on   host and device
template <class Function, Real T = double>
struct RatioScore {
  using value_type = T;
  ScoreNormalisation normalisation = ScoreNormalisation::context_length;
};

namespace detail {

template <Real T>
INCONTEXT_HD T sign(const T& x) {
  if (x < T(0)) return T(-1);
  return T(0) < x ? T(1) : T(0);
}

/// N, NaN if the row is invalid.
template <class Function, Real T>
INCONTEXT_HD T normaliser(const RatioScore<Function, T>& map, Row<const T> scores) {
  const std::ptrdiff_t visible = count_visible(scores);
  if (visible == 0) return not_a_number<T>();
  if (map.normalisation == ScoreNormalisation::none) return T(1);
  if (map.normalisation == ScoreNormalisation::context_length) return from_count<T>(visible);
  Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!is_visible(scores[i])) continue;
    const T value = Function::value(scores[i]);
    sum.add(map.normalisation == ScoreNormalisation::sum ? value : magnitude(value));
  }
  const T total = sum.value();
  return total < T(0) || T(0) < total ? total : not_a_number<T>();
}

/// The sign with which entry z enters N: dN = sum_j sign_j f'(z_j) dz_j.
template <class Function, Real T>
INCONTEXT_HD T normaliser_sign(const RatioScore<Function, T>& map, const T& z) {
  if (map.normalisation == ScoreNormalisation::sum) return T(1);
  if (map.normalisation == ScoreNormalisation::absolute_sum) return sign(T(Function::value(z)));
  return T(0);
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see RatioScore.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps sum|f| / |N| relative: tests/scoring/accuracy_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
INCONTEXT_HD void weights(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  const T total = detail::normaliser(map, scores);
  if (!detail::is_finite(total)) return detail::fill(out, detail::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = detail::is_visible(scores[i]) ? T(Function::value(scores[i]) / total) : T(0);
  }
}

/// Logarithms of the weights of the non-negative heads under a positive normalisation; -infinity where f = 0.
///
/// Source    see RatioScore.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (1 + |log a_i|): tests/scoring/accuracy_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
requires(!std::is_same_v<Function, Tanh>) INCONTEXT_HD
    void log_weights(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                     Row<std::type_identity_t<T>> out) {
  using std::log;
  const T total = detail::normaliser(map, scores);
  if (!detail::is_finite(total)) return detail::fill(out, detail::not_a_number<T>());
  const T log_total = log(total);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T value = detail::is_visible(z) ? Function::value(z) : T(0);
    out[i] = T(0) < value ? T(log(value) - log_total) : T(-detail::infinity<T>());
  }
}

/// Jacobian times a direction, in O(n).
///
/// \f[ (J u)_i = \frac{f'(z_i) u_i - a_i \dot N}{N}, \qquad \dot N = \sum_j \sigma_j f'(z_j) u_j, \;
///     \sigma_j = 0, 0, 1, \mathrm{sgn} f(z_j) \f]
///
/// Source    derived from the definition.
/// Shapes    (scores: n, direction: n, out: n), out may be either.
/// Accuracy  32 eps sum|f| / |N| times the same sum with absolute values: tests/scoring/accuracy_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
INCONTEXT_HD void jvp(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  const T total = detail::normaliser(map, scores);
  if (!detail::is_finite(total)) return detail::fill(out, detail::not_a_number<T>());
  detail::Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    if (detail::is_visible(z)) sum.add(detail::normaliser_sign(map, z) * Function::slope(z) * direction[i]);
  }
  const T rate = sum.value();
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) ? T((Function::slope(z) * direction[i] - Function::value(z) / total * rate) / total)
                                   : T(0);
  }
}

/// Transposed Jacobian times a cotangent, in O(n).
///
/// \f[ (J^T g)_j = \frac{f'(z_j)}{N} (g_j - \sigma_j\, a \cdot g) \f]
///
/// Source    derived from the definition.
/// Shapes    (scores: n, cotangent: n, out: n), out may be either.
/// Accuracy  32 eps sum|f| / |N| times the same sum with absolute values: tests/scoring/accuracy_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
INCONTEXT_HD void vjp(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  const T total = detail::normaliser(map, scores);
  if (!detail::is_finite(total)) return detail::fill(out, detail::not_a_number<T>());
  detail::Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    if (detail::is_visible(z)) sum.add(Function::value(z) / total * cotangent[i]);
  }
  const T mean = sum.value();
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z)
                 ? T(Function::slope(z) / total * (cotangent[i] - detail::normaliser_sign(map, z) * mean))
                 : T(0);
  }
}

}  // namespace incontext::scoring
