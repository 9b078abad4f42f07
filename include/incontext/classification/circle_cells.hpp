#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// Classes on the circle: the cell of a prototype is an arc between mid-angles, and each of its quantities is one
/// integral.
namespace incontext::classification {

/// Long-context limits at a query among cells on the circle.
///
/// Units     dimensionless; the partition function as Z~ = sum_j e^(kappa (u_j.x - 1)).
template <Real T>
struct CircleCells {
  std::vector<T> volume;               ///< share of the circle
  std::vector<T> probability;          ///< that a von Mises point about the query is in each cell
  std::vector<T> balanced_weights;     ///< limit of attention on each class in long class-balanced contexts
  std::vector<T> balanced_classes;     ///< predicted probabilities in these contexts
  std::vector<T> independent_classes;  ///< predicted probabilities in long contexts of independent points
  T mean_partition_function;           ///< E Z~ over balanced contexts
  T partition_function_variance;       ///< Var Z~
};

/// Long-context predictions of the context-adaptive step on the circle, and the variance of the partition function.
///
/// \f[ P_c = \int_{C_c} \frac{e^{\kappa\cos\theta}}{2\pi I_0(\kappa)} d\theta,\quad
///     \pi_c = \frac{P_c/\mathrm{vol}_c}{\sum_{c'} P_{c'}/\mathrm{vol}_{c'}},\quad
///     p = \mathrm{softmax}(c\,\pi)\ \text{or}\ \mathrm{softmax}(c P) \f]
/// \f[ E\tilde Z = \frac nk \sum_c a_c,\quad \mathrm{Var}\tilde Z = \frac nk \sum_c \mathrm{Var}[w | C_c],\quad
///     a_c = E[w | C_c] \f]
///
/// Source    derived: docs/theory/classification.md#cells-in-long-contexts; balanced weights are P_c / vol_c.
/// Shapes    (prototypes: k angles) -> k numbers, one per class
/// Units     angles in radians, modulo a turn; gain = c in nats.
/// Domain    k >= 1, distinct prototypes, |angle| <= 1e6 for each angle, kappa >= 0 in log_kernel_mean's domain,
///           context_length a multiple of k.
/// Limits    kappa = 0: weights 1/k; kappa -> infinity: all weight in the query's own cell.
/// Errors    std::invalid_argument for counts, std::domain_error for values; a cell without volume is refused.
/// Accuracy  1e-12 relative in double for widths above 1e-3 (tests/classification/circle_cells.cpp).
template <Real T>
CircleCells<T> circle_cells(std::span<const T> prototypes, const T& query, const T& kappa, std::int64_t context_length,
                            const T& gain);

// The cells of prototypes on the circle: arcs between mid-angles, and averages over them.
namespace detail {

/// Accepts an angle small enough that its remainder modulo a full turn keeps its digits.
template <Real T>
void require_angle(std::string_view where, std::string_view parameter, const T& angle) {
  if (!(T(-1e6) <= angle && angle <= T(1e6))) {
    throw_domain_error(where, std::string(parameter) + " is out of range", angle, "-1e6 to 1e6");
  }
}

/// Offsets from the query of each prototype's arc, in order of the prototypes: lower edge and width.
template <Real T>
struct Arcs {
  std::vector<T> low, width;
};

template <Real T>
Arcs<T> arcs(std::span<const T> prototypes, const T& query) {
  using std::floor;
  const T turn = boost::math::constants::two_pi<T>();
  const std::size_t k = prototypes.size();
  std::vector<T> angle(k);
  for (std::size_t c = 0; c < k; ++c) {
    const T offset = prototypes[c] - query;
    angle[c] = offset - turn * floor(T(offset / turn));
  }
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return angle[a] < angle[b]; });
  Arcs<T> result{std::vector<T>(k), std::vector<T>(k)};
  for (std::size_t i = 0; i < k; ++i) {
    const T here = angle[order[i]];
    const T before = i > 0 ? angle[order[i - 1]] : T(angle[order[k - 1]] - turn);
    const T after = i + 1 < k ? angle[order[i + 1]] : T(angle[order[0]] + turn);
    result.low[order[i]] = (before + here) / T(2);
    result.width[order[i]] = (after - before) / T(2);
  }
  return result;
}

