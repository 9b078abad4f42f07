#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "incontext/statistics/agreement.hpp"
#include "support/worst.hpp"

/// How far simulations are from theories, in standard errors.
namespace incontext::testing {

inline double z_of(double theory, const statistics::Estimate& estimate) {
  return statistics::agree(theory, estimate).z;
}

/// The largest |z| of several estimates, and which one it is; `theory(i)` belongs to estimate i.
template <class Theory>
Worst largest_z(std::span<const statistics::Estimate> estimates, const Theory& theory) {
  Worst worst;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    worst.add(std::abs(z_of(theory(i), estimates[i])), "estimate ", i, ", theory ", theory(i));
  }
  return worst;
}

/// The same where `theory` is a function of points, such as temperatures.
template <class Points, class Theory>
Worst largest_z(std::span<const statistics::Estimate> estimates, const Points& points, const Theory& theory) {
  Worst worst;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const double expected = theory(points[i]);
    worst.add(std::abs(z_of(expected, estimates[i])), points[i], ", theory ", expected);
  }
  return worst;
}

}  // namespace incontext::testing
