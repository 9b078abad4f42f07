#pragma once

#include <Eigen/Core>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "incontext/classification/context.hpp"
#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/classification/context_descent.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/decompositions.hpp"

/// The kernel step, and the attention that is it, for any positive definite kernel of one's own.
namespace incontext::classification {

/// A kernel: a symmetric function of two points.
///
/// Shapes    (d, d) -> a number
template <class Kernel, class T>
concept PointKernel = Real<T> && requires(const Kernel& kernel, const Vector<T>& u, const Vector<T>& v) {
  { kernel(u, v) } -> std::convertible_to<T>;
};

/// A map of points into features: the kernel is their inner product.
///
/// Shapes    d -> any number of features, always the same
template <class Features, class T>
concept FeatureMap = Real<T> && requires(const Features& features, const Vector<T>& u) {
  { features(u) } -> std::convertible_to<Vector<T>>;
};

/// The kernel among points.
///
/// \f[ G_{ij} = K(x_i, x_j) \f]
///
/// Source    arXiv 2510.10425, Section 3.2.
/// Shapes    (points: n x d) -> n x n
/// Errors    std::domain_error if a value is not finite, the kernel is not symmetric, or the matrix has an eigenvalue
///           below -n eps of the largest: then it is no positive definite kernel.
/// Accuracy  the kernel's; symmetry to 64 eps of the largest entry (tests/classification/any_kernel.cpp).
template <Real T, PointKernel<T> Kernel>
Matrix<T> gram_matrix(const Matrix<T>& points, const Kernel& kernel) {
  constexpr auto where = "classification::gram_matrix";
  const Eigen::Index n = points.rows();
  Matrix<T> gram(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      gram(i, j) = kernel(Vector<T>(points.row(i).transpose()), Vector<T>(points.row(j).transpose()));
      require_finite(where, "a value of the kernel", gram(i, j));
    }
  }
  const T eps = std::numeric_limits<T>::epsilon();
  const T largest = gram.cwiseAbs().maxCoeff(), apart = (gram - gram.transpose()).cwiseAbs().maxCoeff();
  if (!(apart <= T(64) * eps * largest)) {
    throw_domain_error(where, "the kernel is not symmetric", apart, "K(u, v) = K(v, u)");
  }
  const Vector<T> eigenvalues = Eigen::SelfAdjointEigenSolver<Matrix<T>>(gram, Eigen::EigenvaluesOnly).eigenvalues();
  const T bound = T(64) * T(static_cast<double>(n)) * eps * eigenvalues.cwiseAbs().maxCoeff();
  if (!(-bound <= eigenvalues.minCoeff())) {
    throw_domain_error(where, "the kernel is not positive definite: an eigenvalue among these points is negative",
                       eigenvalues.minCoeff(), "eigenvalues >= 0");
  }
  return gram;
}

/// Logits of one step of functional gradient descent from zero in the space of any kernel.
///
/// \f[ z = \frac{\eta}{n} \sum_j K(x_j, x)\, y_j \f]
///
///     const auto cubic = [](const auto& u, const auto& v) { return std::pow(1 + u.dot(v), 3); };
///     const auto logits = classification::kernel_logits(context, cubic, 30.0);   // softmax of them is the prediction
///
/// Source    arXiv 2510.10425, Proposition 3.2 and App. E.
/// Shapes    (context: n, d, k) -> k
/// Units     learning_rate = eta, of the mean loss.
/// Domain    learning_rate finite; a kernel that gram_matrix accepts.
/// Limits    the radial and the linear kernel: kernel_descent, linear_descent.
/// Errors    as validate(Context), and as gram_matrix over the points and the query.
/// Accuracy  4 n eps of the sums' absolute terms (tests/classification/any_kernel.cpp).
template <Real T, PointKernel<T> Kernel>
Vector<T> kernel_logits(const Context<T>& context, const Kernel& kernel, const T& learning_rate) {
  constexpr auto where = "classification::kernel_logits";
  validate(context, where);
  require_finite(where, "learning_rate", learning_rate);
  const Eigen::Index n = context.inputs.rows();
  Matrix<T> points(n + 1, context.inputs.cols());
  points.topRows(n) = context.inputs;
  points.row(n) = context.query.transpose();
  const Vector<T> row = gram_matrix<T>(points, kernel).col(n).head(n);
  return learning_rate / T(static_cast<double>(n)) * detail::class_sums<T>(context, row);
}

/// A context with its points replaced by their features, with which linear attention, and the linear step, are the step
/// of the kernel that is the features' inner product.
///
/// Source    arXiv 2510.10425, Section 3.2: the construction through the feature map.
/// Shapes    (context: n, d, k; features: d -> m) -> context: n, m, k
/// Errors    as validate(Context); std::invalid_argument if the number of features varies.
template <Real T, FeatureMap<T> Features>
Context<T> feature_context(const Context<T>& context, const Features& features) {
  constexpr auto where = "classification::feature_context";
  validate(context, where);
  Context<T> mapped{{}, context.labels, features(context.query), context.classes};
  mapped.inputs.resize(context.inputs.rows(), mapped.query.size());
  for (Eigen::Index j = 0; j < context.inputs.rows(); ++j) {
    const Vector<T> image = features(Vector<T>(context.inputs.row(j).transpose()));
    require_same_size(where, "the number of features", image.size(), mapped.query.size());
    mapped.inputs.row(j) = image.transpose();
  }
  validate(mapped, where);
  return mapped;
}

/// Logits of a layer of attention whose activation is a kernel of keys and queries, read in the input entries.
///
/// \f[ a_j = K\bigl((W_Q e_q)_x, (W_K e_j)_x\bigr),\qquad z = \bigl(W_P \sum_j a_j W_V e_j\bigr)_y \f]
///
/// With linear_construction's weights it is kernel_logits, whatever the kernel: the query's own value is 0.
///
/// Source    arXiv 2510.10425, Section 2.2 and App. E.2.
/// Shapes    (weights: d + k, context: n, d, k) -> k
/// Units     logits in nats.
/// Errors    as validate(Context); std::invalid_argument for shapes.
/// Accuracy  as kernel_logits (tests/classification/any_kernel.cpp).
template <Real T, PointKernel<T> Kernel>
Vector<T> kernel_attention_logits(const ContextWeights<T>& weights, const Kernel& kernel, const Context<T>& context) {
  constexpr auto where = "classification::kernel_attention_logits";
  validate(context, where);
  const Eigen::Index d = context.inputs.cols(), width = d + context.classes;
  for (const auto& [name, matrix] : {std::pair{"query", &weights.query},
                                     {"key", &weights.key},
                                     {"value", &weights.value},
                                     {"projection", &weights.projection}}) {
    require_same_size(where, std::string(name) + ".rows()", matrix->rows(), width);
    require_same_size(where, std::string(name) + ".cols()", matrix->cols(), width);
  }
  const Matrix<T> tokens = context_tokens(context, QueryToken::included);
  const Vector<T> query = (weights.query * tokens.bottomRows(1).transpose()).topRows(d);
  const Matrix<T> keys = tokens * weights.key.transpose();
  Vector<T> sum = Vector<T>::Zero(width);
  for (Eigen::Index j = 0; j < tokens.rows(); ++j) {
    const T weight = kernel(query, Vector<T>(keys.row(j).head(d).transpose()));
    sum += weight * (weights.value * tokens.row(j).transpose());
  }
  return (weights.projection * sum).tail(context.classes);
}

}  // namespace incontext::classification
