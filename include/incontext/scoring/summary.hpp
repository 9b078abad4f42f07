#pragma once

#include <cmath>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::scoring {

/// Scalar properties of one row of softmax weights; none is computed as one minus something near one.
///
/// \f[ \mathrm{lse} = \log\sum_j e^{\phi(z_j)}, \quad H = -\sum_j a_j \log a_j, \quad S_2 = \sum_j a_j^2,
///     \quad 1 - \max_j a_j \f]
///
/// Source    arXiv 2310.12956 (entropy of attention); derived: docs/theory/scoring.md#softmax-of-a-map.
/// Units     log_sum_exp and entropy in nats, the others dimensionless.
/// Limits    one score: entropy 0, IPR 1, complement_of_largest 0; n equal scores: log n, 1/n, 1 - 1/n.
/// Runs on   host and device
template <Real T>
struct RowSummary {
  std::ptrdiff_t visible_count;
  T log_sum_exp;
  T entropy;
  T ipr;
  T complement_of_largest;
};

/// Summary of one row of scores under softmax, SSMax or SSA.
///
/// \f[ H = \log(1 + q) + \sum_j a_j (\phi(z_r) - \phi(z_j)), \qquad
///     q = \sum_{j \ne r} e^{\phi(z_j) - \phi(z_r)}, \qquad 1 - a_r = \frac{q}{1 + q} \f]
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map; both terms of H are non-negative: no cancellation.
/// Shapes    (scores: n) -> scalars
/// Errors    NaN for what `weights` answers with a NaN row.
/// Accuracy  16 eps (1 + G) relative, G the largest gap of phi: tests/scoring/accuracy_50digits.cpp.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD RowSummary<Value<Map>> summary(const Map& map, Row<const Value<Map>> scores) {
  using T = Value<Map>;
  const auto pass = detail::read(map, scores);
  if (!pass.valid) {
    const T nan = math::not_a_number<T>();
    return {0, nan, nan, nan, nan};
  }
  const T log_total = math::log_one_plus(pass.others);
  const T spread = pass.mean(scores, [=](std::ptrdiff_t i) -> T {
    const T gap = -pass.relative(scores[i]);
    return math::is_finite(gap) ? gap : T(0);
  });
  const T ipr = pass.mean(scores, [=](std::ptrdiff_t i) -> T { return pass.weight(scores[i]); });
  return {detail::count_visible(scores), pass.phi.value(pass.reference) + log_total, log_total + spread, ipr,
          pass.others / (T(1) + pass.others)};
}

}  // namespace incontext::scoring
