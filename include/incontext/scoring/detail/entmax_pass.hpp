#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// alpha > 0 but for 1, where entmax is softmax and this formula of it is undefined.
template <Real T>
INCONTEXT_HD bool in_domain_of_entmax(const T& alpha) {
  return T(0) < alpha && (alpha < T(1) || T(1) < alpha) && math::is_finite(alpha);
}

/// The solved threshold of alpha-entmax, held as a reach s: the support ends the distance s below (alpha - 1) times an
/// anchor score, so that a_i = x_i^p with x_i = s + (alpha - 1)(z_i - anchor) and p = 1 / (alpha - 1).
///
/// For p >= 1 the anchor is the largest score. For 0 < p < 1 a tiny x already has a sizeable weight x^p, so the smallest
/// x must not be a difference of larger numbers. Then the anchor is the lowest score of the support, and its weight is
/// the unknown. For alpha < 1, where p < -1, the anchor is the largest score again: x is at least s there, and every
/// score has a weight. Near alpha = 1 every x is near 1 and carries no digits; there the unknown is the depth c of
/// x_i = 1 + (alpha - 1)(z_i - anchor - c), and the weight is the exponential of log(x_i) / (alpha - 1).
template <Real T>
struct EntmaxPass {
  T slope = T(0);  // alpha - 1
  T power = T(0);  // p
  T anchor = T(0);
  T reach = T(0);
  T depth = T(0);  // c, the unknown near alpha = 1, where the reach is 1; 0 elsewhere
  bool near_one = false;
  T lowest = T(-math::infinity<T>());  // the anchor for p < 1
  T lowest_weight = T(0);
  std::ptrdiff_t highest = -1;

  INCONTEXT_HD bool valid() const { return highest >= 0; }
  /// x_i, positive on the support.
  INCONTEXT_HD T excess(const T& z) const { return z < lowest ? T(0) : T(slope * ((z - anchor) - depth) + reach); }
  /// x_i - 1.
  INCONTEXT_HD T excess_above_one(const T& z) const {
    return near_one ? T(slope * ((z - anchor) - depth)) : T(excess(z) - T(1));
  }
  /// Minus the threshold plus slope times the anchor.
  INCONTEXT_HD T reached() const { return reach - slope * depth; }
  INCONTEXT_HD T weight(const T& z) const {
    using std::exp;
    if (z == lowest) return lowest_weight;
    const T x = excess(z);
    if (near_one) return T(0) < x ? T(exp(log_of_power(z))) : T(0);
    return T(0) < x ? math::power(x, power) : T(0);
  }
  INCONTEXT_HD T log_weight(const T& z) const {
    using std::log;
    if (z == lowest) return log(lowest_weight);
    const T x = excess(z);
    if (near_one && T(0) < x) return log_of_power(z);
    return T(0) < x ? T(power * log(x)) : T(-math::infinity<T>());
  }
  /// log(x^p) near alpha = 1.
  INCONTEXT_HD T log_of_power(const T& z) const { return math::log_one_plus(excess_above_one(z)) / slope; }
  /// s = a^(2 - alpha) = a / x: the Jacobian is diag(s) - s s^T / sum(s).
  INCONTEXT_HD T sensitivity(const T& z) const {
    const T x = excess(z);
    return T(0) < x ? T(weight(z) / x) : T(0);
  }
  /// Normalized sensitivities s / sum(s): the weights of the mean that the Jacobian subtracts.
  struct Sensitivities {
    T total = T(0);
    std::ptrdiff_t top = -1;
  };
  INCONTEXT_HD Sensitivities sensitivities(Row<const T> scores) const {
    Sensitivities result;
    Sum<T> sum;
    T largest_sensitivity = T(0);
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
      const T s = is_visible(scores[i]) ? sensitivity(scores[i]) : T(0);
      sum.add(s);
      if (!(largest_sensitivity < s)) continue;
      largest_sensitivity = s;
      result.top = i;
    }
    result.total = sum.value();
    return result;
  }
  /// out_i = s_i (rate_i - sum_j s_j rate_j / sum(s)), 0 outside the support.
  template <class Rate>
  INCONTEXT_HD void write_centered(Row<const T> scores, Row<T> out, Rate rate) const {
    const Sensitivities all = sensitivities(scores);
    const auto own = [&](std::ptrdiff_t i) -> T { return is_visible(scores[i]) ? sensitivity(scores[i]) : T(0); };
    const auto change = centered<T>(
        scores.size, all.top, [&](std::ptrdiff_t i) -> T { return own(i) / all.total; }, rate);
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
      const T s = own(i);
      out[i] = T(0) < s ? T(s * change(i)) : T(0);
    }
  }
  /// Newton's step for (sum x^p)^(1/p) = 1; the left side is a convex function of the reach if p >= 1, a concave one if
  /// p < 0, linear for equal scores.
  INCONTEXT_HD T step(Row<const T> scores, T& excess_mass) const {
    using std::log;
    Sum<T> mass, slopes;
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
      if (!is_visible(scores[i])) continue;
      const T x = excess(scores[i]);
      if (!(T(0) < x)) continue;
      const T value = near_one ? weight(scores[i]) : T(math::power(x, power));
      mass.add(value);
      slopes.add(value / x);
    }
    const T total = mass.value();
    const T gradient = slopes.value();
    const T logarithm = -log(total) / power;
    excess_mass = total - T(1);
    return -total * math::exp_minus_one(logarithm) / gradient;
  }
};

