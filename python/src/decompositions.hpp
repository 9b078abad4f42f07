#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

/// The decompositions of dense matrices that several rooms use. decompositions.cpp compiles them once; elsewhere they
/// would take the compiler seconds and hundreds of megabytes in every file.
namespace Eigen {

extern template LLT<MatrixXd>& LLT<MatrixXd>::compute(const EigenBase<MatrixXd>&);
extern template SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute(const EigenBase<MatrixXd>&,
                                                                                            int);
extern template EigenSolver<MatrixXd>& EigenSolver<MatrixXd>::compute(const EigenBase<MatrixXd>&, bool);

}  // namespace Eigen
