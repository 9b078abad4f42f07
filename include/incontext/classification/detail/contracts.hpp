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

/// Accepts a finite concentration small enough that the small multiples of it that formulas take do not overflow.
template <Real T>
void require_concentration(std::string_view where, const T& kappa) {
  require_finite(where, "kappa", kappa);
  const T most = (std::numeric_limits<T>::max)() / T(16);
  if (!(-most <= kappa && kappa <= most)) {
    throw_domain_error(where, "kappa is too large for the range of the scalar", kappa,
                       "at most a sixteenth of the largest number");
  }
}

/// Accepts a dimension up to 1e15, beyond which d and d + 1 are one number of the scalar.
inline void require_dimension(std::string_view where, std::int64_t dimension, std::int64_t least) {
  require_at_least(where, "dimension", dimension, least);
  constexpr std::int64_t most = 1'000'000'000'000'000;
  if (dimension > most) throw_invalid_argument(where, "dimension is too large", dimension, "at most 1e15");
}

/// Accepts a factor of the logits whose square, which is a factor of their variance, does not overflow.
template <Real T>
void require_factor(std::string_view where, std::string_view parameter, const T& value) {
  using std::sqrt;
  const T most = sqrt((std::numeric_limits<T>::max)());
  require_finite(where, parameter, value);
  if (!(-most <= value && value <= most)) {
    throw_domain_error(where, std::string(parameter) + " is too large", value, "a value whose square is finite");
  }
}

/// Accepts a dimension in which the integrals over the angle can be computed.
inline void require_angle_dimension(std::string_view where, std::int64_t dimension) {
  constexpr std::int64_t largest = 1000000;
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  if (dimension > largest) {
    throw_invalid_argument(where, "dimension is too large for its integral", dimension, "at most 1e6");
  }
}

/// Accepts the length of a class-balanced context, which has equally many examples of every class.
inline void require_balanced(std::string_view where, std::int64_t context_length, std::int64_t classes) {
  require_at_least(where, "context_length", context_length, classes);
  if (context_length % classes != 0) {
    throw_invalid_argument(where, "context_length is no multiple of the number of classes", context_length,
                           "a multiple of " + std::to_string(classes));
  }
}

}  // namespace incontext::classification::detail