/// Whether a score at `z` belongs to the support: with the threshold at z, the scores above it leave some weight:
/// the sum of x_j^p over z_j > z is less than 1.
template <Real T>
INCONTEXT_HD bool has_weight(const EntmaxPass<T>& pass, Row<const T> scores, const T& z) {
  Sum<T> mass;
  for (std::ptrdiff_t j = 0; j < scores.size; ++j) {
    if (z < scores[j]) mass.add(math::power(T(pass.slope * (scores[j] - z)), pass.power));
  }
  return mass.value() < T(1);
}

/// The lowest score of the support, which is between the largest score and 1 / (alpha - 1) below it. A bisection over
/// the scores: the undecided score nearest to the middle of that interval is tried, until none is undecided.
template <Real T>
INCONTEXT_HD T lowest_of_support(const EntmaxPass<T>& pass, Row<const T> scores) {
  T inside = scores[pass.highest];
  T outside = inside - pass.power;
  constexpr int limit = 2 * std::numeric_limits<T>::digits + 64;
  for (int iteration = 0; iteration < limit; ++iteration) {
    const T middle = outside + (inside - outside) / T(2);
    std::ptrdiff_t nearest = -1;
    for (std::ptrdiff_t j = 0; j < scores.size; ++j) {
      if (!(outside < scores[j] && scores[j] < inside)) continue;
      if (nearest < 0 || math::magnitude(T(scores[j] - middle)) < math::magnitude(T(scores[nearest] - middle)))
        nearest = j;
    }
    if (nearest < 0) break;
    const T tried = scores[nearest];
    (has_weight(pass, scores, tried) ? inside : outside) = tried;
  }
  return inside;
}

/// Solves for p < 1 by Newton's method on the weight y of the lowest score: sum (y^q + x_j)^(1/q) = 1, with q = 1/p and
/// x_j the distances from that score. The left side is convex in y, so the iterates fall from y = 1 / (size of the
/// support) to the root without a bracket. The last steps give the derivatives of an automatic-differentiation scalar.
template <Real T>
INCONTEXT_HD void solve_from_below(EntmaxPass<T>& pass, Row<const T> scores) {
  pass.lowest = pass.anchor = lowest_of_support(pass, scores);
  std::ptrdiff_t size = 0;
  for (std::ptrdiff_t j = 0; j < scores.size; ++j) size += scores[j] < pass.lowest || !is_visible(scores[j]) ? 0 : 1;
  T y = T(1) / math::from_count<T>(size);
  int polish = 0;
  for (int iteration = 0; iteration < 200 && polish < 3; ++iteration) {
    pass.lowest_weight = y;
    pass.reach = math::power(y, pass.slope);
    Sum<T> mass, slopes;
    for (std::ptrdiff_t j = 0; j < scores.size; ++j) {
      if (scores[j] < pass.lowest || !is_visible(scores[j])) continue;
      const T a = pass.weight(scores[j]);
      mass.add(a);
      slopes.add(a == y ? T(1) : math::power(T(y / a), T(pass.slope - T(1))));
    }
    const T too_much = mass.value() - T(1);
    if (!(math::epsilon<T>() * T(4) < math::magnitude(too_much))) ++polish;
    const T next = y - too_much / slopes.value();
    y = T(0) < next ? next : T(y / T(2));
  }
  pass.lowest_weight = y;
  pass.reach = math::power(y, pass.slope);
}

