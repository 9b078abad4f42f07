#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "incontext/classification/detail/circle_arcs.hpp"
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
