#pragma once

#include <Eigen/Core>

#include "incontext/core/real.hpp"
#include "incontext/training/detail/transformer_block.hpp"
#include "incontext/training/reasoning_layout.hpp"

namespace incontext::training::detail {

/// What a reasoning transformer computes once per step, because its inputs consist of few distinct tokens: the score of
/// each token in every head, and what each head adds to the class token per unit of attention to the token.
///
/// \f[ s_{t,h} = k_{t,h} \cdot q_h,\qquad m_{h,t} = W_{O,h} v_{t,h} \f]
///
/// Shapes    scores: tokens x heads; mixed: width x (heads x tokens), column h tokens + t
template <Real T>
class TokenTables {
 public:
  TokenTables(const ReasoningLayout& layout, const T* parameters);

  [[nodiscard]] LayerParts<const T> parts() const { return {layout_, parameters_}; }
  [[nodiscard]] const ReasoningLayout& layout() const { return layout_; }

  /// Adds the gradients by the parameters that act on tokens, computed from the gradients by the tables.
  void pull_back(const Matrix<T>& by_scores, const Matrix<T>& by_mixed, T* gradient) const;

  Matrix<T> scores, mixed;

 private:
  [[nodiscard]] auto part(TransformerPart which) const { return layout_.part(parameters_, which); }

  ReasoningLayout layout_;
  const T* parameters_;
  LayerNorm<T> norm_;
  Matrix<T> inputs_, keys_, values_;
  Vector<T> query_;
};

template <Real T>
TokenTables<T>::TokenTables(const ReasoningLayout& layout, const T* parameters)
    : layout_(layout), parameters_(parameters) {
  const ReasoningShape& shape = layout.shape();
  const Eigen::Index tokens = shape.tokens(), head_width = shape.head_width();
  Matrix<T> embedded(shape.width, tokens);
  for (int position = 0; position < ReasoningShape::positions; ++position) {
    embedded.middleCols(position * shape.values(), shape.values()) =
        part(TransformerPart::embedding).colwise() + part(TransformerPart::position_embedding).col(position);
  }
  embedded.col(tokens - 1) = part(TransformerPart::class_token);
  norm_.apply(embedded, part(TransformerPart::attention_norm_gain), part(TransformerPart::attention_norm_shift),
              inputs_);
  query_.noalias() = part(TransformerPart::query) * inputs_.col(tokens - 1);
  keys_.noalias() = part(TransformerPart::key) * inputs_;
  values_.noalias() = part(TransformerPart::value) * inputs_;
  scores.resize(tokens, shape.heads);
  mixed.resize(shape.width, shape.heads * tokens);
  for (int head = 0; head < shape.heads; ++head) {
    const Eigen::Index first = head * head_width;
    scores.col(head).noalias() = keys_.middleRows(first, head_width).transpose() * query_.segment(first, head_width);
    mixed.middleCols(head * tokens, tokens).noalias() =
        part(TransformerPart::output).middleCols(first, head_width) * values_.middleRows(first, head_width);
  }
}

template <Real T>
void TokenTables<T>::pull_back(const Matrix<T>& by_scores, const Matrix<T>& by_mixed, T* gradient) const {
  const ReasoningShape& shape = layout_.shape();
  const Eigen::Index tokens = shape.tokens(), head_width = shape.head_width();
  const auto out = [&](TransformerPart which) { return layout_.part(gradient, which); };
  Matrix<T> by_keys(shape.width, tokens), by_values(shape.width, tokens);
  Vector<T> by_query(shape.width);
  for (int head = 0; head < shape.heads; ++head) {
    const Eigen::Index first = head * head_width;
    const Matrix<T> mix = by_mixed.middleCols(head * tokens, tokens);
    by_keys.middleRows(first, head_width).noalias() =
        query_.segment(first, head_width) * by_scores.col(head).transpose();
    by_query.segment(first, head_width).noalias() = keys_.middleRows(first, head_width) * by_scores.col(head);
    by_values.middleRows(first, head_width).noalias() =
        part(TransformerPart::output).middleCols(first, head_width).transpose() * mix;
    out(TransformerPart::output).middleCols(first, head_width).noalias() +=
        mix * values_.middleRows(first, head_width).transpose();
  }
  out(TransformerPart::key).noalias() += by_keys * inputs_.transpose();
  out(TransformerPart::value).noalias() += by_values * inputs_.transpose();
  out(TransformerPart::query).noalias() += by_query * inputs_.col(tokens - 1).transpose();
  Matrix<T> by_tokens = part(TransformerPart::key).transpose() * by_keys;
  by_tokens.noalias() += part(TransformerPart::value).transpose() * by_values;
  by_tokens.col(tokens - 1).noalias() += part(TransformerPart::query).transpose() * by_query;
  norm_.pull_back(part(TransformerPart::attention_norm_gain), out(TransformerPart::attention_norm_gain),
                  out(TransformerPart::attention_norm_shift), by_tokens);
  for (int position = 0; position < ReasoningShape::positions; ++position) {
    const auto own = by_tokens.middleCols(position * shape.values(), shape.values());
    out(TransformerPart::embedding) += own;
    out(TransformerPart::position_embedding).col(position) += own.rowwise().sum();
  }
  out(TransformerPart::class_token) += by_tokens.col(tokens - 1);
}

}  // namespace incontext::training::detail
