#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"

/// Points drawn on the sphere and sorted into the cells of prototypes, and the standard errors of their counts.
namespace incontext::classification::detail {

inline std::size_t nearest(const Eigen::MatrixXd& prototypes, const Eigen::VectorXd& point) {
  Eigen::Index at = 0;
  (prototypes * point).maxCoeff(&at);
  return static_cast<std::size_t>(at);
}

/// Running mean and its standard error within one cell.
struct CellMean {
  double count = 0, mean = 0, square = 0;
  void add(double x) {
    count += 1;
    const double step = x - mean;
    mean += step / count;
    square += step * (x - mean);
  }
  double standard_error() const { return std::sqrt(square / (count * (count - 1))); }
};

/// Standard error of a share of `draws` independent draws; where the share is 0 or 1, the error is that of one draw.
inline double share_error(double share, double draws) {
  return std::max(std::sqrt(share * (1 - share) / draws), 1 / draws);
}

/// Standard deviation of sum_c g_c (count_c / draws) over multinomial counts; a count of 0 has the error of one.
inline double multinomial_error(const std::vector<double>& g, const std::vector<double>& shares, double draws) {
  double mean = 0, square = 0;
  for (std::size_t c = 0; c < g.size(); ++c) {
    mean += g[c] * shares[c];
    square += g[c] * g[c] * std::max(shares[c], 1 / draws);
  }
  return std::sqrt(std::max(0.0, square - mean * mean) / draws);
}

inline void require_unit(std::string_view where, std::string_view parameter, double length) {
  if (!(std::abs(length - 1) <= 1e-6)) throw_domain_error(where, parameter, length, "length 1");
}

}  // namespace incontext::classification::detail
