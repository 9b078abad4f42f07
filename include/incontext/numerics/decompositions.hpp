#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <concepts>
#include <string>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/diagonal_plus_low_rank.hpp"
#include "incontext/numerics/linear_algebra.hpp"

/// Eigen's decompositions. The rooms include them from here, because the compiled edition has those of `double`.
namespace Eigen {

INCONTEXT_COMPILED_DECLARATION(numerics_decompositions,
                               LLT<MatrixXd>& LLT<MatrixXd>::compute(const EigenBase<MatrixXd>&));
INCONTEXT_COMPILED_DECLARATION(
    numerics_decompositions,
    SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute(const EigenBase<MatrixXd>&, int));

}  // namespace Eigen

namespace incontext::numerics {

/// The Cholesky factor of a symmetric matrix, A = L L^T, and what is solved with it. A diagonal matrix costs d^2
/// operations, and so does a solution for a d x d right side.
///
/// Shapes    matrix: d x d, of which the lower triangle is read
/// Units     L in the square root of those of A.
/// Domain    symmetric.
/// Errors    where A is not positive definite, exists() is false, and L and what is solved are not to be used (NaN for a
///           diagonal A).
/// Accuracy  residuals below 4 d eps of the norms of A and of the right side (tests/numerics/linear_algebra.cpp).
template <Real T, class M = Matrix<T>>
class Cholesky {
 public:
  explicit Cholesky(const Matrix<T>& matrix);

  bool exists() const { return exists_; }
  /// L, with zeros above the diagonal.
  const Matrix<T>& lower() const { return lower_; }
  /// L^-1 B.
  Matrix<T> solve_lower(const Matrix<T>& right) const;
  /// A^-1 B.
  Matrix<T> solve(const Matrix<T>& right) const;

 private:
  Matrix<T> lower_;
  bool diagonal_, exists_;
};

/// Accepts a diagonal matrix: one without a part of low rank.
///
/// Errors    std::invalid_argument that names the parameter and the rank.
template <Real T>
void require_diagonal(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix) {
  if (matrix.rank() != 0) {
    throw_invalid_argument(where, std::string(parameter) + " has a part of low rank: its rank", matrix.rank(), "0");
  }
}

/// Accepts every dense matrix, which decompositions take as it is.
template <Real T>
void require_diagonal(std::string_view, std::string_view, const Matrix<T>&) {}

/// The Cholesky factor of a diagonal matrix that is stored as one, in d operations.
template <Real T>
class Cholesky<T, DiagonalPlusLowRank<T>> {
 public:
  explicit Cholesky(const DiagonalPlusLowRank<T>& matrix) : exists_((matrix.entries().array() > T(0)).all()) {
    require_diagonal("Cholesky", "matrix", matrix);
    lower_ = DiagonalPlusLowRank<T>(matrix.entries().cwiseSqrt().asDiagonal());
    inverse_ = DiagonalPlusLowRank<T>(lower_.entries().cwiseInverse().asDiagonal());
  }

  bool exists() const { return exists_; }
  const DiagonalPlusLowRank<T>& lower() const { return lower_; }
  DiagonalPlusLowRank<T> solve_lower(const DiagonalPlusLowRank<T>& right) const { return product(inverse_, right); }
  DiagonalPlusLowRank<T> solve(const DiagonalPlusLowRank<T>& right) const { return solve_lower(solve_lower(right)); }
  Vector<T> solve_lower(const Vector<T>& right) const { return inverse_ * right; }
  Vector<T> solve(const Vector<T>& right) const { return solve_lower(solve_lower(right)); }

