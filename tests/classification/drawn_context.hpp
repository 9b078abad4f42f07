#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "incontext/classification/context.hpp"

/// Contexts and weights whose entries are multiples of 1/64, which a float holds exactly. If asked for, points are
/// normalized, which puts them on the sphere up to rounding.
namespace incontext::testing {

using classification::Context;
using classification::Matrix;
using classification::Vector;

class ContextDraws {
 public:
  explicit ContextDraws(std::uint64_t seed) : engine_(seed) {}

  Matrix<double> matrix(Eigen::Index rows, Eigen::Index columns) {
    std::uniform_int_distribution<int> integer(-64, 64);
    return Matrix<double>::NullaryExpr(rows, columns, [&] { return integer(engine_) / 64.0; });
  }

  /// Labels 0, 1, ..., k - 1 in turn, so that the classes are balanced.
  Context<double> context(std::int64_t d, std::int64_t k, std::int64_t n) {
    Context<double> drawn{matrix(n, d), {}, matrix(d, 1), k};
    for (std::int64_t j = 0; j < n; ++j) drawn.labels.push_back(j % k);
    return drawn;
  }

  Context<double> on_sphere(std::int64_t d, std::int64_t k, std::int64_t n) {
    auto drawn = context(d, k, n);
    drawn.inputs.rowwise().normalize();
    drawn.query.normalize();
    return drawn;
  }

 private:
  std::mt19937_64 engine_;
};

template <class T>
Matrix<T> as(const Matrix<double>& matrix) {
  return matrix.unaryExpr([](double x) { return T(x); });
}

template <class T>
Context<T> as(const Context<double>& context) {
  return {as<T>(context.inputs), context.labels, as<T>(Matrix<double>(context.query)), context.classes};
}

/// Largest absolute entry of a difference.
template <class A, class B>
auto distance(const A& a, const B& b) {
  return (a - b).cwiseAbs().maxCoeff();
}

}  // namespace incontext::testing
