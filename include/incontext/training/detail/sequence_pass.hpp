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
#include "incontext/training/detail/layer_norm.hpp"
#include "incontext/training/learned_map.hpp"
#include "incontext/training/sequence_examples.hpp"
#include "incontext/training/sequence_layout.hpp"

namespace incontext::training::detail {

using numerics::Matrix;

/// Causal attention of several heads over a block of sequences, forward and back. Token t of a sequence sees the tokens
/// up to t, so that its row of scores has t + 1 entries.
///
/// Shapes    queries, keys, values, mixed: width x tokens; scores, attention: length x (length per sequence and head),
///           a query's row is a column; slopes: length x length, by_keys: width of a head x length, scratch: length
template <TrainableMap Map>
struct CausalAttention {
  using T = typename Map::value_type;

  Matrix<T> queries, keys, values, mixed;
  Matrix<T> scores, attention;
  Matrix<T> slopes, by_keys;  ///< of backward(), one head and sequence at a time
  Eigen::Matrix<T, Eigen::Dynamic, 1> scratch;
  int map_parameters = 0;
  Eigen::Index length = 0;

  void forward(std::span<const Map> maps, const T* trained, int parameters, Eigen::Index sequence_length) {
    map_parameters = parameters;
    length = sequence_length;
    const Eigen::Index count = queries.cols() / length * std::ssize(maps);
    scores.resize(length, length * count);
    attention.setZero(length, length * count);
    mixed.resize(queries.rows(), queries.cols());
    each_head(maps, trained, [&](const Map& map, const T* own, Eigen::Index row, Eigen::Index token, Eigen::Index at) {
      auto head_scores = scores.middleCols(at, length);
      head_scores.noalias() = block(keys, row, token).transpose() * block(queries, row, token);
      for (Eigen::Index t = 0; t < length; ++t) {
        map.apply(own, scoring::Row<const T>(&scores(0, at + t), t + 1), scoring::Row<T>(&attention(0, at + t), t + 1));
      }
      block(mixed, row, token).noalias() = block(values, row, token) * attention.middleCols(at, length);
    });
  }

