#pragma once

#include "incontext/core/real.hpp"

/// The maximum of a concave function, approximately.
namespace incontext::laws::detail {

/// A point within about one nat of the maximum of a concave function, by growing steps and golden-section search.
template <Real T, class Function>
T near_maximum(const Function& f, T middle) {
  T best = f(middle), step = T(1);
  T low = middle - step, high = middle + step;
  for (int i = 0; i < 100 && best < f(high); ++i, step = step * T(2)) {
    low = middle;
    middle = high;
    best = f(middle);
    high = middle + step;
  }
  for (int i = 0; i < 100 && best < f(low); ++i, step = step * T(2)) {
    high = middle;
    middle = low;
    best = f(middle);
    low = middle - step;
  }
  for (int i = 0; i < 40 && T(1) < high - low; ++i) {
    const bool right = middle - low < high - middle;
    const T probe = middle + (right ? T(high - middle) : T(low - middle)) * T(0.381966);
    const T value = f(probe);
    if (best < value) {
      (right ? low : high) = middle;
      middle = probe;
      best = value;
    } else {
      (right ? high : low) = probe;
    }
  }
  return middle;
}

}  // namespace incontext::laws::detail
