#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// Checks of arguments that the laws share. A number of scores is a real number here, because thresholds in n are not
/// whole and because laws are also evaluated for rows too long to be formed.
namespace incontext::laws::detail {

/// Accepts a number, whole or not, that is at least `minimum` and finite.
template <Real T>
void require_count(std::string_view where, std::string_view parameter, const T& value, int minimum = 1) {
  if (!(T(double(minimum)) <= value && math::is_finite(value))) {
    throw_domain_error(where, std::string(parameter) + " is too small or not finite", value,
                       "at least " + std::to_string(minimum));
  }
}

/// Accepts a number, whole or not, that is more than 1 and finite.
template <Real T>
void require_more_than_one(std::string_view where, std::string_view parameter, const T& value) {
  if (!(T(1) < value && math::is_finite(value))) {
    throw_domain_error(where, std::string(parameter) + " is too small or not finite", value, "more than 1");
  }
}

/// Accepts a standard deviation of scores up to `widest`, beyond which the law's integrals have no digits left.
template <Real T>
void require_width(std::string_view where, std::string_view parameter, const T& value, double widest) {
  require_non_negative(where, parameter, value);
  if (!(value <= T(widest))) {
    throw_domain_error(where, std::string(parameter) + " is too large for the law's integrals", value,
                       "at most " + incontext::detail::contract_text(widest));
  }
}

/// Accepts a finite whole number that is at least `minimum`.
template <Real T>
void require_whole(std::string_view where, std::string_view parameter, const T& value, int minimum = 1) {
  using std::floor;
  require_count(where, parameter, value, minimum);
  if (value != floor(value)) {
    throw_domain_error(where, std::string(parameter) + " is not whole", value, "a whole number");
  }
}

/// The longest row whose integrals keep their digits. A law of order k integrates k-th powers of a weight, which are
/// about n^-k in a row of n scores. They keep their digits as long as eps / 64 of n^-k, the smallest part that matters,
/// is a normal floating-point number. In double the longest row has 3.5e72 scores for k = 4, and 1.3e145 for k = 2.
template <Real T>
T longest_row(int order) {
  using std::exp;
  using std::log;
  const T smallest_part = T(std::numeric_limits<T>::epsilon()) / T(64);
  return exp(T(log(T(smallest_part / (std::numeric_limits<T>::min)())) / T(double(order))));
}

/// Accepts a row length: a whole number from 1 to longest_row of the law's order.
template <Real T>
void require_row(std::string_view where, std::string_view parameter, const T& value, int order) {
  require_whole(where, parameter, value, 1);
  if (!(value <= longest_row<T>(order))) {
    throw_domain_error(where, std::string(parameter) + " is too large for the range of the scalar", value,
                       "at most " + incontext::detail::contract_text(longest_row<T>(order)));
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
