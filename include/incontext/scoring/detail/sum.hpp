#pragma once

#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/elementary.hpp"

namespace incontext::scoring::detail {

/// A running sum whose error does not grow with the number of terms: Neumaier's compensated summation, and double for
/// float terms. Infinite terms give what the plain sum would give.
template <Real T>
class Sum {
 public:
  INCONTEXT_HD void add(const T& term) {
    const Accumulator x = Accumulator(term);
    const Accumulator next = total_ + x;
    const Accumulator rounded = next - total_;
    const Accumulator lost_total = total_ - (next - rounded);
    const Accumulator lost_term = x - rounded;
    compensation_ = compensation_ + (lost_total + lost_term);
    total_ = next;
  }

  INCONTEXT_HD T value() const {
    const Accumulator corrected = total_ + compensation_;
    return is_finite(corrected) ? T(corrected) : T(total_);
  }

 private:
  using Accumulator = std::conditional_t<std::is_same_v<T, float>, double, T>;
  Accumulator total_ = Accumulator(0);
  Accumulator compensation_ = Accumulator(0);
};

}  // namespace incontext::scoring::detail
