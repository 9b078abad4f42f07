#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// Refusals shared by the laws. Numbers of scores are real numbers here: thresholds in n are not whole, and laws of
/// rows too long to hold are asked for.
namespace incontext::laws::detail {

template <Real T>
bool is_finite(const T& value) {
  return (std::numeric_limits<T>::lowest)() <= value && value <= (std::numeric_limits<T>::max)();
}

template <Real T>
void require_count(std::string_view where, std::string_view parameter, const T& value, int minimum = 1) {
  if (!(T(double(minimum)) <= value && is_finite(value))) {
    throw_domain_error(where, std::string(parameter) + " is too small or not finite", value,
                       "at least " + std::to_string(minimum));
  }
}

template <Real T>
void require_whole(std::string_view where, std::string_view parameter, const T& value, int minimum = 1) {
  using std::floor;
  require_count(where, parameter, value, minimum);
  if (value != floor(value)) {
    throw_domain_error(where, std::string(parameter) + " is not whole", value, "a whole number");
  }
}

/// Accepts 0 < value < 1.
template <Real T>
void require_fraction(std::string_view where, std::string_view parameter, const T& value) {
  if (!(T(0) < value && value < T(1))) {
    throw_domain_error(where, std::string(parameter) + " is not between 0 and 1", value, "0 < value < 1");
  }
}

}  // namespace incontext::laws::detail
