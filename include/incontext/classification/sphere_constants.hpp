#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdint>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Constants of the cosine t = u.x between a uniform point of the unit sphere and a fixed one.
template <Real T>
struct SphereConstants {
  T density;        ///< R_d: the density of t is R_d (1 - t^2)^((d-3)/2)
  T mean_absolute;  ///< m_d = E |t|
  T log_cap;        ///< log c_d: P(1 - t < v) ~ c_d v^((d-1)/2) as v -> 0
  T cap;            ///< c_d
};

/// Constants of the cosine between points of the unit sphere.
///
/// \f[ R_d = \frac{\Gamma(d/2)}{\sqrt\pi\,\Gamma((d-1)/2)},\quad m_d = \frac{2 R_d}{d-1},\quad
///     c_d = \frac{2^{(d-1)/2} R_d}{d-1} \f]
///
/// Source    derived: docs/theory/classification.md#cosine.
/// Domain    dimension >= 2.
/// Limits    dimension -> infinity: R_d -> sqrt(d / (2 pi)); c_d is infinity where it exceeds the range of T, log c_d
///           is not.
/// Errors    std::invalid_argument for dimension outside the domain.
/// Accuracy  R_d and m_d 16 eps relative, log c_d 16 eps of 1 + d (tests/classification/sphere_constants.cpp).
template <Real T>
SphereConstants<T> sphere_constants(std::int64_t dimension) {
  using std::exp;
  using std::log;
  require_at_least("classification::sphere_constants", "dimension", dimension, std::int64_t{2});
  const T below = T(static_cast<double>(dimension - 1));
  const T ratio = T(1) / boost::math::tgamma_delta_ratio(T(below / T(2)), T(0.5));
  const T density = ratio / boost::math::constants::root_pi<T>();
  const T log_cap = log(T(density / below)) + below / T(2) * boost::math::constants::ln_two<T>();
  return {density, T(2) * density / below, log_cap, exp(log_cap)};
}

}  // namespace incontext::classification
