#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/oracles/kinds/fields.hpp"

/// A computed value against a reference, number by number, in arrays and objects nested any depth.
namespace incontext::oracles {

/// How far two numbers may be apart: |x - ref| <= rtol |ref| + atol or, where the file says so, rtol times the largest
/// entry of the array that contains the reference.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  bool relative_to_largest_entry = false;
};

/// The worst number of a comparison: its error over its tolerance (infinity where no tolerance helps), and its place.
struct Deviation {
  double error_over_tolerance = 0;
  std::string place = {};
  std::string problem = {};

  bool agrees() const { return error_over_tolerance <= 1; }
  void keep_worse(Deviation other) {
    if (!(other.error_over_tolerance <= error_over_tolerance)) *this = std::move(other);
  }
};

namespace detail {

inline Deviation hopeless(std::string place, std::string problem) {
  return {std::numeric_limits<double>::infinity(), std::move(place), std::move(problem)};
}

inline double largest_entry(const Json& value) {
  if (value.is_structured()) {
    double largest = 0;
    for (const Json& item : value) largest = std::max(largest, largest_entry(item));
    return largest;
  }
  const double number = std::abs(oracle_number(value).value_or(0));
  return std::isfinite(number) ? number : 0;
}

/// Numbers below the smallest normal one are zero in the oracle format.
inline double flushed(double value) { return std::abs(value) < std::numeric_limits<double>::min() ? 0 : value; }

inline Deviation compare_numbers(double computed, double reference, double scale, const Tolerance& tolerance,
                                 const std::string& place) {
  if (computed == reference || (std::isnan(computed) && std::isnan(reference))) return {0, place, {}};
  if (!std::isfinite(computed) || !std::isfinite(reference)) return hopeless(place, "not finite");
  const double error = std::abs(flushed(computed) - flushed(reference));
  if (error == 0) return {0, place, {}};
  return {error / (tolerance.relative * scale + tolerance.absolute), place, "too far apart"};
}

inline Deviation compare_nested(const Json& computed, const Json& reference, double array_scale,
                                const Tolerance& tolerance, const std::string& place) {
  if (reference.is_array()) {
    if (!computed.is_array() || computed.size() != reference.size()) return hopeless(place, "another shape");
    if (array_scale < 0 && tolerance.relative_to_largest_entry) array_scale = largest_entry(reference);
    Deviation worst{0, place, {}};
    for (std::size_t i = 0; i < reference.size(); ++i) {
      worst.keep_worse(
          compare_nested(computed[i], reference[i], array_scale, tolerance, place + "[" + std::to_string(i) + "]"));
    }
    return worst;
  }
  if (reference.is_object()) {
    Deviation worst{0, place, {}};
    for (const auto& [name, value] : reference.items()) {
      const std::string inner = place.empty() ? name : place + "." + name;
      worst.keep_worse(computed.is_object() && computed.contains(name)
                           ? compare_nested(computed[name], value, -1, tolerance, inner)
                           : hopeless(inner, "not computed"));
    }
    return worst;
  }
  if (const auto number = oracle_number(reference)) {
    const auto x = oracle_number(computed);
    if (!x) return hopeless(place, "not a number");
    return compare_numbers(*x, *number, array_scale < 0 ? std::abs(*number) : array_scale, tolerance, place);
  }
  return computed == reference ? Deviation{0, place, {}} : hopeless(place, "another value");
}

}  // namespace detail

/// Compares everything in `reference` with the same place in `computed`; what is only in `computed` is not judged. If
/// only one of the two numbers is NaN they disagree, and so do values of different shape.
inline Deviation compare(const Json& computed, const Json& reference, const Tolerance& tolerance,
                         const std::string& place) {
  return detail::compare_nested(computed, reference, -1, tolerance, place);
}

}  // namespace incontext::oracles