/// Mean of f(e^(kappa (cos - 1))) over an arc, by many panels where the exponential does not underflow and one panel on
/// each side.
template <Real T, class Function>
T arc_mean(const T& kappa, const T& low, const T& width, const Function& f) {
  using std::ceil;
  using std::exp;
  using std::log;
  using std::sin;
  using std::sqrt;
  const T pi = boost::math::constants::pi<T>(), turn = T(2) * pi;
  // offsets are measured from the copy of the query, modulo a turn, that is nearest to the arc's middle
  const T from = pi < low + width / T(2) ? T(low - turn) : low, to = from + width;
  const T least = T(-1.1) * log((std::numeric_limits<T>::min)());  // 1 - cos a >= 2 a^2 / pi^2
  const T reach = T(0) < kappa ? T(pi * sqrt(T(least / (T(2) * kappa)))) : turn;
  const T first = (std::max)(from, T(-reach)), last = (std::min)(to, reach);
  std::vector<T> edges{from};
  if (first < last) {
    const T extent = last - first;
    const auto count = static_cast<std::size_t>(std::ceil(static_cast<double>(T(extent * (T(1) + sqrt(kappa))))));
    for (std::size_t i = 0; i <= count; ++i) edges.push_back(first + extent * T(double(i)) / T(double(count)));
  }
  edges.push_back(to);
  return panel_integral(edges,
                        [&](const T& a) {
                          const T s = sin(T(a / T(2)));
                          return T(f(T(exp(T(T(-2) * kappa * s * s)))));
                        }) /
         width;
}

template <Real T>
std::vector<T> softmax(std::vector<T> values, const T& gain) {
  using std::exp;
  for (T& value : values) value *= gain;
  const T largest = *std::max_element(values.begin(), values.end());
  T sum = T(0);
  for (T& value : values) sum += value = exp(T(value - largest));
  for (T& value : values) value /= sum;
  return values;
}

}  // namespace detail

template <Real T>
CircleCells<T> circle_cells(std::span<const T> prototypes, const T& query, const T& kappa, std::int64_t context_length,
                            const T& gain) {
  using std::exp;
  constexpr auto where = "classification::circle_cells";
  const auto k = static_cast<std::int64_t>(prototypes.size());
  require_at_least(where, "the number of prototypes", k, std::int64_t{1});
  detail::require_balanced(where, context_length, k);
  require_non_negative(where, "kappa", kappa);
  detail::require_concentration(where, kappa);
  detail::require_angle(where, "query", query);
  require_finite(where, "gain", gain);
  for (const T& angle : prototypes) detail::require_angle(where, "a prototype", angle);
  const auto arcs = detail::arcs(prototypes, query);
  const T scaled_mean = exp(detail::log_mean(2, kappa).scaled);
  const std::int64_t keys_per_class = context_length / k;
  const T per_class = T(static_cast<double>(keys_per_class));
  CircleCells<T> cells{};
  T total = T(0);
  for (std::size_t c = 0; c < prototypes.size(); ++c) {
    require_positive(where, "the volume of a cell", arcs.width[c]);
    const T mean = detail::arc_mean(kappa, arcs.low[c], arcs.width[c], [](const T& w) { return w; });
    const T spread =
        detail::arc_mean(kappa, arcs.low[c], arcs.width[c], [&mean](const T& w) { return T((w - mean) * (w - mean)); });
    cells.volume.push_back(arcs.width[c] / boost::math::constants::two_pi<T>());
    cells.probability.push_back(mean * cells.volume[c] / scaled_mean);
    cells.balanced_weights.push_back(mean);
    total += mean;
    cells.partition_function_variance += per_class * spread;
  }
  cells.mean_partition_function = per_class * total;
  for (T& weight : cells.balanced_weights) weight /= total;
  cells.balanced_classes = detail::softmax(cells.balanced_weights, gain);
  cells.independent_classes = detail::softmax(cells.probability, gain);
  return cells;
}

}  // namespace incontext::classification
