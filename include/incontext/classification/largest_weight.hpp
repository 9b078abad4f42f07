#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Expected weight of the context point nearest to the query, among attention weights e^(kappa (u.x - 1)) / Z~.
///
/// \f[ E \max_j p_j = n \int dF(w)\, w \int_0^\infty e^{-t w - q t} \varphi_w(t)^{n-1} dt,\qquad
///     \varphi_w(t) = E[e^{-t w'}; w' \le w] \f]
///
/// Source    derived: docs/theory/classification.md#largest-weight; q = 1 if the query is a key.
/// Domain    2 <= dimension <= 1e6, 0 <= kappa <= 1e5 (1e4 if the query is not a key), context_length >= 1.
/// Limits    kappa = 0: 1/(n + q); n = 1 without the query: 1; kappa -> infinity without the query: 1.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa; numerics::QuadratureError.
/// Accuracy  1e-11 relative in double (tests/classification/largest_weight.cpp).
template <Real T>
T expected_largest_weight(std::int64_t dimension, const T& kappa, std::int64_t context_length, QueryToken query);

namespace detail {

/// Integrals over a panel from its lower end to each of its nodes, in units of its half width: the expansion in
/// Legendre polynomials is integrated.
template <Real T>
struct CumulativeRule {
  T weight[panel_nodes][panel_nodes];

  CumulativeRule() {
    const auto& rule = PanelRule<T>::instance();
    for (int i = 0; i < panel_nodes; ++i) {
      const auto upper = legendre(rule.node[i]);
      for (int j = 0; j < panel_nodes; ++j) {
        const auto at = legendre(rule.node[j]);
        T sum = T(1) + rule.node[i];
        for (std::size_t k = 1; k < panel_nodes; ++k) sum += at[k] * (upper[k + 1] - upper[k - 1]);
        weight[i][j] = rule.weight[j] * sum / T(2);
      }
    }
  }

  static std::vector<T> legendre(const T& x) {
    std::vector<T> p{T(1), x};
    for (int k = 1; k <= panel_nodes; ++k) {
      const auto last = static_cast<std::size_t>(k);
      p.push_back((T(2.0 * k + 1) * x * p[last] - T(double(k)) * p[last - 1]) / T(k + 1.0));
    }
    return p;
  }

  static const CumulativeRule& instance() {
    static const CumulativeRule rule;
    return rule;
  }
};

/// Edges of panels over which n times the probability of a nearer point changes by no more than a few factors of e.
template <Real T>
std::vector<T> nearest_point_edges(std::int64_t dimension, const T& kappa, const T& count) {
  using std::asin;
  using std::exp;
  using std::log;
  using std::tan;
  auto edges = angle_edges(dimension, kappa);
  const T power = T(static_cast<double>(dimension - 1));
  const T negligible = log(T(std::numeric_limits<T>::epsilon())) - T(3) - log(count);
  const T last = boost::math::constants::half_pi<T>() - T(1) / power;  // beyond this angle the existing edges suffice
  T angle = asin(exp(T(negligible / power)));
  while (angle < last) {
    edges.push_back(angle);
    const T step = T(1.5) * tan(angle) / power;
    angle += angle < step ? angle : step;
  }
  return edges;
}

template <Real T>
class LargestWeightIntegral {
 public:
  LargestWeightIntegral(std::int64_t dimension, const T& kappa, const T& count, QueryToken query)
      : rule_(dimension, kappa, nearest_point_edges(dimension, kappa, count)),
        sums_(rule_.shares),
        edge_(transition(kappa, count)),
        count_(count),
        query_(query) {}

  /// The integrand n int dF(w) t w e^(-t w) E[e^(-t w'); w' <= w]^(n - 1) at t = e^s. The expectation over the farther
  /// points w' <= w is needed at every node: it is the integral over all angles, minus the panels before the node's and
  /// minus the part of its own panel before the node, which CumulativeRule gives.
  T operator()(const T& s) const {
    using std::exp;
    using std::expm1;
    // whole panels: from the one with the first node of the band to the one with the last
    const auto [first, last] = band(rule_.exponents, s, edge_);
    const std::size_t low = first / panel_nodes * panel_nodes;
    const std::size_t high = (last + panel_nodes - 1) / panel_nodes * panel_nodes;
    std::vector<T> mass, fall;  // e^(-t w) and 1 - e^(-t w), times shares
    T total_mass = sums_.from[high], total_fall = T(0);
    for (std::size_t i = low; i < high; ++i) {
      const T lost = expm1(T(-exp(T(s + rule_.exponents[i]))));
      mass.push_back(rule_.shares[i] * (T(1) + lost));
      fall.push_back(-rule_.shares[i] * lost);
      total_mass += mass.back();
      total_fall += fall.back();
    }
    T sum = T(0), mass_before = T(0), fall_before = T(0), near_before = sums_.before[low];
    const auto& rule = PanelRule<T>::instance();
    const auto& cumulative = CumulativeRule<T>::instance();
    for (std::size_t panel = 0; panel < mass.size(); panel += panel_nodes) {
      for (std::size_t i = 0; i < panel_nodes; ++i) {
        T m = mass_before, f = fall_before, near_fall = near_before;
        for (std::size_t j = 0; j < panel_nodes; ++j) {
          const T c = cumulative.weight[i][j] / rule.weight[j];
          m += c * mass[panel + j];
          f += c * fall[panel + j];
          near_fall += c * rule_.shares[low + panel + j];
        }
        const T rest = (count_ - T(1)) * log_of_share(T(total_mass - m), T(near_fall + total_fall - f));
        const T tw = exp(T(s + rule_.exponents[low + panel + i]));
        if (T(1) < count_) {
          sum += mass[panel + i] * tw * exp(rest);
        } else {
          sum += mass[panel + i] * tw;
        }
      }
      for (std::size_t j = 0; j < panel_nodes; ++j) {
        mass_before += mass[panel + j];
        fall_before += fall[panel + j];
        near_before += rule_.shares[low + panel + j];
      }
    }
    const T self = query_ == QueryToken::included ? exp(T(-exp(s))) : T(1);
    return count_ * sum * self;
  }

 private:
  AngleRule<T> rule_;
  PartialSums<T> sums_;
  Transition<T> edge_;
  T count_;
  QueryToken query_;
};

}  // namespace detail

template <Real T>
T expected_largest_weight(std::int64_t dimension, const T& kappa, std::int64_t context_length, QueryToken query) {
  using std::log;
  constexpr auto where = "classification::expected_largest_weight";
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  detail::require_partition_function_law(where, dimension, kappa, query);
  const T n = T(static_cast<double>(context_length));
  const T self = query == QueryToken::included ? T(1) : T(0);
  if (!(T(0) < kappa)) return T(1) / (n + self);
  const detail::LargestWeightIntegral<T> integrand(dimension, kappa, n, query);
  const T log_least = T(0) < self ? T(0) : T(log(n) - T(2) * kappa);
  const detail::LocatedIntegrals<T> integrals(log_least, log(T(n + self)));
  std::vector<T> sizes;
  for (const T& s : integrals.grid()) sizes.push_back(log(integrand(s)));
  return integrals(where, sizes, integrand);
}

INCONTEXT_COMPILED(classification_largest_weight, expected_largest_weight<double>);

}  // namespace incontext::classification