 private:
  bool exists_;
  DiagonalPlusLowRank<T> lower_, inverse_;
};

/// Eigenvalues and orthonormal eigenvectors of a symmetric matrix, A = E diag(values) E^T.
///
/// Shapes    values: d; vectors E: d x d, one in each column
/// Units     values in those of A.
template <Real T, class M = Matrix<T>>
struct SymmetricSpectrum {
  Vector<T> values;
  M vectors;
};

/// The spectrum of a symmetric matrix: eigenvalues from the least to the largest, or, of a diagonal matrix, in the
/// order of its diagonal with E = I.
///
/// Shapes    (matrix: d x d, of which the lower triangle is read) -> d values and vectors
/// Units     values in those of A.
/// Domain    symmetric, finite.
/// Accuracy  residuals below 4 d eps of the norm of A (tests/numerics/linear_algebra.cpp).
template <Real T>
SymmetricSpectrum<T> symmetric_spectrum(const Matrix<T>& matrix) {
  if (is_diagonal(matrix)) return {matrix.diagonal(), Matrix<T>::Identity(matrix.rows(), matrix.cols())};
  if constexpr (std::same_as<T, double>) {
    const auto decompose = detail::dense_functions.spectrum;
    if (decompose != nullptr && matrix.rows() >= detail::least_dense_size) {
      SymmetricSpectrum<T> found{Vector<T>(matrix.rows()), Matrix<T>(matrix.rows(), matrix.rows())};
      decompose(matrix.data(), found.values.data(), found.vectors.data(), matrix.rows());
      return found;
    }
  }
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

/// The spectrum of a diagonal matrix that is stored as one, in d operations.
///
/// Errors    std::invalid_argument for one with a part of low rank.
template <Real T>
SymmetricSpectrum<T, DiagonalPlusLowRank<T>> symmetric_spectrum(const DiagonalPlusLowRank<T>& matrix) {
  require_diagonal("symmetric_spectrum", "matrix", matrix);
  return {matrix.entries(), DiagonalPlusLowRank<T>::Identity(matrix.rows(), matrix.cols())};
}

template <Real T, class M>
Cholesky<T, M>::Cholesky(const Matrix<T>& matrix) : diagonal_(is_diagonal(matrix)) {
  if (diagonal_) {
    exists_ = (matrix.diagonal().array() > T(0)).all();
    lower_ = Matrix<T>::Constant(matrix.rows(), matrix.cols(), math::not_a_number<T>());
    if (exists_) lower_ = matrix.diagonal().cwiseSqrt().asDiagonal();
    return;
  }
  const Eigen::LLT<Matrix<T>> factor(matrix);
  exists_ = factor.info() == Eigen::ComputationInfo{};  // its name for that is a macro of X11's headers
  lower_ = factor.matrixL();
}

template <Real T, class M>
Matrix<T> Cholesky<T, M>::solve_lower(const Matrix<T>& right) const {
  if (diagonal_) return lower_.diagonal().cwiseInverse().asDiagonal() * right;
  return lower_.template triangularView<Eigen::Lower>().solve(right);
}

template <Real T, class M>
Matrix<T> Cholesky<T, M>::solve(const Matrix<T>& right) const {
  const Matrix<T> half = solve_lower(right);
  if (diagonal_) return solve_lower(half);
  return lower_.template triangularView<Eigen::Lower>().transpose().solve(half);
}

INCONTEXT_COMPILED_DECLARATION(numerics_decompositions, class Cholesky<double>);
INCONTEXT_COMPILED_DECLARATION(numerics_decompositions, class Cholesky<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED_DECLARATION(numerics_decompositions,
                               SymmetricSpectrum<double> symmetric_spectrum(const Matrix<double>&));
INCONTEXT_COMPILED_DECLARATION(
    numerics_decompositions,
    SymmetricSpectrum<double, DiagonalPlusLowRank<double>> symmetric_spectrum(const DiagonalPlusLowRank<double>&));
INCONTEXT_COMPILED_DECLARATION(numerics_decompositions, void require_diagonal(std::string_view, std::string_view,
                                                                              const DiagonalPlusLowRank<double>&));
INCONTEXT_COMPILED_DECLARATION(numerics_decompositions,
                               void require_diagonal(std::string_view, std::string_view, const Matrix<double>&));

}  // namespace incontext::numerics
