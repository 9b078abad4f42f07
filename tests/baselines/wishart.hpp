#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cstdint>
#include <random>

/// The eigenvalues of drawn Wishart matrices.
namespace incontext::testing {

/// The eigenvalues of G G^T or G^T G, whichever is smaller, of one matrix of independent N(0, 1).
inline Eigen::VectorXd drawn_eigenvalues(std::int64_t examples, std::int64_t dimension, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const Eigen::MatrixXd g =
      Eigen::MatrixXd::NullaryExpr(examples, dimension, [&](Eigen::Index, Eigen::Index) { return normal(engine); });
  Eigen::MatrixXd product = g.transpose() * g;
  if (examples < dimension) product = g * g.transpose();
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(product, Eigen::EigenvaluesOnly).eigenvalues();
}

}  // namespace incontext::testing
