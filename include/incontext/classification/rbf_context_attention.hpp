#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// The result of a forward pass of RBF kernel attention, and the derivatives of its cross entropy by the weights.
///
/// Shapes    attention: one number per key (the query's last, if it is a key); query_gradient: (d + k) x d, the columns
///           that multiply the query's input; key_gradient: (d + k) x (d + k); output_gradient: k x (d + k), the rows
///           of W_P W_V for the label entries
template <Real T>
struct RbfAttentionPass {
  Prediction<T> prediction;
  Vector<T> attention;
  T loss;
  Matrix<T> query_gradient;
  Matrix<T> key_gradient;
  Matrix<T> output_gradient;
};

namespace detail {

template <Real T>
void require_square_weights(std::string_view where, const ContextWeights<T>& weights, Eigen::Index width) {
  const std::pair<const char*, const Matrix<T>*> all[] = {
      {"query", &weights.query}, {"key", &weights.key}, {"value", &weights.value}, {"projection", &weights.projection}};
  for (const auto& [name, m] : all) {
    require_same_size(where, std::string(name) + ".rows()", m->rows(), width);
    require_same_size(where, std::string(name) + ".cols()", m->cols(), width);
    for (const T& x : m->reshaped()) require_finite(where, std::string("an entry of ") + name, x);
  }
}

}  // namespace detail

/// One layer of attention by an RBF kernel of unit width between queries and keys, read at the query's label entries.
/// Its scores do not depend on the product W_K^T W_Q alone, so it takes the four matrices.
///
/// \f[ a_j = e^{-|W_Q e_q - W_K e_j|^2/2},\quad o = \sum_j a_j e_j,\quad z = (W_P W_V)_y\, o,\quad
///     p = \mathrm{softmax}(z) \f]
/// \f[ \frac{\partial L}{\partial W_Q} = \sum_j r_j (k_j - q) e_q^T,\quad
///     \frac{\partial L}{\partial W_K} = \sum_j r_j (q - k_j) e_j^T,\quad
///     r_j = a_j\, e_j^T (W_P W_V)_y^T (p - y),\quad q = W_Q e_q,\ k_j = W_K e_j \f]
///
/// Source    arXiv 2510.10425, Section 2.2; gradients derived: docs/theory/classification.md#gradients.
/// Shapes    (weights, context: n, d, k, label of the query) -> as RbfAttentionPass
/// Units     loss in nats.
/// Domain    finite numbers; 0 <= label < k.
/// Limits    rbf_construction: kernel_descent, off the sphere too.
/// Errors    std::invalid_argument for shapes and label, std::domain_error for values.
/// Accuracy  derivatives against central differences, 1e-8 (tests/classification/rbf_context_attention.cpp).
template <Real T>
RbfAttentionPass<T> rbf_context_attention(const ContextWeights<T>& weights, const Context<T>& context,
                                          std::int64_t label, QueryToken query) {
  using std::exp;
  constexpr auto where = "classification::rbf_context_attention";
  validate(context, where);
  const Eigen::Index d = context.inputs.cols(), k = context.classes, width = d + k;
  detail::require_square_weights(where, weights, width);
  const Matrix<T> tokens = context_tokens(context, query), from_query = weights.query.leftCols(d);
  const Matrix<T> read = weights.projection.bottomRows(k) * weights.value;
  const Vector<T> reached = from_query * context.query;
  const Matrix<T> apart = (tokens * weights.key.transpose()).rowwise() - reached.transpose();
  const Vector<T> a = apart.rowwise().squaredNorm().unaryExpr([](const T& x) { return T(exp(T(-x / T(2)))); });
  const Vector<T> summary = tokens.transpose() * a;

  Matrix<T> slopes = apart * from_query;
  if (query == QueryToken::included) slopes.bottomRows(1) -= apart.bottomRows(1) * weights.key.leftCols(d);
  Matrix<T> logit_derivative = read * (tokens.transpose() * (a.asDiagonal() * slopes));
  if (query == QueryToken::included) logit_derivative += a(a.size() - 1) * read.leftCols(d);

  RbfAttentionPass<T> pass{predict<T>(read * summary, logit_derivative), a, T(0), {}, {}, {}};
  pass.loss = cross_entropy(pass.prediction, label);
  Vector<T> error = pass.prediction.probabilities;
  error(label) -= T(1);
  pass.output_gradient = error * summary.transpose();
  const Vector<T> by_score = a.cwiseProduct(tokens * (read.transpose() * error));
  pass.query_gradient = (apart.transpose() * by_score) * context.query.transpose();
  pass.key_gradient = -(apart.transpose() * (by_score.asDiagonal() * tokens));
  return pass;
}

INCONTEXT_COMPILED(classification_rbf_context_attention, rbf_context_attention<double>);

}  // namespace incontext::classification
