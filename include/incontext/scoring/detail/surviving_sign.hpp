#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

/// The scores that keep weight under SSA as all scores grow.
namespace incontext::scoring::detail {

/// Which scores keep weight as all grow: those with the sign of the largest one (1, 0 or -1), and that one's size.
template <Real T>
struct SurvivingSign {
  int sign = -1;
  T size = T(0);

  INCONTEXT_HD bool holds(const T& z) const {
    if (sign > 0) return T(0) < z;
    return sign < 0 || !(z < T(0) || T(0) < z);
  }
  /// |z| / |z_r| to the power of the sign, at most 1.
  INCONTEXT_HD T ratio(const T& z) const {
    if (sign == 0) return T(1);
    return sign > 0 ? T(z / size) : T(size / -z);
  }
};

template <Real T>
INCONTEXT_HD SurvivingSign<T> surviving_sign(Row<const T> scores) {
  std::ptrdiff_t top = -1;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (is_visible(scores[i]) && (top < 0 || scores[top] < scores[i])) top = i;
  }
  const T z = scores[top];
  return {T(0) < z ? 1 : z < T(0) ? -1 : 0, math::magnitude(z)};
}

}  // namespace incontext::scoring::detail
