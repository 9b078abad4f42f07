#pragma once

#include <Eigen/Eigenvalues>

#include "incontext/core/compiled.hpp"
#include "incontext/numerics/linear_algebra.hpp"

/// Eigen's eigenvalues of a matrix that need not be symmetric, which take as long to compile as all of decompositions.hpp.
namespace Eigen {

INCONTEXT_COMPILED_DECLARATION(numerics_eigen_solver,
                               EigenSolver<MatrixXd>& EigenSolver<MatrixXd>::compute(const EigenBase<MatrixXd>&, bool));

}  // namespace Eigen
