#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"

/// The number of scores, competitors or dimensions in a formula. Formulas take it as a real number, because thresholds
/// in n are not whole and n may exceed every integer type; callers usually have an integer.
namespace incontext {

/// A count: it is constructed from an integer of any type or from a value that converts to T, and converts to T.
///
/// Accuracy  exact, except that an integer that T cannot represent is rounded once: tests/core/count.cpp.
/// Runs on   host and device
template <Real T>
class CountOf {
 public:
  template <std::integral N>
    requires(!std::same_as<N, bool>)
  INCONTEXT_HD constexpr CountOf(const N& count) : value_(of_integer(count)) {}
  template <class N>
    requires(!std::integral<N> && std::convertible_to<const N&, T>)
  INCONTEXT_HD constexpr CountOf(const N& count) : value_(static_cast<T>(count)) {}

  INCONTEXT_HD constexpr operator const T&() const { return value_; }

 private:
  template <class N>
  INCONTEXT_HD static constexpr T of_integer(const N& count) {
    constexpr bool direct = std::is_arithmetic_v<T> || std::numeric_limits<T>::digits > 53;
    if constexpr (direct && std::constructible_from<T, N>) {
      return static_cast<T>(count);
    } else {
      return T(static_cast<double>(count));
    }
  }

  T value_;
};

/// The type of a parameter that is a count. It takes no part in deducing T, which the other arguments determine:
/// `needle_weight(131071, 2.5, 8.0)` is computed in double.
///
/// Runs on   host and device
template <class T>
using Count = std::type_identity_t<CountOf<T>>;

/// The scalar in which a formula of counts alone is computed: double for an integer, else the argument's own type.
///
/// Runs on   host and device
template <class N>
using RealOf = std::conditional_t<std::integral<N>, double, N>;

}  // namespace incontext
