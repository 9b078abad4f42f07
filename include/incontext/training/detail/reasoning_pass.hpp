#pragma once

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/training/detail/head_map.hpp"
#include "incontext/training/detail/reasoning_sums.hpp"
#include "incontext/training/detail/token_tables.hpp"
#include "incontext/training/detail/transformer_block.hpp"
#include "incontext/training/reasoning_layout.hpp"
#include "incontext/training/reasoning_task.hpp"

namespace incontext::training::detail {

inline constexpr std::ptrdiff_t piece = 32;

/// Calls act(first, size) for every piece of `length` numbers; size is a constant but for the last piece.
template <class Act>
void each_piece(std::ptrdiff_t length, const Act& act) {
  std::ptrdiff_t first = 0;
  for (; first + piece <= length; first += piece) act(first, std::integral_constant<std::ptrdiff_t, piece>());
  if (first < length) act(first, length - first);
}

/// out += sum_k factors[k] columns[k]
template <Real T>
void add_weighted_columns(const T* const* columns, const T* factors, std::ptrdiff_t count, std::ptrdiff_t length,
                          T* out) {
  each_piece(length, [&](std::ptrdiff_t first, auto size) {
    T sum[piece];
    for (std::ptrdiff_t i = 0; i < size; ++i) sum[i] = out[first + i];
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const T factor = factors[k];
      const T* const column = columns[k] + first;
      for (std::ptrdiff_t i = 0; i < size; ++i) sum[i] += factor * column[i];
    }
    for (std::ptrdiff_t i = 0; i < size; ++i) out[first + i] = sum[i];
  });
}

/// sums[k] += factors[k] direction, for every k
template <Real T>
void add_to_columns(const T* direction, const T* factors, std::ptrdiff_t count, std::ptrdiff_t length, T* const* sums) {
  each_piece(length, [&](std::ptrdiff_t first, auto size) {
    T own[piece];
    for (std::ptrdiff_t i = 0; i < size; ++i) own[i] = direction[first + i];
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const T factor = factors[k];
      T* const sum = sums[k] + first;
      for (std::ptrdiff_t i = 0; i < size; ++i) sum[i] += factor * own[i];
    }
  });
}

/// One pass of a block of examples through a reasoning transformer and back. Examples are columns.
///
/// Shapes    attention, scores: 5 x (heads x examples), column e heads + h
template <Real T>
class ReasoningPass {
 public:
  ReasoningPass(const TokenTables<T>& tables, const HeadMap<T>& map, std::span<const ReasoningExample> examples)
      : tables_(tables), parts_(tables.parts()), map_(map), shape_(tables.layout().shape()), examples_(examples) {}

  /// Adds the examples' loss and accuracy.
  void forward(ReasoningSums<T>& sums);

  /// Adds the entropies of the class token's attention, after forward.
  void add_entropy(ReasoningSums<T>& sums) const;

  /// Adds the gradients, after forward.
  void backward(ReasoningSums<T>& sums);

 private:
  static constexpr int row_length = ReasoningShape::row_length;

  /// The numbers of an example's tokens.
  [[nodiscard]] std::array<Eigen::Index, row_length> tokens_of(const ReasoningExample& example) const {
    std::array<Eigen::Index, row_length> tokens;
    for (int p = 0; p < ReasoningShape::positions; ++p) {
      tokens[static_cast<std::size_t>(p)] = p * shape_.values() + example.values[static_cast<std::size_t>(p)];
    }
    tokens.back() = shape_.tokens() - 1;
    return tokens;
  }

  void attend() {
    const auto count = static_cast<Eigen::Index>(examples_.size());
    scores_.resize(row_length, shape_.heads * count);
    attention_.resize(row_length, shape_.heads * count);
    residual_.resize(shape_.width, count);
    columns_.resize(static_cast<std::size_t>(shape_.heads * row_length));
    for (Eigen::Index e = 0; e < count; ++e) {
      const auto tokens = tokens_of(examples_[static_cast<std::size_t>(e)]);
      for (int head = 0; head < shape_.heads; ++head) {
        T* const scores = &scores_(0, e * shape_.heads + head);
        T* const attention = &attention_(0, e * shape_.heads + head);
        for (int j = 0; j < row_length; ++j) {
          const Eigen::Index token = tokens[static_cast<std::size_t>(j)];
          scores[j] = tables_.scores(token, head);
          columns_[static_cast<std::size_t>(head * row_length + j)] = &tables_.mixed(0, head * shape_.tokens() + token);
        }
        map_.apply(nullptr, scoring::Row<const T>(scores, row_length), scoring::Row<T>(attention, row_length));
      }
      residual_.col(e) = parts_(TransformerPart::class_token);
      add_weighted_columns<T>(columns_.data(), &attention_(0, e * shape_.heads), shape_.heads * row_length,
                              shape_.width, &residual_(0, e));
    }
  }

