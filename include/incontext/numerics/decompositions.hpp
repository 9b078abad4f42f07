#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "incontext/core/compiled.hpp"
#include "incontext/numerics/linear_algebra.hpp"

/// Eigen's decompositions of a dense matrix. The rooms include them from here, because the compiled edition has those of
/// `double`.
namespace Eigen {

INCONTEXT_COMPILED_DECLARATION(numerics_decompositions,
                               LLT<MatrixXd>& LLT<MatrixXd>::compute(const EigenBase<MatrixXd>&));
INCONTEXT_COMPILED_DECLARATION(
    numerics_decompositions,
    SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute(const EigenBase<MatrixXd>&, int));

}  // namespace Eigen
