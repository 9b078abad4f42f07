#pragma once

#include <cstdint>

#include "incontext/classification/detail/cell_boundary.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// The context length from which a kernel pays, over d^2, in high dimension: there the context-adaptive step overtakes
/// the linear one.
///
/// \f[ \lim_{d \to \infty} \frac{n^*}{d^2} = k\,\frac{4 (\alpha k)^2 \langle \tau' \rangle - 2 \langle \rho \rangle}
///     {\frac12 \langle \rho (\langle B^2 \rangle + B^2) \rangle - \alpha k \langle \Gamma \rangle} \f]
///
/// Below n* the best kappa of the adaptive step is not positive, because the noise of a short context makes narrower
/// kernels worse; above, the bias of the linear step, whose class means are not normal to the boundaries of cells,
/// makes them better. Both steps use their best learning rates. In low dimension n*/d^2 is smaller.
///
/// Source    derived: docs/theory/classification.md#onset, which defines the averages over the boundary of a cell.
/// Units     points per squared dimension.
/// Domain    3 <= classes <= 512; for two classes the linear step has no bias, and n* is infinite.
/// Limits    classes 3: 4.666; 5: 4.801; 10: 6.107.
/// Errors    std::invalid_argument for classes.
/// Accuracy  of the limit, 1e-13 relative in double (tests/classification/adaptive_onset.cpp).
template <Real T>
T adaptive_onset_ratio(std::int64_t classes) {
  constexpr auto where = "classification::adaptive_onset_ratio";
  require_at_least(where, "classes", classes, std::int64_t{3});
  if (classes > 512) throw_invalid_argument(where, "classes is too large", classes, "at most 512");
  return T(static_cast<double>(classes)) * detail::CellBoundary<T>(classes).onset();
}

}  // namespace incontext::classification
