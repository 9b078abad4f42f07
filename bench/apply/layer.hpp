#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "incontext/apply/attention.hpp"
#include "incontext/apply/rows.hpp"

/// The matrices of the benchmarks of rows and attention, the right answers, and what they are compared with.
namespace incontext::bench {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline Matrix normal_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Matrix matrix(rows, columns);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = normal(engine);
  return matrix;
}

inline int all_threads() { return static_cast<int>(std::thread::hardware_concurrency()); }

inline apply::Options with_threads(int threads) {
  return {.device = threads == 1 ? simulate::Device::serial : simulate::Device::openmp, .threads = threads};
}

/// memcpy by several threads, with an equal part per thread.
inline void copy(const Matrix& from, Matrix& to, int threads) {
  const std::int64_t size = from.size() / threads;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
  for (int t = 0; t < threads; ++t) {
    std::memcpy(to.data() + t * size, from.data() + t * size, static_cast<std::size_t>(size) * sizeof(float));
  }
}

/// The weight that the definition in double gives to the first score of the last row.
template <class Phi>
double weight_by_definition(const Matrix& scores, Phi phi) {
  double sum = 0;
  const auto row = scores.row(scores.rows() - 1);
  for (Eigen::Index j = 0; j < row.size(); ++j) sum += std::exp(phi(static_cast<double>(row(j))));
  return std::exp(phi(static_cast<double>(row(0)))) / sum;
}

struct Layer {
  Matrix queries;
  Matrix keys;
  Matrix values;
  Matrix out;
  Matrix scores;  // of the three steps alone
};

inline Layer make_layer(Eigen::Index length, Eigen::Index dimension) {
  return {normal_matrix(length, dimension, 1), normal_matrix(length, dimension, 2), normal_matrix(length, dimension, 3),
          Matrix(length, dimension), Matrix()};
}

/// Softmax attention as three steps of Eigen, with the matrix of weights.
inline void three_steps(Layer& layer, float temperature, int threads) {
  Eigen::setNbThreads(threads);
  layer.scores.resize(layer.queries.rows(), layer.keys.rows());
  layer.scores.noalias() = layer.queries * layer.keys.transpose();
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static)
#endif
  for (Eigen::Index i = 0; i < layer.scores.rows(); ++i) {
    auto row = layer.scores.row(i).array();
    row = ((row - row.maxCoeff()) * (1 / temperature)).exp();
    row *= 1 / row.sum();
  }
  layer.out.noalias() = layer.scores * layer.values;
}

/// The first component of the last query's output, by the definition in double.
inline double output_by_definition(const Layer& layer, double temperature) {
  const Eigen::VectorXd query = layer.queries.row(layer.queries.rows() - 1).transpose().cast<double>();
  double sum = 0, weighted = 0;
  for (Eigen::Index j = 0; j < layer.keys.rows(); ++j) {
    const double weight = std::exp(query.dot(layer.keys.row(j).transpose().cast<double>()) / temperature);
    sum += weight;
    weighted += weight * static_cast<double>(layer.values(j, 0));
  }
  return weighted / sum;
}

}  // namespace incontext::bench
