#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "incontext/classification/circle_cells.hpp"
#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Mean attention on each class of the circle, over class-balanced contexts about given prototypes and a given query:
/// the mean logits of the context-adaptive step over its gain, exact at any context length and number of classes.
///
/// \f[ E\frac{Z_c}{\sum_b Z_b + [q] e^\kappa} = m \int_0^\infty e^{-q t}\, \psi_c\, \varphi_c^{m-1}
///     \prod_{b \ne c} \varphi_b^m\, dt,\qquad \varphi_c(t) = E[e^{-t w} | C_c],\quad \psi_c = E[w e^{-t w} | C_c],
///     \quad m = n/k \f]
///
/// Source    derived: docs/theory/classification.md#attention-on-the-circle; w = e^(kappa (u.x - 1)), q = 1 if the
///           query is a key.
/// Shapes    (prototypes: k angles) -> k
/// Units     angles in radians; the result dimensionless, of sum 1 without the query's key.
/// Domain    as circle_cells; kappa <= 1e4, without the query's key 500.
/// Limits    kappa = 0: m/(n + q); n -> infinity: balanced_weights of circle_cells.
/// Errors    std::invalid_argument for counts, std::domain_error for values.
/// Accuracy  1e-11 of the largest in double (tests/classification/circle_attention.cpp).
template <Real T>
std::vector<T> circle_attention(std::span<const T> prototypes, const T& query, const T& kappa,
                                std::int64_t context_length, QueryToken query_token);

// The Laplace transform of the kernel over an arc of the circle, on nodes that suit every concentration.
namespace detail {

/// One class's arc on nodes: shares that sum to 1, and exponents kappa (cos - 1) of the kernel.
template <Real T>
struct ArcRule {
  std::vector<T> shares, exponents;

  ArcRule(const T& kappa, const T& low, const T& width) {
    using std::sin;
    const T turn = boost::math::constants::two_pi<T>(), high = low + width;
    std::vector<T> edges{low, high};
    for (const T& edge : angle_edges<T>(2, kappa)) {
      for (const T& whole : {T(-turn), T(0), turn, T(T(2) * turn)}) {
        for (const T& at : {T(whole + edge), T(whole - edge)}) {
          if (low < at && at < high) edges.push_back(at);
        }
      }
    }
    std::sort(edges.begin(), edges.end());
    const auto& rule = PanelRule<T>::instance();
    for (std::size_t p = 0; p + 1 < edges.size(); ++p) {
      const T half = (edges[p + 1] - edges[p]) / T(2), middle = (edges[p + 1] + edges[p]) / T(2);
      if (!(T(0) < half)) continue;
      for (int i = 0; i < panel_nodes; ++i) {
        const T s = sin(T((middle + half * rule.node[i]) / T(2)));
        shares.push_back(half * rule.weight[i] / width);
        exponents.push_back(T(-2) * kappa * s * s);
      }
    }
  }
};

/// log E e^(-t w) and E t w e^(-t w) at t = e^s of a point of a cell.
template <Real T>
struct ArcTransform {
  T log_psi, first;
};

template <Real T>
ArcTransform<T> transform_of(const ArcRule<T>& rule, const T& s) {
  using std::exp;
  using std::expm1;
  T share = T(0), complement = T(0), first = T(0);
  for (std::size_t i = 0; i < rule.shares.size(); ++i) {
    const T tw = exp(T(s + rule.exponents[i])), fall = expm1(T(-tw));
    share += rule.shares[i] * (T(1) + fall);
    complement -= rule.shares[i] * fall;
    first += rule.shares[i] * (T(1) + fall) * tw;
  }
  return {log_of_share(share, complement), first};
}

}  // namespace detail

template <Real T>
std::vector<T> circle_attention(std::span<const T> prototypes, const T& query, const T& kappa,
                                std::int64_t context_length, QueryToken query_token) {
  using std::exp;
  using std::log;
  constexpr auto where = "classification::circle_attention";
  const bool is_key = query_token == QueryToken::included;
  circle_cells(prototypes, query, kappa, context_length, T(0));  // refuses what is outside the domain
  if (!(kappa <= T(is_key ? 1e4 : 500))) {
    throw_domain_error(where, "kappa is too large for its integral", kappa,
                       is_key ? "at most 1e4" : "at most 500 without the query's key");
  }
  const std::size_t k = prototypes.size();
  const T n = T(static_cast<double>(context_length)), m = n / T(static_cast<double>(k)), self = T(is_key ? 1 : 0);
  const auto arcs = detail::arcs(prototypes, query);
  std::vector<detail::ArcRule<T>> rules;
  for (std::size_t c = 0; c < k; ++c) rules.emplace_back(kappa, arcs.low[c], arcs.width[c]);
  // In s = log t the integrand is entire, and bounded where |Im s| < pi/2: a trapezoidal rule errs by e^(-pi^2/step).
  const T digits = -log(T(std::numeric_limits<T>::epsilon())) + T(4);
  const T step = boost::math::constants::pi_sqr<T>() / digits;
  const T last = (is_key ? T(0) : T(T(2) * kappa - log(n))) + log(digits) + T(1);
  std::vector<T> attention(k, T(0));
  for (T s = -log(T(n + self)) - digits; s < last; s += step) {
    T log_all = is_key ? T(-exp(s)) : T(0);
    std::vector<detail::ArcTransform<T>> at;
    for (const auto& rule : rules) {
      at.push_back(detail::transform_of(rule, s));
      log_all += m * at.back().log_psi;
    }
    for (std::size_t c = 0; c < k; ++c) {
      if (T(0) < at[c].first) attention[c] += step * m * at[c].first * exp(T(log_all - at[c].log_psi));
    }
  }
  return attention;
}

INCONTEXT_COMPILED(classification_circle_attention, circle_attention<double>);

}  // namespace incontext::classification