/// Solves sum_i x_i^p = 1 near alpha = 1 for the depth, from 0, where one score has all the weight, to that of equal
/// scores, by Newton's method inside this bracket.
template <Real T>
INCONTEXT_HD void solve_for_depth(EntmaxPass<T>& pass, Row<const T> scores, const T& log_count) {
  const T equal = -pass.slope * log_count;
  T low = T(0), high = -math::exp_minus_one(equal) / pass.slope;
  const T most = high;  // a last step of Newton's method may leave the bracket by a rounding
  pass.near_one = true;
  pass.reach = T(1);
  pass.depth = high / T(2);
  constexpr int limit = 2 * std::numeric_limits<T>::digits + 64;
  int polish = 0;
  for (int iteration = 0; iteration < limit && polish < 3; ++iteration) {
    T mass = T(0);
    const T step = pass.step(scores, mass) / pass.slope;
    if (T(0) < mass) {
      low = pass.depth;
    } else {
      high = pass.depth;
    }
    const T next = pass.depth + step;
    const bool close = math::magnitude(step) <= math::epsilon<T>() * T(64) * (T(1) + pass.depth);
    if (close) ++polish;
    pass.depth =
        T(0) <= next && next <= most && (close || (low < next && next < high)) ? next : T(low + (high - low) / T(2));
  }
}

/// Solves sum_i x_i^p = 1 for the reach by Newton's method inside a bracket. The bracket is halved whenever Newton's
/// step leaves it or is slow, so the search ends for any alpha; it needs neither sorting nor scratch memory. A few last
/// Newton steps bring the derivatives of an automatic-differentiation scalar to the same fixed point.
template <Real T>
INCONTEXT_HD EntmaxPass<T> entmax_pass(const T& alpha, Row<const T> scores) {
  using std::exp;
  using std::log;
  using std::sqrt;
  EntmaxPass<T> pass;
  const std::ptrdiff_t visible = count_visible(scores);
  if (visible == 0 || !in_domain_of_entmax(alpha)) return pass;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (is_visible(scores[i]) && (pass.highest < 0 || scores[pass.highest] < scores[i])) pass.highest = i;
  }
  pass.slope = alpha - T(1);
  pass.power = T(1) / pass.slope;
  pass.anchor = scores[pass.highest];
  if (T(0) < pass.power && pass.power < T(1)) {
    solve_from_below(pass, scores);
    return pass;
  }
  const T count = math::from_count<T>(visible);
  const T log_count = log(count);
  if (math::magnitude(pass.slope) * log_count <= T(0.5)) {
    solve_for_depth(pass, scores, log_count);
    return pass;
  }
  const T lowest = -pass.slope * log_count;
  const bool dense = pass.slope < T(0);
  T low = dense ? T(1) : exp(lowest);   // all scores equal; for alpha < 1 one score alone
  T high = dense ? exp(lowest) : T(1);  // one score alone; for alpha < 1 all scores equal
  const T most = T(2) * high;
  pass.reach = dense ? low : high;

  const T tolerance = sqrt(math::epsilon<T>()) / T(16);
  constexpr int limit = 2 * std::numeric_limits<T>::digits + 64;
  T width = high - low;
  for (int iteration = 0; iteration < limit && low < high; ++iteration) {
    T mass = T(0);
    const T step = pass.step(scores, mass);
    if (dense ? mass < T(0) : T(0) < mass) {
      high = pass.reach;
    } else {
      low = pass.reach;
    }
    if (math::magnitude(step) <= tolerance * pass.reach) break;
    T next = pass.reach - step;
    const bool slow = iteration % 4 == 3 && !(high - low <= width / T(2));
    if (iteration % 4 == 3) width = high - low;
    if (slow || !(low < next && next < high)) next = low + (high - low) / T(2);
    if (high - low <= math::epsilon<T>() * high) break;
    pass.reach = next;
  }
  for (int polish = 0; polish < 3; ++polish) {
    T mass = T(0);
    const T next = pass.reach - pass.step(scores, mass);
    if (T(0) < next && next < most) pass.reach = next;
  }
  return pass;
}

}  // namespace incontext::scoring::detail
