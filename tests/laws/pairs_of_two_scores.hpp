#pragma once

#include <cmath>

#include "incontext/core/math.hpp"
#include "incontext/laws/pair_row.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::testing {

/// The pairs of two maps on rows of `count` scores.
template <Real T, class Map>
laws::PairRow<T> pair(const Map& map, const Map& other, double count, const T& x, const T& y) {
  return laws::PairRows("pair", map.elementwise(1), other.elementwise(1), T(count))(x, y);
}

/// Of two scores the weights are functions of their difference u, and their mean is independent of it: one integral.
template <Real T>
laws::PairRow<T> of_two_scores(const T& x, const T& y) {
  using std::exp;
  using std::sqrt;
  const auto average = [&](const auto& f) {
    return numerics::integrate_bump<T>("of_two_scores",
                                       [&](const T& place) {
                                         const T u = T(40) * (place - T(0.5));
                                         return T(T(40) * exp(T(-u * u / T(4))) / sqrt(T(T(4) * math::pi<T>())) * f(u));
                                       })
        .value;
  };
  const auto first = [&](const T& z) { return T(T(1) / (T(1) + exp(T(-z)))); };
  return {average([&](const T& u) { return T(first(x * u) * first(y * u) + first(-x * u) * first(-y * u)); }),
          T(0.5) + average([&](const T& u) { return T((first(x * u) - T(0.5)) * (first(y * u) - T(0.5)) * u * u); }),
          T(0)};
}

}  // namespace incontext::testing
