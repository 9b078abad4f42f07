#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/scoring/softmax.hpp"

namespace incontext::classification {

using numerics::Matrix;
using numerics::Vector;

/// Labeled examples and an input to be classified. The points may be off the sphere.
///
/// Shapes    inputs: n x d; labels: n, each in 0 ... classes - 1; query: d
template <Real T>
struct Context {
  Matrix<T> inputs;
  std::vector<std::int64_t> labels;
  Vector<T> query;
  std::int64_t classes = 2;
};

/// Refuses a context whose shapes do not fit, whose numbers are not finite or whose labels are not classes.
///
/// Domain    n >= 1, d >= 1, 2 <= classes.
/// Errors    std::invalid_argument for shapes and labels, std::domain_error for values.
template <Real T>
void validate(const Context<T>& context, std::string_view where = "classification::validate") {
  require_at_least(where, "classes", context.classes, std::int64_t{2});
  require_at_least(where, "the number of examples", std::int64_t{context.inputs.rows()}, std::int64_t{1});
  require_at_least(where, "the dimension of the inputs", std::int64_t{context.inputs.cols()}, std::int64_t{1});
  require_same_size(where, "query.size()", context.query.size(), context.inputs.cols());
  require_same_size(where, "labels.size()", static_cast<std::int64_t>(context.labels.size()),
                    std::int64_t{context.inputs.rows()});
  for (const std::int64_t label : context.labels) {
    if (label < 0 || label >= context.classes) {
      throw_invalid_argument(where, "a label is no class", label, "0 to " + std::to_string(context.classes - 1));
    }
  }
  for (const T& x : context.inputs.reshaped()) require_finite(where, "an input", x);
  for (const T& x : context.query) require_finite(where, "an entry of the query", x);
}

/// What a classifier says about one query.
///
/// Shapes    logits, probabilities: k; sensitivity, the derivative of the probabilities by the query: k x d
/// Units     logits in nats.
template <Real T>
struct Prediction {
  Vector<T> logits;
  Vector<T> probabilities;
  Matrix<T> sensitivity;
};

/// The probabilities and their derivative by the query, from the logits and the derivative of the logits by the query.
///
/// \f[ p = \mathrm{softmax}(z),\qquad J = (\mathrm{diag}\,p - p p^T) Z \f]
///
/// Source    arXiv 2510.10425, Section 4.
/// Shapes    (logits: k, logit_derivative Z: k x d) -> as Prediction
/// Errors    none: NaN for NaN.
/// Accuracy  that of scoring::Softmax.
template <Real T>
Prediction<T> predict(const Vector<T>& logits, const Matrix<T>& logit_derivative) {
  Vector<T> p(logits.size());
  scoring::weights(scoring::Softmax<T>{}, logits, scoring::Row<T>(p.data(), p.size()));
  const Eigen::Matrix<T, 1, Eigen::Dynamic> mean = p.transpose() * logit_derivative;
  Matrix<T> centered = logit_derivative;
  centered.rowwise() -= mean;
  return {logits, p, p.asDiagonal() * centered};
}

/// Cross entropy of a prediction at the query's class.
///
/// \f[ -\log p_y \f]
///
/// Source    arXiv 2510.10425, Section 4.
/// Units     nats.
/// Domain    0 <= label < k.
/// Limits    logit of the class -> infinity: 0, to full relative accuracy.
/// Errors    std::invalid_argument for label.
/// Accuracy  8 eps of the largest logit difference (tests/classification/context.cpp).
template <Real T>
T cross_entropy(const Prediction<T>& prediction, std::int64_t label) {
  using std::exp;
  using std::log;
  using std::log1p;
  if (label < 0 || label >= prediction.logits.size()) {
    throw_invalid_argument("classification::cross_entropy", "label is no class", label,
                           "0 to " + std::to_string(prediction.logits.size() - 1));
  }
  const T own = prediction.logits(label), largest = prediction.logits.maxCoeff();
  T others = T(0);
  for (Eigen::Index c = 0; c < prediction.logits.size(); ++c) {
    if (c != label) others += exp(T(prediction.logits(c) - largest));
  }
  if (own < largest) return T(largest - own) + log(T(others + exp(T(own - largest))));
  return log1p(others);
}

/// Entropy of a prediction.
///
/// \f[ -\sum_c p_c \log p_c \f]
///
/// Source    arXiv 2510.10425, Section 4.
/// Units     nats.
/// Limits    uniform: log k; one class certain: 0.
/// Accuracy  8 eps times k (tests/classification/context.cpp).
template <Real T>
T entropy(const Prediction<T>& prediction) {
  T sum = T(0);
  for (Eigen::Index c = 0; c < prediction.logits.size(); ++c) {
    if (T(0) < prediction.probabilities(c)) sum += prediction.probabilities(c) * cross_entropy(prediction, c);
  }
  return sum;
}

INCONTEXT_COMPILED(classification_context, validate<double>);
INCONTEXT_COMPILED(classification_context, predict<double>);
INCONTEXT_COMPILED(classification_context, cross_entropy<double>);
INCONTEXT_COMPILED(classification_context, entropy<double>);

}  // namespace incontext::classification