  /// Replaces queries, keys and values with the gradients by them, and adds the gradient by the maps' trained numbers.
  void backward(std::span<const Map> maps, const T* trained, const Matrix<T>& by_mixed, T* by_trained) {
    slopes.resize(length, length);
    scratch.resize(length);
    each_head(maps, trained, [&](const Map& map, const T* own, Eigen::Index row, Eigen::Index token, Eigen::Index at) {
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
  void each_head(std::span<const Map> maps, const T* trained, const Visit& visit) {
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
template <TrainableMap Map>
struct SequenceMemory {
  using T = typename Map::value_type;
  struct Layer {
    LayerNorm<T> attention_norm, mlp_norm;
    Matrix<T> input, mlp_input, hidden;
    CausalAttention<Map> attention;
  };
  std::vector<Layer> layers;
  LayerNorm<T> final_norm;
  Matrix<T> residual;                       ///< backward() replaces it with the gradient by it
  Matrix<T> head_input, outputs;            ///< add_loss() replaces the outputs with the gradient by them
  Matrix<T> by_hidden, by_mixed, by_input;  ///< gradients in the layer that backward() is in
};

/// One block of sequences through a transformer and back. Tokens are columns, sequence after sequence.
template <TrainableMap Map>
class SequencePass {
 public:
  using T = typename Map::value_type;

  SequencePass(const SequenceLayout& layout, std::span<const Map> maps, const T* parameters,
               const SequenceExamples<T>& examples, SequenceMemory<Map>& memory)
      : layout_(layout), maps_(maps), parameters_(parameters), examples_(examples), memory_(memory) {}

  /// The outputs, one column per token.
  const Matrix<T>& forward() {
    memory_.layers.resize(static_cast<std::size_t>(shape().layers));
    memory_.residual.noalias() = part(SequencePart::embedding) * examples_.features;
    for (int i = 0; i < shape().layers; ++i) {
      Layer& layer = memory_.layers[static_cast<std::size_t>(i)];
      attend(layer, i);
      if (shape().hidden > 0) perceive(layer, i);
    }
    normalize(memory_.final_norm, memory_.residual, SequencePart::final_norm_gain, 0, memory_.head_input);
    memory_.outputs.noalias() = part(SequencePart::head) * memory_.head_input;
    memory_.outputs.colwise() += part(SequencePart::head_bias).col(0);
    return memory_.outputs;
  }

  /// Adds the loss of every sequence, and turns the outputs into the loss's gradient.
  void add_loss(SequenceLoss loss, SequenceSums<T>& sums) {
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

  /// Adds the gradients by all parameters, after add_loss.
  void backward(T* gradient) {
    const auto out = [&](SequencePart which, int layer = 0) { return layout_.part(gradient, which, layer); };
    auto& [layers, final_norm, residual, head_input, outputs, by_hidden, by_mixed, by_input] = memory_;
    out(SequencePart::head).noalias() += outputs * head_input.transpose();
    out(SequencePart::head_bias) += outputs.rowwise().sum();
    residual.noalias() = part(SequencePart::head).transpose() * outputs;
    normalize_back(final_norm, SequencePart::final_norm_gain, 0, gradient, residual);
    for (int i = shape().layers; i-- > 0;) {
      Layer& layer = layers[static_cast<std::size_t>(i)];
      if (shape().hidden > 0) {
        out(SequencePart::mlp_out, i).noalias() += residual * layer.hidden.transpose();
        out(SequencePart::mlp_out_bias, i) += residual.rowwise().sum();
        by_hidden.noalias() = part(SequencePart::mlp_out, i).transpose() * residual;
        by_hidden.array() *= (layer.hidden.array() > T(0)).template cast<T>();
        out(SequencePart::mlp_in, i).noalias() += by_hidden * layer.mlp_input.transpose();
        out(SequencePart::mlp_in_bias, i) += by_hidden.rowwise().sum();
        by_input.noalias() = part(SequencePart::mlp_in, i).transpose() * by_hidden;
        normalize_back(layer.mlp_norm, SequencePart::mlp_norm_gain, i, gradient, by_input);
        residual += by_input;
      }
      out(SequencePart::output, i).noalias() += residual * layer.attention.mixed.transpose();
      by_mixed.noalias() = part(SequencePart::output, i).transpose() * residual;
      layer.attention.backward(maps_, trained(i), by_mixed, out(SequencePart::map, i).data());
      out(SequencePart::query, i).noalias() += layer.attention.queries * layer.input.transpose();
      out(SequencePart::key, i).noalias() += layer.attention.keys * layer.input.transpose();
      out(SequencePart::value, i).noalias() += layer.attention.values * layer.input.transpose();
      by_input.noalias() = part(SequencePart::query, i).transpose() * layer.attention.queries;
      by_input.noalias() += part(SequencePart::key, i).transpose() * layer.attention.keys;
      by_input.noalias() += part(SequencePart::value, i).transpose() * layer.attention.values;
      normalize_back(layer.attention_norm, SequencePart::attention_norm_gain, i, gradient, by_input);
      residual += by_input;
    }
    out(SequencePart::embedding).noalias() += residual * examples_.features.transpose();
  }

 private:
  using Layer = typename SequenceMemory<Map>::Layer;

  [[nodiscard]] const SequenceShape& shape() const { return layout_.shape(); }
  [[nodiscard]] auto part(SequencePart which, int layer = 0) const { return layout_.part(parameters_, which, layer); }
  [[nodiscard]] const T* trained(int layer) const { return part(SequencePart::map, layer).data(); }
  /// The part that follows a gain.
  static SequencePart shift_of(SequencePart gain) { return SequencePart{static_cast<int>(gain) + 1}; }

  void normalize(LayerNorm<T>& norm, const Matrix<T>& columns, SequencePart gain, int layer, Matrix<T>& out) const {
    if (shape().norms == LayerNorms::none) {
      out = columns;
    } else {
      norm.apply(columns, part(gain, layer), part(shift_of(gain), layer), out);
    }
  }
  void normalize_back(const LayerNorm<T>& norm, SequencePart gain, int layer, T* gradient, Matrix<T>& by_out) const {
    if (shape().norms == LayerNorms::none) return;
    norm.pull_back(part(gain, layer), layout_.part(gradient, gain, layer),
                   layout_.part(gradient, shift_of(gain), layer), by_out);
  }

  void attend(Layer& layer, int i) {
    normalize(layer.attention_norm, memory_.residual, SequencePart::attention_norm_gain, i, layer.input);
    layer.attention.queries.noalias() = part(SequencePart::query, i) * layer.input;
    layer.attention.keys.noalias() = part(SequencePart::key, i) * layer.input;
    layer.attention.values.noalias() = part(SequencePart::value, i) * layer.input;
    layer.attention.forward(maps_, trained(i), shape().map_parameters, examples_.length);
    memory_.residual.noalias() += part(SequencePart::output, i) * layer.attention.mixed;
  }

  void perceive(Layer& layer, int i) {
    normalize(layer.mlp_norm, memory_.residual, SequencePart::mlp_norm_gain, i, layer.mlp_input);
    layer.hidden.noalias() = part(SequencePart::mlp_in, i) * layer.mlp_input;
    layer.hidden.colwise() += part(SequencePart::mlp_in_bias, i).col(0);
    layer.hidden = layer.hidden.cwiseMax(T(0));
    memory_.residual.noalias() += part(SequencePart::mlp_out, i) * layer.hidden;
    memory_.residual.colwise() += part(SequencePart::mlp_out_bias, i).col(0);
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
  std::span<const Map> maps_;
  const T* parameters_;
  const SequenceExamples<T>& examples_;
  SequenceMemory<Map>& memory_;
};

}  // namespace incontext::training::detail
