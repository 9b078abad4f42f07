#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/ssa.hpp"

namespace incontext::laws {

/// Expectations over a row of SSA weights of n independent normal scores.
///
/// Units     log_partition in nats, the rest dimensionless.
template <Real T>
struct SsaRow {
  T mean_weight;     ///< E w of one unnormalized weight
  T squared_weight;  ///< E w^2
  T log_partition;   ///< E log Z, Z = sum w_j
  T ipr;             ///< Y_2 = E sum a^2
  T typical_ipr;     ///< E w^2 / (n (E w)^2), its limit for n -> infinity
  T error_estimate;  ///< the largest relative error estimate of the two integrals
};

// Expectations over the SSA weight w = (1 + c|g|)^(sgn(g) k) of one normal score, c = b sqrt(v) / tau. w has a kink in
// its second derivative at 0, so each side has its own Gauss-Legendre panels, in u = log(1 + c|g|) = |log w| / k.
namespace detail {

template <Real T>
struct WeightMoments {
  T log_psi, first, second;
};

template <Real T>
class SsaWeights {
 public:
  using value_type = T;

  SsaWeights(const T& knee, const T& exponent) {
    if (!(T(0) < knee)) {
      nodes_.push_back({T(1), T(0)});
      return;
    }
    T g = T(0), u = T(0);
    const T reach = boundary();
    while (g < reach) {
      const T next = u + panel(g, knee, exponent);
      add_panel(u, next, knee, exponent);
      u = next;
      g = math::exp_minus_one(u) / knee;
    }
  }

  /// The largest exponent at which the square of the largest weight does not overflow.
  static T largest_exponent(const T& knee) {
    using std::log;
    const T most = log((std::numeric_limits<T>::max)()) * T(0.49), reach = knee * (boundary() + T(1));
    return T(0) < reach ? T(most / math::log_one_plus(reach)) : (std::numeric_limits<T>::max)();
  }

  T moment(int power) const {
    using std::exp;
    T sum = T(0);
    for (const Node& node : nodes_) sum += node.probability * exp(T(T(double(power)) * node.log_weight));
    return sum;
  }

  T log_psi(const T& s) const {
    using std::exp;
    using std::log;
    T kept = T(0), lost = T(0);
    for (const Node& node : nodes_) {
      const T e = exp(T(s + node.log_weight));
      if (e < T(0.5)) {
        lost += node.probability * -math::exp_minus_one(T(-e));
      } else {
        kept += node.probability * exp(T(-e));
        lost += node.probability * (T(1) - exp(T(-e)));
      }
    }
    if (lost < T(0.5)) return math::log_one_plus(T(-lost));
    for (const Node& node : nodes_) {
      const T e = exp(T(s + node.log_weight));
      if (e < T(0.5)) kept += node.probability * exp(T(-e));
    }
    return log(kept);
  }

  T first(const T& s) const { return moments(s).first; }

  WeightMoments<T> moments(const T& s) const {
    using std::exp;
    WeightMoments<T> m{log_psi(s), T(0), T(0)};
    for (const Node& node : nodes_) {
      const T e = exp(T(s + node.log_weight));
      const T term = node.probability * e * exp(T(-e));
      m.first += term;
      m.second += term * e;
    }
    return m;
  }

 private:
  struct Node {
    T probability, log_weight;
  };

  /// |g| beyond which the density is negligible
  static T boundary() {
    using std::log;
    using std::sqrt;
    return sqrt(T(T(2) * (T(14) - log(T(std::numeric_limits<T>::epsilon())))));
  }

  /// Width in u over which neither s + k u nor the density changes by more than a few units.
  static T panel(const T& g, const T& knee, const T& exponent) {
    T width = exponent < T(4) ? T(0.5) : T(T(2) / exponent);
    const T step = (g < T(3) ? T(1) : T(T(3) / g)) / (g + T(1) / knee);
    return step < width ? step : width;
  }

  void add_panel(const T& from, const T& to, const T& knee, const T& exponent) {
    using std::exp;
    using std::sqrt;
    using Rule = boost::math::quadrature::gauss<T, points>;
    const T half = (to - from) / T(2), middle = (to + from) / T(2);
    const T scale = half / (knee * sqrt(T(2) * math::pi<T>()));
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      for (const T& side : {T(1), T(-1)}) {
        const T u = middle + side * half * Rule::abscissa()[i];
        const T g = math::exp_minus_one(u) / knee;
        const T probability = scale * Rule::weights()[i] * exp(T(u - g * g / T(2)));
        nodes_.push_back({probability, T(exponent * u)});
        nodes_.push_back({probability, T(-exponent * u)});
      }
    }
  }

  static constexpr unsigned points = 20;
  std::vector<Node> nodes_;
};

}  // namespace detail

