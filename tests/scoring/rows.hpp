#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "incontext/scoring/row.hpp"

/// Random rows and small comparisons shared by the tests of scoring.
namespace incontext::testing {

/// Uniform and normal numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(uniform() * static_cast<double>(end)); }
  std::vector<double> normals(std::size_t size, double stddev = 1) {
    std::vector<double> row(size);
    for (double& x : row) x = stddev * normal();
    return row;
  }

 private:
  std::mt19937_64 engine_;
};

template <class T>
scoring::Row<const T> view(const std::vector<T>& row) {
  return row;
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& row) {
  std::vector<To> result;
  for (const From& x : row) result.push_back(To(x));
  return result;
}

template <class T>
T total(const std::vector<T>& row) {
  T sum = T(0);
  for (const T& x : row) sum = sum + x;
  return sum;
}

template <class T>
T product(const std::vector<T>& a, const std::vector<T>& b) {
  T sum = T(0);
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}

/// Sets value to the larger of value and next; once NaN, it stays NaN.
template <class T>
void raise(T& value, const T& next) {
  if (value <= std::numeric_limits<T>::infinity() && !(next <= value)) value = next;
}

/// max |x|; NaN if any is.
template <class T>
T largest_size(const std::vector<T>& row) {
  T largest = T(0);
  for (const T& x : row) raise(largest, x < T(0) ? T(-x) : x);
  return largest;
}

/// max |a - b|; NaN if any difference is.
template <class T>
T distance(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return largest_size(difference);
}

template <class T>
bool all_nan(const std::vector<T>& row) {
  for (const T& x : row) {
    if (x <= std::numeric_limits<T>::infinity()) return false;
  }
  return true;
}

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace incontext::testing
