#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/ratio_row.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/score_function.hpp"

namespace incontext::scoring {

/// What the values f(z) of a ratio score are divided by.
///
/// Runs on   host and device
enum class ScoreNormalization { none, context_length, sum, absolute_sum };

/// A function of the score over a normalizer: the average, tanh, ReLU and square heads.
///
/// \f[ a_i = \frac{f(z_i)}{N}, \qquad N \in \Bigl\{1,\; n,\; \textstyle\sum_j f(z_j),\; \sum_j |f(z_j)|\Bigr\} \f]
///
/// Masked scores are -infinity; their weights and derivatives are 0, and n is the number of the other scores.
///
/// Source    arXiv 2508.14685, heads of table 1; the paper does not say how they are normalized, so all four are here.
/// Units     scores and weights dimensionless.
/// Domain    Function is Average, Tanh, Relu or Square; N != 0.
/// Limits    for tanh and relu the sum can be 0; near its zeros the weights diverge.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or N = 0.
/// Runs on   host and device
template <class Function, Real T = double>
struct RatioScore {
  using value_type = T;
  ScoreNormalization normalization = ScoreNormalization::context_length;
};

namespace detail {

/// The normalizer N (NaN if the row is invalid) and the entry with the largest |f|.
template <Real T>
struct RatioPass {
  ScoreNormalization normalization;
  T total = math::not_a_number<T>();
  std::ptrdiff_t top = 0;