  void attend_back(const Matrix<T>& residual, ReasoningSums<T>& sums) {
    std::vector<T*> gradients(columns_.size());
    std::vector<T> slopes(columns_.size());
    for (Eigen::Index e = 0; e < residual.cols(); ++e) {
      const auto tokens = tokens_of(examples_[static_cast<std::size_t>(e)]);
      for (int head = 0; head < shape_.heads; ++head) {
        T* const slope = slopes.data() + head * row_length;
        for (int j = 0; j < row_length; ++j) {
          const Eigen::Index column = head * shape_.tokens() + tokens[static_cast<std::size_t>(j)];
          slope[j] = tables_.mixed.col(column).dot(residual.col(e));
          gradients[static_cast<std::size_t>(head * row_length + j)] = &sums.by_mixed(0, column);
        }
        const scoring::Row<const T> scores(&scores_(0, e * shape_.heads + head), row_length);
        const scoring::Row<T> row(slope, row_length);
        map_.pull_back(nullptr, scores, row, row, nullptr);
        for (int j = 0; j < row_length; ++j) sums.by_scores(tokens[static_cast<std::size_t>(j)], head) += slope[j];
      }
      add_to_columns<T>(&residual(0, e), &attention_(0, e * shape_.heads), shape_.heads * row_length, shape_.width,
                        gradients.data());
    }
  }

  /// Turns logits into chances, and adds the loss and the accuracy.
  void predict(ReasoningSums<T>& sums) {
    using std::log;
    using Wide = typename ReasoningSums<T>::Wide;
    for (Eigen::Index e = 0; e < chances_.cols(); ++e) {
      const ReasoningExample& example = examples_[static_cast<std::size_t>(e)];
      auto column = chances_.col(e);
      Eigen::Index best = 0;
      const T largest = column.maxCoeff(&best);
      column.array() -= largest;
      const T at_c = column[example.values[2]], at_d = column[example.values[3]];
      column = column.array().exp();
      const T total = column.sum();
      column /= total;
      const auto chance = static_cast<T>(example.chance_of_c);
      const auto loss = static_cast<Wide>(log(total) - (chance * at_c + (T(1) - chance) * at_d));
      sums.loss += loss;
      sums.losses = merge(sums.losses, {.count = 1, .mean = static_cast<double>(loss)});
      if (best == example.values[2]) sums.accuracy += static_cast<Wide>(example.chance_of_c);
      if (best == example.values[3]) sums.accuracy += static_cast<Wide>(1 - example.chance_of_c);
    }
  }

  const TokenTables<T>& tables_;
  LayerParts<const T> parts_;
  HeadMap<T> map_;
  ReasoningShape shape_;
  std::span<const ReasoningExample> examples_;
  std::vector<const T*> columns_;
  Perceptron<T> perceptron_;
  ReadOut<T> read_out_;
  Matrix<T> scores_, attention_, residual_, chances_;
};

template <Real T>
void ReasoningPass<T>::forward(ReasoningSums<T>& sums) {
  attend();
  perceptron_.forward(parts_, residual_);
  read_out_.forward(parts_, residual_, chances_);
  predict(sums);
}

template <Real T>
void ReasoningPass<T>::add_entropy(ReasoningSums<T>& sums) const {
  using std::log;
  for (Eigen::Index i = 0; i < attention_.size(); ++i) {
    const T a = attention_.data()[i];
    if (T(0) < a) sums.entropy[static_cast<std::size_t>(i / row_length % shape_.heads)] -= a * log(a);
  }
}

template <Real T>
void ReasoningPass<T>::backward(ReasoningSums<T>& sums) {
  Matrix<T>& error = chances_;
  for (std::size_t e = 0; e < examples_.size(); ++e) {
    const auto column = static_cast<Eigen::Index>(e);
    const auto chance = static_cast<T>(examples_[e].chance_of_c);
    error(examples_[e].values[2], column) -= chance;
    error(examples_[e].values[3], column) -= T(1) - chance;
  }
  const LayerParts<T> gradient{tables_.layout(), sums.gradient.data()};
  Matrix<T> residual;
  typename Perceptron<T>::Scratch scratch;
  read_out_.backward(parts_, gradient, error, residual);
  perceptron_.backward(parts_, gradient, residual, scratch);
  gradient(TransformerPart::class_token) += residual.rowwise().sum();
  attend_back(residual, sums);
}

}  // namespace incontext::training::detail
