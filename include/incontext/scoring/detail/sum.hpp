#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/core/two_sum.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// A running sum whose error does not grow with the number of terms: Neumaier's compensated summation, and for float
/// terms a plain sum in double. Infinite terms give what the plain sum would give.
template <Real T>
class Sum {
 public:
  INCONTEXT_HD void add(const T& term) {
    if constexpr (std::is_same_v<T, float>) {
      total_ += static_cast<double>(term);
    } else {
      math::add_compensated(total_, compensation_, term);
    }
  }

  INCONTEXT_HD T value() const {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(total_);
    } else {
      const T corrected = total_ + compensation_;
      return math::is_finite(corrected) ? corrected : total_;
    }
  }

 private:
  using Accumulator = std::conditional_t<std::is_same_v<T, float>, double, T>;
  Accumulator total_ = Accumulator(0);
  Accumulator compensation_ = Accumulator(0);
};

template <Real T>
INCONTEXT_HD T dot(Row<const T> a, Row<const T> b) {
  Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < a.size; ++i) sum.add(a[i] * b[i]);
  return sum.value();
}

}  // namespace incontext::scoring::detail
