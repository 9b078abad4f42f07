#pragma once

#include <boost/math/tools/fraction.hpp>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::training {

template <Real T>
struct AffineTask;

}  // namespace incontext::training

/// Averages over one normal input that the errors of the affine task are made of.
namespace incontext::training::detail {

template <Real T>
void require_affine(std::string_view where, const AffineTask<T>& task) {
  require_non_negative(where, "input_stddev", task.input_stddev);
  require_non_negative(where, "function_stddev", task.function_stddev);
}

/// Terms of the continued fraction (1/2) / (z + 1 / (z + (3/2) / (z + ...))).
template <Real T>
struct MillsFraction {
  using result_type = std::pair<T, T>;
  T z, numerator = T(0.5);
  result_type operator()() {
    const result_type term(numerator, z);
    numerator = numerator + T(0.5);
    return term;
  }
};

/// E 1 / (1 + x^2) = sqrt(pi) z e^(z^2) erfc(z), z = 1 / (sigma sqrt(2)), and E x^2 / (1 + x^2).
template <Real T>
struct InverseSquareMeans {
  T inverse, rest;
};

template <Real T>
InverseSquareMeans<T> inverse_square_means(const T& input_stddev) {
  using std::erfc;
  using std::exp;
  using std::sqrt;
  const T scaled = input_stddev * sqrt(T(2));
  if (!(T(1e-30) < scaled)) return {T(1), T(0)};
  const T z = T(1) / scaled;
  if (z < T(2)) {
    const T inverse = sqrt(math::pi<T>()) * z * exp(T(z * z)) * erfc(z);
    return {inverse, T(1) - inverse};
  }
  MillsFraction<T> fraction{z};
  const T tail = boost::math::tools::continued_fraction_a(fraction, T(std::numeric_limits<T>::epsilon()));
  return {z / (z + tail), tail / (z + tail)};
}

/// Terms of the continued fraction 2 / (t + 3 / (t + 4 / (t + ...))).
template <Real T>
struct ExcessFraction {
  using result_type = std::pair<T, T>;
  T t, numerator = T(2);
  result_type operator()() {
    const result_type term(numerator, t);
    numerator = numerator + T(1);
    return term;
  }
};

/// E (|y| - t)_+^2, y standard normal: 2 [(1 + t^2) Q(t) - t phi(t)]. Far out the difference cancels, and Laplace's
/// continued fraction of Q / phi = 1 / (t + k), k = 1 / (t + l), makes it 2 phi l / ((t + l) (t + k)).
template <Real T>
T squared_excess(const T& t) {
  using std::exp;
  using std::sqrt;
  const T density = exp(T(-t * t / T(2))) / sqrt(T(2) * math::pi<T>());
  if (!(T(4) < t)) return T(2) * ((T(1) + t * t) * math::normal_tail(t) - t * density);
  if (!(T(0) < density)) return T(0);
  ExcessFraction<T> fraction{t};
  const T l = boost::math::tools::continued_fraction_a(fraction, T(std::numeric_limits<T>::epsilon()));
  return T(2) * density * l / ((t + l) * (t + T(1) / (t + l)));
}

}  // namespace incontext::training::detail
