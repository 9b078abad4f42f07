#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// Refusals shared by the classification headers.
namespace incontext::classification::detail {

/// Accepts a kernel's concentration that is finite, with room for the small multiples of it that formulas take.
template <Real T>
void require_concentration(std::string_view where, const T& kappa) {
  require_finite(where, "kappa", kappa);
  const T most = (std::numeric_limits<T>::max)() / T(16);
  if (!(-most <= kappa && kappa <= most)) {
    throw_domain_error(where, "kappa is too large for the range of the scalar", kappa,
                       "a sixteenth of the largest number at most");
  }
}

/// A factor of logits whose square, a factor of their variance, is a number.
template <Real T>
void require_factor(std::string_view where, std::string_view parameter, const T& value) {
  using std::sqrt;
  const T most = sqrt((std::numeric_limits<T>::max)());
  require_finite(where, parameter, value);
  if (!(-most <= value && value <= most)) {
    throw_domain_error(where, std::string(parameter) + " is too large", value, "its square to be a number");
  }
}

/// A dimension that integrals over the angle can be taken in.
inline void require_angle_dimension(std::string_view where, std::int64_t dimension) {
  constexpr std::int64_t largest = 1000000;
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  if (dimension > largest) {
    throw_invalid_argument(where, "dimension is too large for its integral", dimension, "at most 1e6");
  }
}

/// A class-balanced context: as many examples of every class.
inline void require_balanced(std::string_view where, std::int64_t context_length, std::int64_t classes) {
  require_at_least(where, "context_length", context_length, classes);
  if (context_length % classes != 0) {
    throw_invalid_argument(where, "context_length is no multiple of the number of classes", context_length,
                           "a multiple of " + std::to_string(classes));
  }
}

}  // namespace incontext::classification::detail
