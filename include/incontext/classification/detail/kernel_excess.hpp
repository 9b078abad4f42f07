#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/classification/kernel_mean.hpp"
#include "incontext/core/real.hpp"

/// The second moment of the kernel between points of the sphere.
namespace incontext::classification::detail {

/// v = partition_function_excess and log(1 + v).
template <Real T>
struct KernelExcess {
  T value, log_second_moment;
};

template <Real T>
KernelExcess<T> kernel_excess(std::int64_t dimension, const T& kappa) {
  using std::expm1;
  const auto mean = log_mean(dimension, kappa), twice = log_mean(dimension, T(T(2) * kappa));
  // the two differences are equal; the one with the smaller terms rounds less and keeps at least half of their size
  const T log_ratio =
      twice.plain < -twice.scaled ? T(twice.plain - T(2) * mean.plain) : T(twice.scaled - T(2) * mean.scaled);
  return {expm1(log_ratio), log_ratio};
}

/// log(1 + e^x) without overflow.
template <Real T>
T softplus(const T& x) {
  using std::exp;
  using std::log1p;
  return T(0) < x ? T(x + log1p(exp(T(-x)))) : T(log1p(exp(x)));
}

}  // namespace incontext::classification::detail
