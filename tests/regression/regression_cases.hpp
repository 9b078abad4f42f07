#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"

/// Random tasks, attentions and tables whose entries are multiples of 1/64 below 32: exact in float, so that every
/// scalar type meets the same numbers.
namespace incontext::testing {

using regression::Matrix;
using regression::Vector;

/// An attention and the law of its inputs.
struct Model {
  regression::Attention<double> attention;
  regression::LinearTask<double> task;
};

class RegressionCases {
 public:
  explicit RegressionCases(std::uint64_t seed) : engine_(seed) {}

  Matrix<double> matrix(Eigen::Index rows, Eigen::Index columns, double step = 1.0 / 64.0) {
    std::uniform_int_distribution<int> integer(-64, 64);
    return Matrix<double>::NullaryExpr(rows, columns, [&] { return step * integer(engine_); });
  }

  Vector<double> vector(Eigen::Index size) { return matrix(size, 1); }

  /// G G^T + floor I with G of eighths: symmetric positive definite, entries exact in float.
  Matrix<double> covariance(Eigen::Index d, double floor = 0.25) {
    std::uniform_int_distribution<int> eighths(-8, 8);
    const Matrix<double> g = Matrix<double>::NullaryExpr(d, d, [&] { return 0.125 * eighths(engine_); });
    return g * g.transpose() + floor * Matrix<double>::Identity(d, d);
  }

  /// g g^T + I / 1024 with g of eighths: condition up to 1000 d.
  Matrix<double> nearly_singular(Eigen::Index d) {
    std::uniform_int_distribution<int> eighths(1, 8);
    const Vector<double> g = Vector<double>::NullaryExpr(d, [&] { return 0.125 * eighths(engine_); });
    return g * g.transpose() + 0x1p-10 * Matrix<double>::Identity(d, d);
  }

  regression::LinearTask<double> task(Eigen::Index d, double noise_variance = 0.375) {
    return regression::LinearTask<double>({vector(d), covariance(d), vector(d), covariance(d), noise_variance});
  }

  regression::Attention<double> attention(Eigen::Index d) {
    return {Matrix<double>::Identity(d, d) + 0.25 * matrix(d, d), vector(d), 0.75};
  }

  /// Nothing is isotropic or symmetric; the inputs are centered, and the values consist of labels alone.
  Model label_model(Eigen::Index d) {
    const auto centered = task(d).with_input_mean(Vector<double>::Zero(d));
    auto labels = attention(d);
    labels.input_value.setZero();
    return {labels, centered};
  }

 private:
  std::mt19937_64 engine_;
};

/// As RegressionCases::label_model, from a stream of its own.
inline Model label_model(std::uint64_t seed, Eigen::Index d) { return RegressionCases(seed).label_model(d); }

/// Random tasks, and two at the edge: nearly singular covariances (condition 3000 at d = 8), and no noise with a far
/// mean.
inline std::vector<regression::LinearTask<double>> edge_tasks(Eigen::Index d) {
  RegressionCases cases(static_cast<std::uint64_t>(140 + d));
  std::vector<regression::LinearTask<double>> result{cases.task(d), cases.task(d), cases.task(d)};
  result.push_back(
      result[0].with_input_covariance(cases.nearly_singular(d)).with_task_covariance(cases.nearly_singular(d)));
  result.push_back(result[1].with_noise_variance(0.0).with_input_mean(16.0 * cases.vector(d)));
  return result;
}

template <Real T>
Matrix<T> as(const Matrix<double>& matrix) {
  return matrix.unaryExpr([](double x) { return T(x); });
}

template <Real T>
Vector<T> as(const Vector<double>& vector) {
  return vector.unaryExpr([](double x) { return T(x); });
}

template <Real T>
regression::LinearTask<T> as(const regression::LinearTask<double>& task) {
  return regression::LinearTask<T>({as<T>(task.input_mean()), as<T>(task.input_covariance()), as<T>(task.task_mean()),
                                    as<T>(task.task_covariance()), T(task.noise_variance())});
}

template <Real T>
regression::Attention<T> as(const regression::Attention<double>& attention) {
  return {as<T>(attention.key_query), as<T>(attention.input_value), T(attention.label_value)};
}

}  // namespace incontext::testing