namespace detail {

template <Real T>
SsaWeights<T> ssa_weights(std::string_view where, const scoring::SSA<T>& map, const T& variance) {
  using std::sqrt;
  scoring::validate(map);
  require_non_negative(where, "variance", variance);
  const T knee = map.base * sqrt(variance) / map.temperature;
  const T largest = SsaWeights<T>::largest_exponent(knee);
  if (!(map.exponent <= largest)) {
    throw_domain_error(where, "exponent is too large for this base and variance: the squared weights overflow",
                       map.exponent, "at most " + std::to_string(static_cast<double>(largest)));
  }
  return {knee, map.exponent};
}

}  // namespace detail

/// SSA on n independent normal scores of mean 0. All moments of w are finite, so it never freezes and always fades.
///
/// \f[ w = (1 + b|z|/\tau)^{\mathrm{sgn}(z) k},\quad Y_2 = n \int ds\, T_2(s) \psi(s)^{n-1},\quad
///     E \log Z = -\gamma - n \int ds\, s\, T_1(s) \psi(s)^{n-1} \f]
///
/// psi(s) = E e^-t and T_k(s) = E t^k e^-t are averages over one score, with t = e^s w; gamma is Euler's constant.
///
/// Source    derived: docs/theory/laws.md#ssa-row; n Y_2 -> E w^2 / (E w)^2.
/// Units     variance in units of the scores squared.
/// Domain    row_length = n >= 1 and whole, in double at most 1.3e145 (n^-2 underflows beyond); variance >= 0; map in
///           its domain, with w^2 finite at scores of 12 standard deviations.
/// Limits    row_length = 1: weight 1 and E log Z = 0; variance = 0: uniform weights.
/// Errors    std::domain_error for row_length, variance or map outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/ssa_row.cpp.
template <Real T>
SsaRow<T> ssa_row(const scoring::SSA<T>& map, const Count<T>& row_length, const T& variance);

/// Expected SSA weight of a needle of score m among N independent normal scores of mean 0.
///
/// \f[ \int ds\, F_1(s + \phi(m))\, \psi(s)^N \approx \frac{w(m)}{w(m) + N E w},\qquad \phi = \log w \f]
///
/// Source    derived: docs/theory/laws.md#needle.
/// Domain    as ssa_row; noise_count >= 1 and whole, score finite.
/// Limits    variance = 0: w(m) / (w(m) + N).
/// Errors    std::domain_error for noise_count, variance, map or score outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/ssa_row.cpp.
template <Real T>
numerics::Quadrature<T> ssa_needle_weight(const scoring::SSA<T>& map, const Count<T>& noise_count, const T& variance,
                                          const T& score) {
  const T& n = noise_count;
  using std::log;
  detail::require_whole("laws::ssa_needle_weight", "noise_count", n, 1);
  require_finite("laws::ssa_needle_weight", "score", score);
  const auto weights = detail::ssa_weights("laws::ssa_needle_weight", map, variance);
  const T exponent = map.elementwise(1).value(score);
  const T turn = exponent - log(T(n * weights.moment(1)));
  return detail::needle_integral<T>("laws::ssa_needle_weight", weights, n, exponent, turn);
}

template <Real T>
SsaRow<T> ssa_row(const scoring::SSA<T>& map, const Count<T>& row_length, const T& variance) {
  const T& n = row_length;
  using std::log;
  detail::require_row("laws::ssa_row", "row_length", n, 2);
  const auto weights = detail::ssa_weights("laws::ssa_row", map, variance);
  SsaRow<T> r{};
  r.mean_weight = weights.moment(1);
  r.squared_weight = weights.moment(2);
  r.typical_ipr = r.squared_weight / (r.mean_weight * r.mean_weight) / n;
  if (n <= T(1)) {  // one weight, whose logarithm has mean 0, as it is odd in the score
    r.ipr = T(1);
    return r;
  }
  detail::IidRow<detail::SsaWeights<T>> row(weights, n, T(-log(T(n * r.mean_weight))));
  const auto ipr =
      row.integrate("laws::ssa_row", [&](const auto& m, const T&) { return T(n * m.second * row.others(m, 1)); });
  // s has the law of a Gumbel variable minus log Z
  const auto location = row.integrate("laws::ssa_row", [&](const auto& m, const T& s) {
    return T((s + boost::math::constants::euler<T>()) * n * m.first * row.others(m, 1));
  });
  r.ipr = ipr.value;
  r.log_partition = -location.value;
  const T relative = ipr.error_estimate / ipr.value;
  r.error_estimate = relative < location.error_estimate ? location.error_estimate : relative;
  return r;
}

INCONTEXT_COMPILED(laws_ssa_row, ssa_row<double>);
INCONTEXT_COMPILED(laws_ssa_row, ssa_needle_weight<double>);

}  // namespace incontext::laws
