#pragma once

#include <cmath>
#include <string_view>

#include "incontext/core/real.hpp"
#include "incontext/numerics/solve.hpp"

namespace incontext::laws::detail {

/// The exponent at which a needle's expected weight, which rises with the exponent, is `weight`. By Jensen's inequality
/// it is no higher than log E Z plus the logit of the weight.
template <Real T, class Weight>
T exponent_of_weight(std::string_view where, const Weight& weight_at, const T& annealed, const T& weight) {
  using std::log;
  const auto excess = [&](const T& exponent) { return T(weight_at(exponent) - weight); };
  const T high = annealed + log(T(weight / (T(1) - weight))) + T(1e-6);
  T step = T(1), low = high - step;
  while (T(0) < excess(low)) {
    step = step * T(2);
    low = low - step;
  }
  return numerics::root_between<T>(where, excess, low, high, {.scale = T(1)});
}

}  // namespace incontext::laws::detail
