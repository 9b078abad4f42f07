#pragma once

#include <boost/math/tools/minima.hpp>
#include <cstdint>
#include <limits>

#include "incontext/core/real.hpp"

namespace incontext::numerics {

/// Where in its range a search ended. At an end the function is least there among the arguments that were allowed, and may
/// be less beyond: what is found is no optimum.
enum class SearchPlace { inside, lowest, highest };

/// The argument at which a function is least in a range, and its value there.
///
/// Units     those of the function.
template <Real T>
struct Minimum {
  T argument, value;
  SearchPlace place = SearchPlace::inside;

  /// The argument, or NaN at an end of the range.
  T inside() const { return place == SearchPlace::inside ? argument : std::numeric_limits<T>::quiet_NaN(); }
};

/// Whether a function that is this large at an end of its range is no larger there than at the minimum that was found,
/// but for the rounding of either: 4096 eps of it, 9e-13 in double and 5e-4 in float.
///
/// Source    definition.
/// Units     those of the function.
template <Real T>
bool is_least_at_end(const T& at_end, const T& found) {
  const T rounding = T(4096) * std::numeric_limits<T>::epsilon();
  return at_end <= found + rounding * (found < T(0) ? T(-found) : found);
}

/// The minimum of a function with one valley between two arguments.
///
///     const auto least = numerics::minimum_between<double>([](double x) { return (x - 2) * (x - 2); }, 0.0, 5.0, 26);
///
/// Source    Brent 1973, by Boost.Math's brent_find_minima.
/// Units     those of the function.
/// Domain    low < high; a function that is continuous and has one valley between them.
/// Limits    a function that falls up to an end, or is flat up to there as is_least_at_end tells: that end, and `place`
///           says so.
/// Errors    what the function throws.
/// Accuracy  a minimum is flat: `bits` of the argument, at most half of the type's (tests/numerics/minimum.cpp).
template <Real T, class Function>
Minimum<T> minimum_between(const Function& f, const T& low, const T& high,
                           int bits = std::numeric_limits<T>::digits / 2, std::uintmax_t most_steps = 1000) {
  const auto found = boost::math::tools::brent_find_minima(f, low, high, bits, most_steps);
  const T at_low = f(low), at_high = f(high);
  if (is_least_at_end(at_low, found.second) && !(at_high < at_low)) return {low, at_low, SearchPlace::lowest};
  if (is_least_at_end(at_high, found.second)) return {high, at_high, SearchPlace::highest};
  return {found.first, found.second};
}

/// The minimum of a function that may have more than one valley: the least of `steps` + 1 evenly spaced arguments, then
/// Brent's method between its neighbors.
///
///     const auto least = numerics::minimum_on_grid<double>([](double x) { return std::cos(3 * x) + x; }, 0.0, 6.0, 20);
///
/// Source    definition; minimum_between.
/// Units     those of the function.
/// Domain    low < high, steps >= 1; a continuous function with one valley between the neighbors of its least argument.
/// Limits    as minimum_between, where the least argument is the first or the last.
/// Errors    what the function throws.
/// Accuracy  as minimum_between. That no valley is between the arguments is the caller's to know
///           (tests/numerics/minimum.cpp).
template <Real T, class Function>
Minimum<T> minimum_on_grid(const Function& f, const T& low, const T& high, int steps,
                           int bits = std::numeric_limits<T>::digits / 2) {
  const auto argument = [&](int k) { return T(low + (high - low) * T(k) / T(steps)); };
  int least = 0;
  T value = f(low);
  for (int k = 1; k <= steps; ++k) {
    const T at = f(argument(k));
    if (!(at < value)) continue;
    least = k;
    value = at;
  }
  Minimum<T> found =
      minimum_between<T>(f, argument(least > 0 ? least - 1 : 0), argument(least < steps ? least + 1 : steps), bits);
  if (0 < least && least < steps) found.place = SearchPlace::inside;
  return found;
}

}  // namespace incontext::numerics
