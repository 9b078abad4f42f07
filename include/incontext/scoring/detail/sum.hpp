#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/elementary.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {

/// A running sum whose error does not grow with the number of terms: Neumaier's compensated summation; for float terms
/// a plain sum in double. Infinite terms give what the plain sum would give.
template <Real T>
class Sum {
 public:
  INCONTEXT_HD void add(const T& term) {
    if constexpr (std::is_same_v<T, float>) {
      total_ += static_cast<double>(term);
    } else {
      const T next = total_ + term;
      const T rounded = next - total_;
      const T lost_total = total_ - (next - rounded);
      const T lost_term = term - rounded;
      compensation_ = compensation_ + (lost_total + lost_term);
      total_ = next;
    }
  }

  INCONTEXT_HD T value() const {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(total_);
    } else {
      const T corrected = total_ + compensation_;
      return is_finite(corrected) ? corrected : total_;
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
