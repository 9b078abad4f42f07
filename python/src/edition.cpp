#include "incontext/numerics/detail/dense_functions.hpp"

#if defined(__AVX2__)
#include <Eigen/Eigenvalues>
#endif

/// The edition that the dynamic loader has chosen for this processor: "plain", or the name of an instruction set.
extern "C" __attribute__((visibility("default"))) const char* incontext_edition() { return INCONTEXT_EDITION; }

#if defined(__AVX2__)
namespace {

using View = Eigen::Map<const Eigen::MatrixXd>;

void product(const double* left, const double* right, double* result, std::ptrdiff_t rows, std::ptrdiff_t inner,
             std::ptrdiff_t columns) {
  Eigen::Map<Eigen::MatrixXd>(result, rows, columns).noalias() = View(left, rows, inner) * View(right, inner, columns);
}

void spectrum(const double* matrix, double* values, double* vectors, std::ptrdiff_t size) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(View(matrix, size, size));
  Eigen::Map<Eigen::VectorXd>(values, size) = solver.eigenvalues();
  Eigen::Map<Eigen::MatrixXd>(vectors, size, size) = solver.eigenvectors();
}

}  // namespace
#endif

/// The functions for large matrices that were compiled for this edition; none in the plain one, where closed forms have
/// their own.
extern "C" __attribute__((visibility("default"))) void incontext_dense_functions(
    incontext::numerics::detail::DenseFunctions* to) {
#if defined(__AVX2__)
  *to = {&product, &spectrum};
#else
  *to = {};
#endif
}
