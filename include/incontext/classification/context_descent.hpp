#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/classification/context.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/softmax.hpp"

/// One step of gradient descent on the mean cross entropy of the context, and the prediction at the query after that
/// step.
namespace incontext::classification {

/// How the kernel is continued off the sphere; on the sphere the two forms are the same.
///
/// Source    rbf: e^(-kappa |x_j - x|^2 / 2); dot: e^(kappa (x_j.x - 1)).
enum class KernelForm { rbf, dot };

/// What the query adds to the normalizer of the context-adaptive step. On the sphere the last three are the same.
///
/// Source    none: arXiv 2510.10425 eq. (3). dot: e^(kappa x.x), what attention computes. constant: e^kappa. rbf: 1,
///           with kernel e^(-kappa |x_j - x|^2 / 2).
enum class SelfTerm { none, dot, constant, rbf };

namespace detail {

/// The sums over the examples of each class of the rows of a matrix.
template <Real T>
Matrix<T> class_sums(const Context<T>& context, const Matrix<T>& rows) {
  Matrix<T> sums = Matrix<T>::Zero(context.classes, rows.cols());
  for (Eigen::Index j = 0; j < rows.rows(); ++j) {
    sums.row(context.labels[static_cast<std::size_t>(j)]) += rows.row(j);
  }
  return sums;
}

template <Real T>
Matrix<T> differences(const Context<T>& context) {
  return context.inputs.rowwise() - context.query.transpose();
}

/// Kernel values with the query and their derivatives by the query.
template <Real T>
struct KernelRow {
  Vector<T> value;
  Matrix<T> derivative;
};

template <Real T>
KernelRow<T> kernel_row(const Context<T>& context, const T& kappa, KernelForm form) {
  using std::exp;
  const Matrix<T> direction = form == KernelForm::rbf ? differences(context) : context.inputs;
  const Vector<T> exponent = form == KernelForm::rbf
                                 ? Vector<T>(direction.rowwise().squaredNorm() * (-kappa / T(2)))
                                 : Vector<T>((context.inputs * context.query).array() * kappa - kappa);
  Vector<T> value = exponent.unaryExpr([](const T& e) { return T(exp(e)); });
  return {value, kappa * (value.asDiagonal() * direction)};
}

/// The scores of the context-adaptive step, the query's own last if it counts.
template <Real T>
Vector<T> adaptive_scores(const Context<T>& context, const T& kappa, SelfTerm self) {
  const Eigen::Index n = context.inputs.rows();
  const bool rbf = self == SelfTerm::rbf;
  Vector<T> scores(self == SelfTerm::none ? n : n + 1);
  scores.head(n) = rbf ? Vector<T>(differences(context).rowwise().squaredNorm() * (-kappa / T(2)))
                       : Vector<T>(kappa * (context.inputs * context.query));
  if (self != SelfTerm::none) {
    scores(n) = rbf ? T(0) : self == SelfTerm::dot ? T(kappa * context.query.squaredNorm()) : kappa;
  }
  return scores;
}

}  // namespace detail

/// One step of gradient descent on a linear classifier from zero.
///
/// \f[ p(x) = \mathrm{softmax}\left(\frac{\eta}{n} \sum_j (x_j\cdot x)\, y_j\right) \f]
///
/// Source    arXiv 2510.10425, Section 3.1 and App. D.
/// Shapes    (context: n, d, k) -> k
/// Units     learning_rate = eta, of the mean loss.
/// Domain    learning_rate finite.
/// Limits    learning_rate = 0: uniform.
/// Errors    as validate(Context).
/// Accuracy  4 (n + d) eps of the sums' absolute terms (tests/classification/context_descent.cpp).
template <Real T>
Prediction<T> linear_descent(const Context<T>& context, const T& learning_rate) {
  constexpr auto where = "classification::linear_descent";
  validate(context, where);
  require_finite(where, "learning_rate", learning_rate);
  const Matrix<T> weights =
      learning_rate / T(static_cast<double>(context.inputs.rows())) * detail::class_sums(context, context.inputs);
  return predict<T>(weights * context.query, weights);
}

/// One step of functional gradient descent from zero in the space of an RBF kernel.
///
/// \f[ p(x) = \mathrm{softmax}\left(\frac{\eta}{n} \sum_j K(x_j, x)\, y_j\right),\qquad
///     K = e^{-\kappa|x_j - x|^2/2}\ \text{or}\ e^{\kappa (x_j\cdot x - 1)} \f]
///
/// `form` chooses which of the two the kernel is; they agree on the unit sphere.
///
/// Source    arXiv 2510.10425, Section 3.2 and App. E.
/// Shapes    (context: n, d, k) -> k
/// Units     learning_rate = eta, of the mean loss; kappa = 1/sigma^2.
/// Domain    learning_rate finite, kappa >= 0, where the kernel is positive definite.
/// Limits    kappa -> 0 with learning_rate times kappa fixed: linear_descent, for balanced contexts.
/// Errors    as validate(Context); std::domain_error for kappa.
/// Accuracy  as linear_descent.
template <Real T>
Prediction<T> kernel_descent(const Context<T>& context, const T& kappa, const T& learning_rate,
                             KernelForm form = KernelForm::rbf) {
  constexpr auto where = "classification::kernel_descent";
  validate(context, where);
  require_non_negative(where, "kappa", kappa);
  require_finite(where, "learning_rate", learning_rate);
  const auto kernel = detail::kernel_row(context, kappa, form);
  const T scale = learning_rate / T(static_cast<double>(context.inputs.rows()));
  return predict<T>(scale * detail::class_sums<T>(context, kernel.value),
                    scale * detail::class_sums<T>(context, kernel.derivative));
}

/// The step whose learning rate adapts to the partition function around the query, as softmax attention computes it.
///
/// \f[ p(x) = \mathrm{softmax}\Bigl(c \sum_j a_j y_j\Bigr),\qquad
///     a_j = \frac{e^{\kappa x_j\cdot x}}{\sum_i e^{\kappa x_i\cdot x} + [\text{self term}]} \f]
///
/// Source    arXiv 2510.10425, eq. (3) and App. K (elimination); with a self term, what an unmasked head computes.
/// Shapes    (context: n, d, k) -> k
/// Units     gain = c in nats; kappa = 1/sigma^2.
/// Domain    kappa and gain finite. Where both are negative the step is elimination: it attends to the farthest points
///           and subtracts their labels.
/// Limits    kappa -> infinity: the nearest neighbor's label with logit c; kappa -> 0 with c kappa = eta:
///           linear_descent for balanced contexts; with a self term and a narrow kernel: kernel_descent at rate n c.
/// Errors    as validate(Context).
/// Accuracy  as linear_descent; scores are shifted by the largest among the keys in use.
template <Real T>
Prediction<T> adaptive_descent(const Context<T>& context, const T& kappa, const T& gain, SelfTerm self) {
  constexpr auto where = "classification::adaptive_descent";
  validate(context, where);
  require_finite(where, "kappa", kappa);
  require_finite(where, "gain", gain);
  const Vector<T> scores = detail::adaptive_scores(context, kappa, self);
  const Eigen::Index n = context.inputs.rows(), keys = scores.size();
  Vector<T> weights(keys);
  Matrix<T> derivative(keys, context.query.size());
  derivative.topRows(n) = kappa * (self == SelfTerm::rbf ? detail::differences(context) : context.inputs);
  if (self != SelfTerm::none) {
    derivative.row(n).setZero();
    if (self == SelfTerm::dot) derivative.row(n) = T(2) * kappa * context.query.transpose();
  }
  scoring::weights(scoring::Softmax<T>{}, scores, scoring::Row<T>(weights.data(), keys));
  const Eigen::Matrix<T, 1, Eigen::Dynamic> mean = weights.transpose() * derivative;
  const Matrix<T> centered = weights.asDiagonal() * (derivative.rowwise() - mean);
  return predict<T>(gain * detail::class_sums<T>(context, weights.head(n)),
                    gain * detail::class_sums<T>(context, centered.topRows(n)));
}

/// The learning rate that the context-adaptive step has at its query: the one at which kernel_descent gives its logits.
///
/// \f[ \eta(x) = \frac{c\,n}{\sum_j K(x_j, x) + \iota},\qquad
///     K = e^{\kappa (x_j\cdot x - 1)}\ \text{or}\ e^{-\kappa|x_j - x|^2/2} \f]
///
/// The query's own term iota is 0 for SelfTerm::none, e^(kappa (x.x - 1)) for dot, and 1 for constant and rbf. The
/// kernel is the radial one for rbf, which kernel_descent calls KernelForm::rbf, and the other for the rest. The rate is
/// large where few examples are near the query.
///
/// Source    arXiv 2510.10425, eq. (3): the factor of the sum, written as a learning rate of the mean loss.
/// Shapes    (context: n, d, k) -> scalar
/// Units     that of kernel_descent; gain = c in nats; kappa = 1/sigma^2.
/// Domain    kappa and gain finite.
/// Limits    kappa = 0: c without a self term, c n/(n + 1) with one. A narrow kernel far from all examples: infinity
///           without a self term, c n with one that is 1. gain = 0: 0.
/// Errors    as adaptive_descent.
/// Accuracy  4 (n + d) eps times 1 + |kappa| (tests/classification/context_descent.cpp).
template <Real T>
T adaptive_rate(const Context<T>& context, const T& kappa, const T& gain, SelfTerm self) {
  using std::exp;
  constexpr auto where = "classification::adaptive_rate";
  validate(context, where);
  require_finite(where, "kappa", kappa);
  require_finite(where, "gain", gain);
  if (gain == T(0)) return T(0);
  const Vector<T> scores = detail::adaptive_scores(context, kappa, self);
  const T largest = scores.maxCoeff();
  T sum = 0;
  for (const T& score : scores) sum += exp(T(score - largest));
  const T shift = self == SelfTerm::rbf ? T(-largest) : T(kappa - largest);
  return gain * T(static_cast<double>(context.inputs.rows())) * exp(shift) / sum;
}

INCONTEXT_COMPILED(classification_context_descent, linear_descent<double>);
INCONTEXT_COMPILED(classification_context_descent, kernel_descent<double>);
INCONTEXT_COMPILED(classification_context_descent, adaptive_descent<double>);
INCONTEXT_COMPILED(classification_context_descent, adaptive_rate<double>);

}  // namespace incontext::classification
