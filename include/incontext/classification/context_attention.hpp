#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/classification/context.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/softmax.hpp"

/// One layer of self-attention over the tokens (x_j; y_j) and (x; 0), read at the query's label entries: the literal
/// model, its gradients and its sensitivity.
namespace incontext::classification {

/// How the scores become weights: unchanged, by the exponential, or by softmax.
///
/// Source    arXiv 2510.10425, Section 2.2.
enum class AttentionKind { linear, exponential, softmax };

/// The two products of weight matrices on which the layer's output depends, for tokens as columns.
///
/// Source    arXiv 2510.10425, Section 2.2: key_query = W_K^T W_Q, output = W_P W_V.
/// Shapes    (d + k) x (d + k) each
template <Real T>
struct ContextAttention {
  Matrix<T> key_query;
  Matrix<T> output;
};

/// The result of a forward pass, and the derivatives of its cross entropy by the weights.
///
/// Shapes    attention: one number per key (the query's last, if it is a key); key_query_gradient: (d + k) x d, the
///           columns that multiply the query's input; output_gradient: k x (d + k), the rows of the label entries
template <Real T>
struct ContextAttentionPass {
  Prediction<T> prediction;
  Vector<T> attention;
  T loss;
  Matrix<T> key_query_gradient;
  Matrix<T> output_gradient;
};

/// The tokens of a context as rows. If the query is a key, its token is the last row, with zeros in place of its label.
///
/// Source    arXiv 2510.10425, Section 2.1.
/// Shapes    (context: n, d, k) -> n x (d + k) or (n + 1) x (d + k)
template <Real T>
Matrix<T> context_tokens(const Context<T>& context, QueryToken query) {
  const Eigen::Index n = context.inputs.rows(), d = context.inputs.cols();
  const Eigen::Index rows = query == QueryToken::included ? n + 1 : n;
  Matrix<T> tokens = Matrix<T>::Zero(rows, d + context.classes);
  tokens.topLeftCorner(n, d) = context.inputs;
  for (Eigen::Index j = 0; j < n; ++j) tokens(j, d + context.labels[static_cast<std::size_t>(j)]) = T(1);
  if (query == QueryToken::included) tokens.row(n).head(d) = context.query.transpose();
  return tokens;
}

namespace detail {

template <Real T>
Vector<T> attend(AttentionKind kind, const Vector<T>& scores) {
  using std::exp;
  if (kind == AttentionKind::linear) return scores;
  if (kind == AttentionKind::exponential) return scores.unaryExpr([](const T& s) { return T(exp(s)); });
  Vector<T> weights(scores.size());
  scoring::weights(scoring::Softmax<T>{}, scores, scoring::Row<T>(weights.data(), weights.size()));
  return weights;
}

/// The Jacobian of the attention weights by the scores, symmetric for all three kinds, times a matrix of derivatives of
/// the scores.
template <Real T>
Matrix<T> attention_derivative(AttentionKind kind, const Vector<T>& attention, const Matrix<T>& scores) {
  if (kind == AttentionKind::linear) return scores;
  if (kind == AttentionKind::exponential) return attention.asDiagonal() * scores;
  const Eigen::Matrix<T, 1, Eigen::Dynamic> mean = attention.transpose() * scores;
  return attention.asDiagonal() * (scores.rowwise() - mean);
}

template <Real T>
void require_attention(std::string_view where, const ContextAttention<T>& attention, const Context<T>& context) {
  const Eigen::Index width = context.inputs.cols() + context.classes;
  for (const Matrix<T>* m : {&attention.key_query, &attention.output}) {
    const char* name = m == &attention.output ? "output" : "key_query";
    require_same_size(where, std::string(name) + ".rows()", m->rows(), width);
    require_same_size(where, std::string(name) + ".cols()", m->cols(), width);
    for (const T& x : m->reshaped()) require_finite(where, std::string("an entry of ") + name, x);
  }
}

}  // namespace detail

/// The layer's prediction at the query, the derivative of its cross entropy by the weights, and the derivative of its
/// probabilities by the query, which may be a key and a value too.
///
/// \f[ a_j = \mathrm{act}(\tau e_j^T M e_q),\quad o = \sum_j a_j e_j,\quad z = P_y o,\quad p = \mathrm{softmax}(z) \f]
/// \f[ \frac{\partial L}{\partial P_y} = (p - y) o^T,\qquad
///     \frac{\partial L}{\partial M} = \tau\, T^T J_a T P_y^T (p - y)\, e_q^T \f]
///
/// Here e_j are the tokens, T is the matrix with these rows, J_a the Jacobian of act, and P_y the rows of P for the
/// labels.
///
/// `kind` is the function act, and `query` says whether the query is a key.
///
/// Source    arXiv 2510.10425, Section 2.2; gradients derived: docs/theory/classification.md#gradients.
/// Shapes    (attention, context: n, d, k, label of the query) -> as ContextAttentionPass
/// Units     scale = tau times the scores: dimensionless; loss in nats.
/// Domain    finite numbers; 0 <= label < k.
/// Limits    the constructions of context_constructions.hpp: the algorithms of context_descent.hpp.
/// Errors    std::invalid_argument for shapes and label, std::domain_error for values.
/// Accuracy  1e-12 of the largest entry in double (tests/classification/context_attention.cpp).
template <Real T>
ContextAttentionPass<T> context_attention(const ContextAttention<T>& attention, AttentionKind kind, const T& scale,
                                          const Context<T>& context, std::int64_t label, QueryToken query) {
  constexpr auto where = "classification::context_attention";
  validate(context, where);
  detail::require_attention(where, attention, context);
  require_finite(where, "scale", scale);
  const Eigen::Index d = context.inputs.cols(), k = context.classes;
  const Matrix<T> tokens = context_tokens(context, query), from_query = scale * attention.key_query.leftCols(d);
  const Matrix<T> read = attention.output.bottomRows(k);
  const Vector<T> reached = from_query * context.query;
  const Vector<T> a = detail::attend<T>(kind, tokens * reached);
  const Vector<T> summary = tokens.transpose() * a;

  Matrix<T> score_derivative = tokens * from_query;
  if (query == QueryToken::included) score_derivative.bottomRows(1) += reached.head(d).transpose();
  Matrix<T> logit_derivative = read * (tokens.transpose() * detail::attention_derivative(kind, a, score_derivative));
  if (query == QueryToken::included) logit_derivative += a(a.size() - 1) * read.leftCols(d);

  ContextAttentionPass<T> pass{predict<T>(read * summary, logit_derivative), a, T(0), {}, {}};
  pass.loss = cross_entropy(pass.prediction, label);
  Vector<T> error = pass.prediction.probabilities;
  error(label) -= T(1);
  pass.output_gradient = error * summary.transpose();
  const Matrix<T> value_gradient = tokens * (read.transpose() * error);
  pass.key_query_gradient =
      scale * (tokens.transpose() * detail::attention_derivative(kind, a, value_gradient)) * context.query.transpose();
  return pass;
}

INCONTEXT_COMPILED(classification_context_attention, context_tokens<double>);
INCONTEXT_COMPILED(classification_context_attention, context_attention<double>);

}  // namespace incontext::classification
