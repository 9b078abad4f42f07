#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// Weights with which attention computes one step of gradient descent exactly, and the step that given weights
/// approximate.
namespace incontext::classification {

/// The four weight matrices of a layer, tokens as columns.
///
/// Shapes    (d + k) x (d + k) each
template <Real T>
struct ContextWeights {
  Matrix<T> query;
  Matrix<T> key;
  Matrix<T> value;
  Matrix<T> projection;
};

/// The two products of the weights on which the layer's output depends.
///
/// \f[ M = W_K^T W_Q,\qquad P = W_P W_V \f]
///
/// Source    arXiv 2510.10425, Section 2.2.
/// Shapes    as ContextWeights -> as ContextAttention
template <Real T>
ContextAttention<T> merged(const ContextWeights<T>& weights) {
  return {weights.key.transpose() * weights.query, weights.projection * weights.value};
}

namespace detail {

/// W_Q = W_K = reach I_x, W_V = I_y, W_P = read I_y.
template <Real T>
ContextWeights<T> block_weights(std::string_view where, std::int64_t dimension, std::int64_t classes, const T& reach,
                                const T& read) {
  require_at_least(where, "dimension", dimension, std::int64_t{1});
  require_at_least(where, "classes", classes, std::int64_t{2});
  require_finite(where, "the output's weight", read);
  const Matrix<T> zero = Matrix<T>::Zero(dimension + classes, dimension + classes);
  Matrix<T> inputs = zero, labels = zero;
  inputs.diagonal().head(dimension).setConstant(reach);
  labels.diagonal().tail(classes).setConstant(T(1));
  return {inputs, inputs, labels, read * labels};
}

}  // namespace detail

/// Weights with which linear attention, at scale 1, computes linear_descent.
///
/// \f[ M = I_x,\qquad P = \frac{\eta}{n} I_y \f]
///
/// Source    arXiv 2510.10425, Proposition 3.1 (App. D).
/// Shapes    (d, k) -> as ContextWeights
/// Units     learning_rate = eta.
/// Domain    dimension >= 1, classes >= 2, context_length >= 1, learning_rate finite.
/// Errors    std::invalid_argument for counts, std::domain_error for values.
/// Accuracy  the two agree to 64 eps of the largest logit, in float and double
///           (tests/classification/context_constructions.cpp).
template <Real T>
ContextWeights<T> linear_construction(std::int64_t dimension, std::int64_t classes, std::int64_t context_length,
                                      const T& learning_rate) {
  constexpr auto where = "classification::linear_construction";
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  return detail::block_weights<T>(where, dimension, classes, T(1),
                                  learning_rate / T(static_cast<double>(context_length)));
}

/// Weights with which exponential attention, at scale 1, computes kernel_descent: on the sphere, and for
/// KernelForm::dot everywhere.
///
/// \f[ M = \kappa I_x,\qquad P = \frac{\eta}{n} e^{-\kappa} I_y \f]
///
/// Source    arXiv 2510.10425, Proposition 3.2 (App. E).
/// Shapes    (d, k) -> as ContextWeights
/// Units     learning_rate = eta; kappa = 1/sigma^2.
/// Domain    as linear_construction; kappa >= 0: W_Q = W_K = sqrt(kappa) I_x.
/// Errors    as linear_construction.
/// Accuracy  as linear_construction.
template <Real T>
ContextWeights<T> kernel_construction(std::int64_t dimension, std::int64_t classes, std::int64_t context_length,
                                      const T& kappa, const T& learning_rate) {
  using std::exp;
  using std::sqrt;
  constexpr auto where = "classification::kernel_construction";
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  require_non_negative(where, "kappa", kappa);
  return detail::block_weights<T>(where, dimension, classes, sqrt(kappa),
                                  learning_rate / T(static_cast<double>(context_length)) * exp(T(-kappa)));
}

/// Weights with which RBF kernel attention computes kernel_descent, on the sphere and off it.
///
/// \f[ W_Q = W_K = \sqrt\kappa\, I_x,\qquad P = \frac{\eta}{n} I_y \f]
///
/// Source    arXiv 2510.10425, App. E; for rbf_context_attention, whose kernel has unit width.
/// Shapes    (d, k) -> as ContextWeights
/// Units     learning_rate = eta; kappa = 1/sigma^2.
/// Domain    as kernel_construction.
/// Errors    as linear_construction.
/// Accuracy  the two agree to 64 eps of the largest logit, in float and double
///           (tests/classification/rbf_context_attention.cpp).
template <Real T>
ContextWeights<T> rbf_construction(std::int64_t dimension, std::int64_t classes, std::int64_t context_length,
                                   const T& kappa, const T& learning_rate) {
  using std::sqrt;
  constexpr auto where = "classification::rbf_construction";
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  require_non_negative(where, "kappa", kappa);
  return detail::block_weights<T>(where, dimension, classes, sqrt(kappa),
                                  learning_rate / T(static_cast<double>(context_length)));
}

/// Weights with which softmax attention, at scale 1/sqrt(d + k), computes adaptive_descent: with SelfTerm::dot if the
/// query is a key, and with SelfTerm::none if it is not.
///
/// \f[ M = \sqrt{d + k}\,\kappa I_x,\qquad P = c I_y \f]
///
/// Source    arXiv 2510.10425, eq. (3) (App. F).
/// Shapes    (d, k) -> as ContextWeights
/// Units     gain = c in nats; kappa = 1/sigma^2.
/// Domain    dimension >= 1, classes >= 2, kappa >= 0, gain finite.
/// Errors    as linear_construction.
/// Accuracy  as linear_construction.
template <Real T>
ContextWeights<T> softmax_construction(std::int64_t dimension, std::int64_t classes, const T& kappa, const T& gain) {
  using std::sqrt;
  constexpr auto where = "classification::softmax_construction";
  require_non_negative(where, "kappa", kappa);
  const T width = sqrt(T(static_cast<double>(dimension + classes)));
  return detail::block_weights<T>(where, dimension, classes, sqrt(T(width * kappa)), gain);
}

/// The same weights with the mean over the classes subtracted from the outputs of the labels. The constructions above
/// leave out the gradient's term 1/k, because softmax does not depend on it; with this function the logits are those of
/// the gradient step too.
///
/// \f[ W_P \to \left(I - \tfrac1k 1_y 1_y^T\right) W_P,\quad 1_y = (0; 1),\qquad
///     W_1 = \frac{\eta}{n} \sum_j \left(y_j - \tfrac1k 1\right) x_j^T \f]
///
/// Source    arXiv 2510.10425, App. D: the gradient's 1/k.
/// Shapes    (weights: d + k, classes: k) -> as ContextWeights
/// Domain    classes >= 2, W_P of d + k >= k + 1 rows.
/// Limits    applied twice: the same as once. The probabilities do not change, and the logits sum to 0.
/// Errors    std::invalid_argument for shapes.
/// Accuracy  logits against the gradient step on W, 64 eps (tests/classification/context_constructions.cpp).
template <Real T>
ContextWeights<T> centered(ContextWeights<T> weights, std::int64_t classes) {
  constexpr auto where = "classification::centered";
  require_at_least(where, "classes", classes, std::int64_t{2});
  require_at_least(where, "projection.rows()", std::int64_t{weights.projection.rows()}, classes + 1);
  auto labels = weights.projection.bottomRows(classes);
  const Eigen::Matrix<T, 1, Eigen::Dynamic> mean = labels.colwise().sum() / T(static_cast<double>(classes));
  labels.rowwise() -= mean;
  return weights;
}

/// The concentration and gain of the step that given weights approximate.
template <Real T>
struct EffectiveStep {
  T kappa;
  T gain;
};

/// Effective concentration and gain of trained weights.
///
/// \f[ \kappa = \frac{\tau}{d} \mathrm{tr} M_{xx},\qquad
///     c = \frac{1}{k - 1} \mathrm{tr}\left[\left(I - \tfrac1k 1 1^T\right) P_{yy}\right] \f]
///
/// Source    arXiv 2510.10425, App. J; the mean of a column's off-diagonal entries is subtracted, as invariance of the
///           softmax asks, where the text adds it.
/// Shapes    (attention: d + k, classes: k)
/// Units     scale = tau. For linear attention the effective rate is n kappa gain.
/// Domain    classes >= 2, square matrices of d + k >= k + 1.
/// Limits    softmax_construction at scale 1/sqrt(d + k): its kappa and gain.
/// Errors    std::invalid_argument for shapes.
/// Accuracy  16 eps of the largest entry times d + k (tests/classification/context_constructions.cpp).
template <Real T>
EffectiveStep<T> effective_step(const ContextAttention<T>& attention, const T& scale, std::int64_t classes) {
  constexpr auto where = "classification::effective_step";
  require_at_least(where, "classes", classes, std::int64_t{2});
  const Eigen::Index width = attention.key_query.rows(), d = width - classes;
  require_at_least(where, "key_query.rows()", std::int64_t{width}, classes + 1);
  require_same_size(where, "key_query.cols()", attention.key_query.cols(), width);
  require_same_size(where, "output.rows()", attention.output.rows(), width);
  require_same_size(where, "output.cols()", attention.output.cols(), width);
  const Matrix<T> labels = attention.output.bottomRightCorner(classes, classes);
  const T k = T(static_cast<double>(classes));
  return {scale * attention.key_query.topLeftCorner(d, d).trace() / T(static_cast<double>(d)),
          (k * labels.trace() - labels.sum()) / (k * (k - T(1)))};
}

/// The distance of two classifiers at one query.
template <Real T>
struct Alignment {
  T prediction_distance;   ///< |p - p'|
  T cosine;                ///< mean over classes of the cosine between their sensitivities
  T sensitivity_distance;  ///< Frobenius norm of J - J'
};

/// The distance of two classifiers at one query, by their predictions and by the sensitivities of the predictions.
///
/// \f[ |p - p'|,\qquad \frac1k \sum_c \frac{J_c\cdot J'_c}{|J_c| |J'_c|},\qquad |J - J'|_F \f]
///
/// Source    arXiv 2510.10425, Section 4.
/// Shapes    (k, k x d each)
/// Limits    equal predictions: 0, 1, 0. A class of sensitivity 0 has no cosine: NaN.
/// Errors    std::invalid_argument for shapes.
/// Accuracy  16 eps (tests/classification/context_constructions.cpp).
template <Real T>
Alignment<T> alignment(const Prediction<T>& one, const Prediction<T>& other) {
  constexpr auto where = "classification::alignment";
  require_same_size(where, "the number of classes", other.sensitivity.rows(), one.sensitivity.rows());
  require_same_size(where, "the dimension", other.sensitivity.cols(), one.sensitivity.cols());
  const Vector<T> norms = one.sensitivity.rowwise().norm().cwiseProduct(other.sensitivity.rowwise().norm());
  const Vector<T> products = one.sensitivity.cwiseProduct(other.sensitivity).rowwise().sum();
  return {(one.probabilities - other.probabilities).norm(), products.cwiseQuotient(norms).mean(),
          (one.sensitivity - other.sensitivity).norm()};
}

INCONTEXT_COMPILED(classification_context_constructions, merged<double>);
INCONTEXT_COMPILED(classification_context_constructions, linear_construction<double>);
INCONTEXT_COMPILED(classification_context_constructions, kernel_construction<double>);
INCONTEXT_COMPILED(classification_context_constructions, rbf_construction<double>);
INCONTEXT_COMPILED(classification_context_constructions, softmax_construction<double>);
INCONTEXT_COMPILED(classification_context_constructions, centered<double>);
INCONTEXT_COMPILED(classification_context_constructions, effective_step<double>);
INCONTEXT_COMPILED(classification_context_constructions, alignment<double>);

}  // namespace incontext::classification
