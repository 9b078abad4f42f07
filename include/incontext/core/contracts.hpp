#pragma once

#include <concepts>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "incontext/core/floating_point.hpp"

/// How the functions that check their arguments on the host refuse one: an exception with one line that names the
/// function, the parameter, its value and what is required. Host only; device code and leaf formulas answer quiet NaN
/// instead. Every scoring map includes this header, so it includes no string streams, which take as long to compile as
/// the map itself.
namespace incontext {

/// A number as text with the given number of significant digits, to be put into a sentence.
inline std::string short_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

/// Throws std::invalid_argument for a wrong shape or configuration. The message is
/// `incontext::where: problem (value = ...; needs ...)`.
template <class Value>
[[noreturn]] void throw_invalid_argument(std::string_view where, std::string_view problem, const Value& value,
                                         std::string_view needs);

/// Throws std::domain_error for a value outside the domain, with the same layout of the message.
template <class Value>
[[noreturn]] void throw_domain_error(std::string_view where, std::string_view problem, const Value& value,
                                     std::string_view needs);

/// Accepts value > 0 and finite; NaN is refused.
template <class Value>
void require_positive(std::string_view where, std::string_view parameter, const Value& value) {
  if (!(value > Value(0) && value <= (std::numeric_limits<Value>::max)())) {
    throw_domain_error(where, std::string(parameter) + " is not positive and finite", value, "0 < value < infinity");
  }
}

/// Accepts value >= 0 and finite; NaN is refused.
template <class Value>
void require_non_negative(std::string_view where, std::string_view parameter, const Value& value) {
  if (!(value >= Value(0) && value <= (std::numeric_limits<Value>::max)())) {
    throw_domain_error(where, std::string(parameter) + " is negative or not finite", value, "0 <= value < infinity");
  }
}

/// Accepts any finite value; NaN is refused.
template <class Value>
void require_finite(std::string_view where, std::string_view parameter, const Value& value) {
  if (!((std::numeric_limits<Value>::lowest)() <= value && value <= (std::numeric_limits<Value>::max)())) {
    throw_domain_error(where, std::string(parameter) + " is not finite", value, "a finite number");
  }
}

/// Accepts value > 0, infinity included, and refuses NaN. An infinite temperature makes all weights equal, and an
/// infinite cap has no effect.
template <class Value>
void require_above_zero(std::string_view where, std::string_view parameter, const Value& value) {
  if (!(value > Value(0))) {
    throw_domain_error(where, std::string(parameter) + " is not positive", value, "0 < value");
  }
}

/// Accepts value >= minimum, for counts and sizes.
template <class Integer>
void require_at_least(std::string_view where, std::string_view parameter, Integer value, Integer minimum) {
  if (!(value >= minimum)) {
    throw_invalid_argument(where, std::string(parameter) + " is too small", value,
                           "at least " + std::to_string(minimum));
  }
}

/// Accepts two sizes that are the same.
template <class Integer>
void require_same_size(std::string_view where, std::string_view parameter, Integer value, Integer expected) {
  if (value != expected) {
    throw_invalid_argument(where, std::string(parameter) + " has the wrong size", value, std::to_string(expected));
  }
}

namespace detail {

/// The value as text. A number has enough digits to be read back exactly; a number of another library is converted by
/// its own member function (Boost.Multiprecision's str, the value of an automatic-differentiation scalar).
template <class Value>
std::string contract_text(const Value& value) {
  if constexpr (std::convertible_to<const Value&, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::integral<Value>) {
    return std::to_string(value);
  } else if constexpr (std::floating_point<Value>) {
    char text[64];
    const int digits = std::numeric_limits<Value>::max_digits10;
    std::snprintf(text, sizeof text, "%.*Lg", digits, static_cast<long double>(value));
    return text;
  } else if constexpr (requires { std::string(value.str()); }) {
    return value.str();
  } else if constexpr (requires { value.value(); }) {
    return contract_text(value.value());
  } else {
    return contract_text(static_cast<double>(value));
  }
}

template <class Value>
std::string contract_message(std::string_view where, std::string_view problem, const Value& value,
                             std::string_view needs) {
  std::string text = "incontext::";
  text.append(where).append(": ").append(problem).append(" (value = ").append(contract_text(value));
  return text.append("; needs ").append(needs).append(")");
}

}  // namespace detail

template <class Value>
void throw_invalid_argument(std::string_view where, std::string_view problem, const Value& value,
                            std::string_view needs) {
  throw std::invalid_argument(detail::contract_message(where, problem, value, needs));
}

template <class Value>
void throw_domain_error(std::string_view where, std::string_view problem, const Value& value, std::string_view needs) {
  throw std::domain_error(detail::contract_message(where, problem, value, needs));
}

}  // namespace incontext
