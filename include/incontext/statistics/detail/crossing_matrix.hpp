#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/floating_point.hpp"

/// The band matrix whose powers count the paths of an empirical distribution that stay near the uniform one.
namespace incontext::statistics::detail {

/// A square matrix times ten to an exponent, so that high powers neither overflow nor vanish.
struct ScaledMatrix {
  std::size_t size;
  std::vector<double> entries;
  std::int64_t exponent = 0;

  double& at(std::size_t i, std::size_t j) { return entries[i * size + j]; }
  double at(std::size_t i, std::size_t j) const { return entries[i * size + j]; }
};

inline ScaledMatrix product(const ScaledMatrix& left, const ScaledMatrix& right) {
  ScaledMatrix result{left.size, std::vector<double>(left.entries.size()), left.exponent + right.exponent};
  for (std::size_t i = 0; i < left.size; ++i) {
    for (std::size_t k = 0; k < left.size; ++k) {
      for (std::size_t j = 0; j < left.size; ++j) result.at(i, j) += left.at(i, k) * right.at(k, j);
    }
  }
  if (result.at(left.size / 2, left.size / 2) > 1e140) {
    for (double& entry : result.entries) entry *= 1e-140;
    result.exponent += 140;
  }
  return result;
}

inline ScaledMatrix power(const ScaledMatrix& base, std::int64_t exponent) {
  if (exponent == 1) return base;
  const ScaledMatrix half = power(base, exponent / 2), square = product(half, half);
  return exponent % 2 == 0 ? square : product(base, square);
}

/// The matrix H of Marsaglia, Tsang and Wang, for paths that stay within (k - h)/n of the uniform law, 0 <= h < 1.
inline ScaledMatrix crossing_matrix(std::size_t k, double h) {
  const std::size_t m = 2 * k - 1;
  ScaledMatrix matrix{m, std::vector<double>(m * m)};
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < std::min(i + 2, m); ++j) matrix.at(i, j) = 1;
  }
  for (std::size_t i = 0; i < m; ++i) {
    matrix.at(i, 0) -= std::pow(h, static_cast<double>(i + 1));
    matrix.at(m - 1, i) -= std::pow(h, static_cast<double>(m - i));
  }
  if (2 * h > 1) matrix.at(m - 1, 0) += std::pow(2 * h - 1, static_cast<double>(m));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < std::min(i + 1, m); ++j) {
      matrix.at(i, j) /= std::tgamma(static_cast<double>(i - j) + 2);
    }
  }
  return matrix;
}

}  // namespace incontext::statistics::detail
