#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "support/real50.hpp"
#include "support/worst.hpp"

/// How far a result in T is from the same template at 50 digits, in units of eps of T times a scale.
namespace incontext::testing {

template <class T>
double eps_off(const T& value, const Real50& exact, const Real50& scale) {
  const Real50 distance = abs(Real50(value) - exact);
  if (distance == 0) return 0.0;
  return static_cast<double>(distance / (Real50(std::numeric_limits<T>::epsilon()) * abs(scale)));
}

template <class T>
double eps_off(const regression::Matrix<T>& value, const regression::Matrix<Real50>& exact, const Real50& scale) {
  Worst worst;
  for (Eigen::Index i = 0; i < exact.size(); ++i) {
    worst.add(eps_off(value.data()[i], exact.data()[i], scale), "i ", i);
  }
  return worst;
}

/// The worst coefficient: g_0 against itself, g_1 against sqrt(g_0 g_2), its bound by Cauchy and Schwarz, g_2 itself.
template <class T>
double eps_off(const regression::InverseTemperatureParabola<T>& value,
               const regression::InverseTemperatureParabola<Real50>& exact) {
  const Real50 bound = sqrt(exact.constant * exact.quadratic);
  return std::max({eps_off(value.constant, exact.constant, exact.constant), eps_off(value.linear, exact.linear, bound),
                   eps_off(value.quadratic, exact.quadratic, exact.quadratic)});
}

}  // namespace incontext::testing
