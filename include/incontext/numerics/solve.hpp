#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cstdint>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::numerics {

/// Thrown by a search for a root that has none between the given ends, or did not find it in the steps it had.
///
/// Units     those of the function's argument: the root is between low and high, if there is one.
class ConvergenceError : public std::runtime_error {
 public:
  ConvergenceError(std::string_view where, std::string_view problem, double between, double and_high)
      : std::runtime_error(message(where, problem, between, and_high)), low(between), high(and_high) {}

  double low, high;

 private:
  static std::string message(std::string_view where, std::string_view problem, double low, double high) {
    std::ostringstream text;
    text << "incontext::" << where << ": " << problem << " between " << low << " and " << high;
    return std::move(text).str();
  }
};

/// What a root is searched to, and how long.
///
/// Units     scale as the function's argument.
template <Real T>
struct RootPrecision {
  T scale = T(0);  ///< the size below which an argument counts as 0: 1 for a logarithm, 0 for a factor
  std::uintmax_t most_steps = 1000;  ///< evaluations of the function
};

/// The argument at which a function that changes its sign between two ends is 0.
///
/// \f[ x:\quad f(x) = 0,\quad low \le x \le high \f]
///
/// The bracket is closed to four units in the last place of the type, at any number of digits: a function that is known
/// less exactly has its root in the noise, which is as near as it can be told.
///
///     const double root = numerics::root_between<double>("example", [](double x) { return x * x - 2; }, 1.0, 2.0);
///
/// Source    Alefeld, Potra and Shi 1995, algorithm 748, by Boost.Math.
/// Units     of the argument.
/// Domain    low < high, f of different signs at the ends or 0 at one of them, continuous.
/// Limits    f = 0 at an end: that end.
/// Errors    ConvergenceError where the signs are the same or a value is NaN, and where the steps do not suffice.
/// Accuracy  4 eps of max(|x|, scale): tests/numerics/solve.cpp.
template <Real T, class Function>
T root_between(std::string_view where, const Function& f, const T& low, const T& high,
               const RootPrecision<T>& precision = {}) {
  const auto fail = [&](std::string_view problem, const T& from, const T& to) {
    return ConvergenceError(where, problem, static_cast<double>(from), static_cast<double>(to));
  };
  const T at_low = f(low), at_high = f(high), none = T(0);
  if (!(at_low < none) && at_low <= none) return low;
  if (!(at_high < none) && at_high <= none) return high;
  if (!(low < high && ((at_low < none && none < at_high) || (at_high < none && none < at_low)))) {
    throw fail("the function does not change its sign", low, high);
  }
  const T tolerance = T(4) * std::numeric_limits<T>::epsilon();
  const auto closed = [&](const T& a, const T& b) {
    T size = math::magnitude(a) < math::magnitude(b) ? math::magnitude(a) : math::magnitude(b);
    if (size < precision.scale) size = precision.scale;
    return b - a <= tolerance * size;
  };
  std::uintmax_t steps = precision.most_steps;
  const auto bracket = boost::math::tools::toms748_solve(f, low, high, at_low, at_high, closed, steps);
  if (!closed(bracket.first, bracket.second)) {
    throw fail("the root is not found in the steps allowed", bracket.first, bracket.second);
  }
  return (bracket.first + bracket.second) / T(2);
}

}  // namespace incontext::numerics
