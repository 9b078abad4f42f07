#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/training/detail/head_map.hpp"
#include "incontext/training/detail/transformer_block.hpp"
#include "incontext/training/sequence_examples.hpp"
#include "incontext/training/sequence_layout.hpp"

namespace incontext::training::detail {

using numerics::Matrix;

/// Causal attention of several heads over a block of sequences, forward and back. Token t of a sequence sees the tokens
/// up to t, so that its row of scores has t + 1 entries.
///
/// Shapes    queries, keys, values, mixed: width x tokens; scores, attention: length x (length per sequence and head),
///           a query's row is a column; slopes: length x length, by_keys: width of a head x length, scratch: length
template <Real T>
struct CausalAttention {
  Matrix<T> queries, keys, values, mixed;
  Matrix<T> scores, attention;
  Matrix<T> slopes, by_keys;  ///< of backward(), one head and sequence at a time
  Eigen::Matrix<T, Eigen::Dynamic, 1> scratch;
  int map_parameters = 0;
  Eigen::Index length = 0;

  void forward(std::span<const HeadMap<T>> maps, const T* trained, int parameters, Eigen::Index sequence_length) {
    map_parameters = parameters;
    length = sequence_length;
    const Eigen::Index count = queries.cols() / length * std::ssize(maps);
    scores.resize(length, length * count);
    attention.setZero(length, length * count);
    mixed.resize(queries.rows(), queries.cols());
    each_head(maps, trained,
              [&](const HeadMap<T>& map, const T* own, Eigen::Index row, Eigen::Index token, Eigen::Index at) {
                auto head_scores = scores.middleCols(at, length);
                head_scores.noalias() = block(keys, row, token).transpose() * block(queries, row, token);
                for (Eigen::Index t = 0; t < length; ++t) {
                  map.apply(own, scoring::Row<const T>(&scores(0, at + t), t + 1),
                            scoring::Row<T>(&attention(0, at + t), t + 1));
                }
                block(mixed, row, token).noalias() = block(values, row, token) * attention.middleCols(at, length);
              });
  }

  /// Replaces queries, keys and values with the gradients by them, and adds the gradient by the maps' trained numbers.
  void backward(std::span<const HeadMap<T>> maps, const T* trained, const Matrix<T>& by_mixed, T* by_trained) {
    slopes.resize(length, length);
    scratch.resize(length);
    each_head(
        maps, trained, [&](const HeadMap<T>& map, const T* own, Eigen::Index row, Eigen::Index token, Eigen::Index at) {
          const auto upstream = by_mixed.block(row, token, head_width(), length);
          slopes.noalias() = block(values, row, token).transpose() * upstream;
          for (Eigen::Index t = 0; t < length; ++t) {
            map.pull_back(own, scoring::Row<const T>(&scores(0, at + t), t + 1), scoring::Row<T>(&slopes(0, t), t + 1),
                          scoring::Row<T>(scratch.data(), t + 1), by_trained + (own - trained));
            slopes.col(t).tail(length - t - 1).setZero();
          }
          block(values, row, token).noalias() = upstream * attention.middleCols(at, length).transpose();
          by_keys.noalias() = block(queries, row, token) * slopes.transpose();
          block(queries, row, token) = block(keys, row, token) * slopes;
          block(keys, row, token) = by_keys;
        });
  }

 private:
  [[nodiscard]] Eigen::Index head_width() const { return head_width_; }
  [[nodiscard]] auto block(Matrix<T>& of, Eigen::Index row, Eigen::Index token) const {
    return of.block(row, token, head_width(), length);
  }

  /// Calls visit(map, its trained numbers, first row, first token, first column of scores) for every sequence and head.
  template <class Visit>
  void each_head(std::span<const HeadMap<T>> maps, const T* trained, const Visit& visit) {
    const Eigen::Index heads = std::ssize(maps);
    head_width_ = queries.rows() / heads;
    for (Eigen::Index s = 0; s < queries.cols() / length; ++s) {
      for (Eigen::Index h = 0; h < heads; ++h) {
        visit(maps[static_cast<std::size_t>(h)], trained + h * map_parameters, h * head_width_, s * length,
              (s * heads + h) * length);
      }
    }
  }

  Eigen::Index head_width_ = 0;
};

/// Sums over sequences. The sums of blocks are added in the order of the blocks, so that the bits do not depend on
/// which thread computed them.
template <Real T>
struct SequenceSums {
  using Wide = std::common_type_t<T, double>;
  Wide loss = 0, hits = 0, weight = 0;
  statistics::Moments losses;
  std::vector<T> gradient;

  /// 0 everywhere, for this many parameters.
  void start(std::size_t parameters) {
    loss = hits = weight = 0;
    losses = {};
    gradient.assign(parameters, T(0));
  }

  void add(const SequenceSums& other) {
    loss += other.loss;
    losses = merge(losses, other.losses);
    hits += other.hits;
    weight += other.weight;
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += other.gradient[i];
  }
};

/// The intermediate matrices of a pass. They are kept from block to block, because allocating them anew takes a
/// considerable part of the time.
template <Real T>
struct SequenceMemory {
  struct Layer {
    LayerNorm<T> attention_norm;
    Matrix<T> input;
    CausalAttention<T> attention;
    Perceptron<T> perceptron;
  };
  std::vector<Layer> layers;
  ReadOut<T> read_out;
  Matrix<T> residual;            ///< backward() replaces it with the gradient by it
  Matrix<T> outputs;             ///< add_loss() replaces them with the gradient by them
  Matrix<T> by_mixed, by_input;  ///< gradients in the layer that backward() is in
  typename Perceptron<T>::Scratch by_perceptron;
};

/// One block of sequences through a transformer and back. Tokens are columns, sequence after sequence.
template <Real T>
class SequencePass {
 public:
  SequencePass(const SequenceLayout& layout, std::span<const HeadMap<T>> maps, const T* parameters,
               const SequenceExamples<T>& examples, SequenceMemory<T>& memory)
      : layout_(layout), maps_(maps), parameters_(parameters), examples_(examples), memory_(memory) {}