  INCONTEXT_HD bool valid() const { return math::is_finite(total); }
  INCONTEXT_HD bool moves() const {
    return normalization == ScoreNormalization::sum || normalization == ScoreNormalization::absolute_sum;
  }
  /// sigma, the factor with which the change of a value changes N.
  INCONTEXT_HD T sign(const T& value) const {
    if (normalization == ScoreNormalization::sum) return T(1);
    if (normalization != ScoreNormalization::absolute_sum) return T(0);
    return T((T(0) < value ? 1 : 0) - (value < T(0) ? 1 : 0));
  }
};

template <class Function, Real T>
INCONTEXT_HD RatioPass<T> ratio_pass(const RatioScore<Function, T>& map, Row<const T> scores) {
  RatioPass<T> pass{map.normalization};
  const std::ptrdiff_t visible = count_visible(scores);
  if (visible == 0) return pass;
  Sum<T> sum;
  T largest = T(-1);
  for (std::ptrdiff_t i = 0; pass.moves() && i < scores.size; ++i) {
    if (!is_visible(scores[i])) continue;
    const T value = Function::value(scores[i]);
    const T size = math::magnitude(value);
    sum.add(map.normalization == ScoreNormalization::sum ? value : size);
    if (!(largest < size)) continue;
    largest = size;
    pass.top = i;
  }
  const T total = sum.value();
  if (map.normalization == ScoreNormalization::none) pass.total = T(1);
  if (map.normalization == ScoreNormalization::context_length) pass.total = math::from_count<T>(visible);
  if (total < T(0) || T(0) < total) pass.total = total;
  return pass;
}

/// Calls write(row, total) with the row over packs and what the values are divided by, 0 for their sum; false, and
/// nothing written, where packs cannot be used. As f >= 0, its sum and its absolute sum are the same.
template <class Function, Real T, class Write>
INCONTEXT_HD bool with_ratio_row(ScoreNormalization normalization, Row<const T> scores, const Write& write) {
  if constexpr (PackedConvex<Function, T>) {
    RatioRow<Function, T> row;
    if (!row.begin(scores)) return false;
    if (normalization == ScoreNormalization::none) return write(row, T(1));
    if (normalization == ScoreNormalization::context_length) return write(row, math::from_count<T>(row.extent.count));
    return write(row, T(0));
  }
  return false;
}

/// out_i = f'(z_i) u_i / N, the derivative where N does not depend on the scores.
template <class Function, Real T>
INCONTEXT_HD void write_slopes(const T& total, Row<const T> scores, Row<const T> direction, Row<T> out) {
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T change = Function::slope(scores[i]) * direction[i] / total;
    out[i] = is_visible(scores[i]) ? change : T(0);
  }
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see RatioScore.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  4 eps k relative, k = 1 + sum|f| / |N|: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
INCONTEXT_HD void weights(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  const auto over_packs = [&](const auto& row, const T& total) { return row.write_weights(total, out); };
  if (detail::with_ratio_row<Function, T>(map.normalization, scores, over_packs)) return;
  const auto pass = detail::ratio_pass(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = detail::is_visible(scores[i]) ? T(Function::value(scores[i]) / pass.total) : T(0);
  }
}

/// Logarithms of the weights of the non-negative heads under a positive normalization; -infinity where f = 0.
///
/// Source    see RatioScore.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (k + |log a_i|): tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
  requires(!std::is_same_v<Function, Tanh>)
INCONTEXT_HD void log_weights(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                              Row<std::type_identity_t<T>> out) {
  using std::log;
  const auto pass = detail::ratio_pass(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  const T log_total = log(pass.total);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T value = detail::is_visible(z) ? Function::value(z) : T(0);
    out[i] = T(0) < value ? T(log(value) - log_total) : T(-math::infinity<T>());
  }
}

/// Jacobian times a direction, in O(n).
///
/// \f[ (J u)_i = \frac{f'(z_i) u_i - a_i \dot N}{N}, \qquad \dot N = \sum_j \sigma_j f'(z_j) u_j, \;
///     \sigma_j = 0, 0, 1, \mathrm{sgn} f(z_j) \f]
///
/// The four values of sigma_j belong to the four normalizations, in their order.
///
/// Source    derived: docs/theory/scoring.md#functions-of-the-score.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  8 eps k^2 times the same sum with absolute values, k = 1 + sum|f| / |N|; unbounded for tanh over its
///           sum, where 1 - a cancels: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <class Function, Real T>
INCONTEXT_HD void jvp(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  const auto over_packs = [&](const auto& row, const T& total) {
    return T(0) < total ? row.write_slopes(total, direction, out) : row.write_jvp(direction, out);
  };
  if (detail::with_ratio_row<Function, T>(map.normalization, scores, over_packs)) return;
  const auto pass = detail::ratio_pass(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  if (!pass.moves()) return detail::write_slopes<Function>(pass.total, scores, direction, out);
  // At the largest |f|, 1 - |a| would cancel: there the share and the change of the others are summed by themselves.
  detail::Sum<T> all, others, share;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const bool visible = detail::is_visible(z), other = visible && i != pass.top;
    const T value = Function::value(z);
    const T change = pass.sign(value) * Function::slope(z) * direction[i];
    all.add(visible ? change : T(0));
    others.add(other ? change : T(0));
    share.add(other ? T(pass.sign(value) * value) : T(0));
  }
  const T rate = all.value();
  const T other_rate = others.value();
  const T other_share = share.value() / pass.total;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T own = Function::slope(z) * direction[i];
    const T a = Function::value(z) / pass.total;
    const T change = i == pass.top ? T(other_share * own - a * other_rate) : T(own - a * rate);
    out[i] = detail::is_visible(z) ? T(change / pass.total) : T(0);
  }
}

/// Transposed Jacobian times a cotangent, in O(n).
///
/// \f[ (J^T g)_j = \frac{f'(z_j)}{N} (g_j - \sigma_j\, a \cdot g) \f]
///
/// Source    derived: docs/theory/scoring.md#functions-of-the-score.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  as jvp.
/// Runs on   host and device
template <class Function, Real T>
INCONTEXT_HD void vjp(const RatioScore<Function, T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  const auto over_packs = [&](const auto& row, const T& total) {
    return T(0) < total ? row.write_slopes(total, cotangent, out) : row.write_vjp(cotangent, out);
  };
  if (detail::with_ratio_row<Function, T>(map.normalization, scores, over_packs)) return;
  const auto pass = detail::ratio_pass(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  if (!pass.moves()) return detail::write_slopes<Function>(pass.total, scores, cotangent, out);
  const auto weight = [&](std::ptrdiff_t i) -> T {
    const T value = Function::value(scores[i]);
    return detail::is_visible(scores[i]) ? T(pass.sign(value) * value / pass.total) : T(0);
  };
  const auto signed_cotangent = [=](std::ptrdiff_t i) -> T {
    return pass.sign(Function::value(scores[i])) * cotangent[i];
  };
  const auto change = detail::centered<T>(scores.size, pass.top, weight, signed_cotangent);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T sigma = pass.sign(Function::value(z));
    const T by_value = sigma < T(0) || T(0) < sigma ? T(sigma * change(i)) : cotangent[i];
    out[i] = detail::is_visible(z) ? T(Function::slope(z) / pass.total * by_value) : T(0);
  }
}

}  // namespace incontext::scoring
