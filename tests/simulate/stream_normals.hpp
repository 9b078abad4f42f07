#pragma once

#include <Eigen/Cholesky>
#include <cstdint>

#include "incontext/random/normal.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/simulate/regression/regression_model.hpp"

/// The normals of a regression trial, read one by one from its streams.
namespace incontext::testing {

/// Normal number `index` of a stream, as the trial of scalar T sees it.
template <class T>
double normal(std::uint64_t seed, std::uint64_t trial, random::RegressionStream stream, std::int64_t index) {
  constexpr int per_block = random::normals_per_block<T>;
  T block[per_block][1];
  random::normals(random::LaneStream<1>({seed, trial}, stream), static_cast<std::uint32_t>(index / per_block), block);
  return static_cast<double>(block[index % per_block][0]);
}

template <class T>
regression::Vector<double> gaussian(std::uint64_t seed, std::uint64_t trial, random::RegressionStream stream,
                                    std::int64_t first, const regression::Vector<double>& mean,
                                    const regression::Matrix<double>& covariance) {
  regression::Vector<double> g(mean.size());
  for (Eigen::Index i = 0; i < g.size(); ++i) g(i) = normal<T>(seed, trial, stream, first + i);
  return mean + covariance.llt().matrixL() * g;
}

}  // namespace incontext::testing