  /// The outputs, one column per token.
  const Matrix<T>& forward();

  /// Adds the loss of every sequence, and turns the outputs into the loss's gradient.
  void add_loss(SequenceLoss loss, SequenceSums<T>& sums);

  /// Adds the gradients by all parameters, after add_loss.
  void backward(T* gradient);

 private:
  using Layer = typename SequenceMemory<T>::Layer;

  [[nodiscard]] const SequenceShape& shape() const { return layout_.shape(); }
  [[nodiscard]] LayerParts<const T> parts(int layer) const { return {layout_, parameters_, layer}; }

  void attend(Layer& layer, int i) {
    using enum TransformerPart;
    const LayerParts<const T> part = parts(i);
    layer.attention_norm.apply(memory_.residual, part(attention_norm_gain), part(attention_norm_shift), layer.input);
    layer.attention.queries.noalias() = part(query) * layer.input;
    layer.attention.keys.noalias() = part(key) * layer.input;
    layer.attention.values.noalias() = part(value) * layer.input;
    layer.attention.forward(maps_, part(map).data(), shape().map_parameters, examples_.length);
    memory_.residual.noalias() += part(output) * layer.attention.mixed;
  }

  T squared_error(Eigen::Index j) {
    memory_.outputs.col(j) -= examples_.targets.col(j);
    const T loss = memory_.outputs.col(j).squaredNorm();
    memory_.outputs.col(j) *= T(2);
    return loss;
  }

  T cross_entropy(Eigen::Index j, SequenceSums<T>& sums) {
    using std::log;
    auto column = memory_.outputs.col(j);
    const auto target = examples_.targets.col(j);
    Eigen::Index best = 0;
    const T largest = column.maxCoeff(&best);
    sums.hits += static_cast<typename SequenceSums<T>::Wide>(T(examples_.weights[j] * target[best]));
    column.array() -= largest;
    const T expected = column.dot(target);
    column = column.array().exp();
    const T total = column.sum();
    column = column / total - target;
    return log(total) - expected;
  }

  const SequenceLayout& layout_;
  std::span<const HeadMap<T>> maps_;
  const T* parameters_;
  const SequenceExamples<T>& examples_;
  SequenceMemory<T>& memory_;
};

template <Real T>
const Matrix<T>& SequencePass<T>::forward() {
  memory_.layers.resize(static_cast<std::size_t>(shape().layers));
  memory_.residual.noalias() = parts(0)(TransformerPart::embedding) * examples_.features;
  for (int i = 0; i < shape().layers; ++i) {
    Layer& layer = memory_.layers[static_cast<std::size_t>(i)];
    attend(layer, i);
    if (shape().hidden > 0) layer.perceptron.forward(parts(i), memory_.residual);
  }
  memory_.read_out.forward(parts(0), memory_.residual, memory_.outputs);
  return memory_.outputs;
}

template <Real T>
void SequencePass<T>::add_loss(SequenceLoss loss, SequenceSums<T>& sums) {
  using Wide = typename SequenceSums<T>::Wide;
  Wide of_sequence = 0;
  for (Eigen::Index j = 0; j < memory_.outputs.cols(); ++j) {
    const T weight = examples_.weights[j];
    if (T(0) < weight) {
      const T own = loss == SequenceLoss::squared_error ? squared_error(j) : cross_entropy(j, sums);
      of_sequence += static_cast<Wide>(T(weight * own));
      sums.weight += static_cast<Wide>(weight);
      memory_.outputs.col(j) *= weight;
    } else {
      memory_.outputs.col(j).setZero();
    }
    if ((j + 1) % examples_.length != 0) continue;
    sums.loss += of_sequence;
    sums.losses = merge(sums.losses, {.count = 1, .mean = static_cast<double>(of_sequence)});
    of_sequence = 0;
  }
}

template <Real T>
void SequencePass<T>::backward(T* gradient) {
  using enum TransformerPart;
  auto& [layers, read_out, residual, outputs, by_mixed, by_input, by_perceptron] = memory_;
  read_out.backward(parts(0), {layout_, gradient}, outputs, residual);
  for (int i = shape().layers; i-- > 0;) {
    Layer& layer = layers[static_cast<std::size_t>(i)];
    const LayerParts<const T> part = parts(i);
    const LayerParts<T> out{layout_, gradient, i};
    if (shape().hidden > 0) layer.perceptron.backward(part, out, residual, by_perceptron);
    out(output).noalias() += residual * layer.attention.mixed.transpose();
    by_mixed.noalias() = part(output).transpose() * residual;
    layer.attention.backward(maps_, part(map).data(), by_mixed, out(map).data());
    out(query).noalias() += layer.attention.queries * layer.input.transpose();
    out(key).noalias() += layer.attention.keys * layer.input.transpose();
    out(value).noalias() += layer.attention.values * layer.input.transpose();
    by_input.noalias() = part(query).transpose() * layer.attention.queries;
    by_input.noalias() += part(key).transpose() * layer.attention.keys;
    by_input.noalias() += part(value).transpose() * layer.attention.values;
    layer.attention_norm.pull_back(part(attention_norm_gain), out(attention_norm_gain), out(attention_norm_shift),
                                   by_input);
    residual += by_input;
  }
  layout_.part(gradient, embedding).noalias() += residual * examples_.features.transpose();
}

}  // namespace incontext::training::detail
