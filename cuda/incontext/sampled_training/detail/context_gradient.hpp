#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/sampled_training/detail/each_row.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/classification/voted_prediction.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::training::detail {

using simulate::LaneArray;

/// The parts of a layer's merged matrices on which its logits depend, head after head and row by row: the columns of
/// M = W_K^T W_Q that multiply the query's input, and the rows of P = W_P W_V that give the logits.
///
/// Shapes    per head: key_query (d + k) x d, then output k x (d + k)
/// Runs on   host and device
template <class T>
struct MergedHeads {
  const T* numbers;
  int heads;
  int dimension;
  int classes;

  INCONTEXT_HD int width() const { return dimension + classes; }
  INCONTEXT_HD int key_query_size() const { return width() * dimension; }
  INCONTEXT_HD int head_size() const { return key_query_size() + classes * width(); }
  INCONTEXT_HD int size() const { return heads * head_size(); }
  INCONTEXT_HD const T* key_query(int head) const { return numbers + head * head_size(); }
  INCONTEXT_HD const T* output(int head) const { return key_query(head) + key_query_size(); }
};

/// Each trial of training draws a context of the sphere task, lets the layer predict its query's label, and
/// differentiates the cross entropy by the layer's merged matrices.
///
/// \f[ s_j = \tau\, e_j^T M_h e_q,\quad o_h = \sum_j a_j(s)\, e_j,\quad z = \sum_h P_h o_h,\quad
///     \frac{\partial L}{\partial P_h} = g\, o_h^T,\quad
///     \frac{\partial L}{\partial M_h} = \tau \sum_j r_j e_j\, e_q^T,\quad r = J^T (e_j^T P_h^T g)_j \f]
///
/// with g = softmax(z) - y, the one-hot labels in the tokens e_j = (x_j; y_j), and J the Jacobian of the map a.
///
/// Source    arXiv 2510.10425, Section 2.2; gradients: docs/theory/classification.md#gradients.
/// Shapes    2 + heads.size() values: loss, accuracy, then the gradient in the order of MergedHeads.
/// Units     nats.
/// Domain    balanced contexts.
/// Accuracy  context by context against classification::context_attention: tests/sampled_training/context_training.cpp.
/// Runs on   host and device
template <class T, class Map>
struct ContextGradientTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "context_length x (dimension + heads)";
  simulate::SphereTaskDraw<T> task;
  MergedHeads<T> layer;
  Map map;
  T scale;
  QueryToken query_token;

  static constexpr int measures = 2;

  INCONTEXT_HD int outputs() const { return measures + layer.size(); }
  INCONTEXT_HD std::int64_t keys() const { return task.context_length + (query_token == QueryToken::included ? 1 : 0); }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return task.rows() + layer.heads * (keys() + layer.width()) + 2 * keys() + layer.width() +
           3 * std::int64_t{layer.classes};
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const int k = layer.classes, width = layer.width();
    const auto context = scratch.take(task.rows());
    task.draw(trials, context);
    const auto logits = scratch.take(k), relative = scratch.take(k), error = scratch.take(k),
               token_direction = scratch.take(width), attention = scratch.take(keys()), rows = scratch.take(keys());
    simulate::fill(logits, k, T(0));
    auto heads = scratch;
    for (int head = 0; head < layer.heads && !simulate::stop_requested(); ++head) {
      const auto scores = heads.take(keys()), summary = heads.take(width);
      reach(layer.key_query(head), task.query(context), token_direction);
      along_tokens(context, token_direction, scores);
      each_row(keys(), scores, scores, attention, rows, [&](auto in, auto, auto out) { weights(map, in, out); });
      sum_tokens(context, attention, summary);
      add_logits(layer.output(head), summary, logits);
    }
    const auto& label = task.query_label(context);
    const auto outcome = simulate::detail::VotedPrediction<T>{task}.predict(logits, T(1), label, relative, error);
    values[0] = outcome.log_sum - at_label(relative, label);
    values[1] = outcome.is_right;
    for (int c = 0; c < k; ++c) {
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) error[c][lane] -= label[lane] == number ? T(1) : T(0);
    }
    auto gradient = values.after(measures);
    heads = scratch;
    for (int head = 0; head < layer.heads && !simulate::stop_requested(); ++head) {
      const auto scores = heads.take(keys()), summary = heads.take(width);
      const auto key_query = gradient.take(layer.key_query_size()), output = gradient.take(k * width);
      for (int c = 0; c < k; ++c) {
        for (int i = 0; i < width; ++i) output[c * width + i] = error[c] * summary[i];
      }
      value_direction(layer.output(head), error, token_direction);
      along_tokens(context, token_direction, attention);
      each_row(keys(), scores, attention, attention, rows, [&](auto in, auto up, auto out) { vjp(map, in, up, out); });
      sum_tokens(context, attention, summary);
      for (int i = 0; i < width; ++i) {
        const Lanes<T, W> factor = scale * summary[i];
        for (int m = 0; m < layer.dimension; ++m) key_query[i * layer.dimension + m] = factor * task.query(context)[m];
      }
    }
  }

 private:
  template <int W>
  INCONTEXT_HD static Lanes<T, W> at_label(LaneArray<T, W> numbers, const Lanes<T, W>& label) {
    return Lanes<T, W>::each([&](int lane) { return numbers[static_cast<int>(label[lane])][lane]; });
  }

  /// u = tau M x, whose product with a token is the token's score.
  template <int W>
  INCONTEXT_HD void reach(const T* key_query, LaneArray<T, W> query, LaneArray<T, W> direction) const {
    for (int i = 0; i < layer.width(); ++i) {
      direction[i] = T(0);
      for (int m = 0; m < layer.dimension; ++m) {
        add_scaled(direction[i], key_query[i * layer.dimension + m], query[m]);
      }
      direction[i] *= scale;
    }
  }

  /// v = P^T g, whose product with a token is the derivative of the loss by the token's weight.
  template <int W>
  INCONTEXT_HD void value_direction(const T* output, LaneArray<T, W> error, LaneArray<T, W> direction) const {
    for (int i = 0; i < layer.width(); ++i) {
      direction[i] = T(0);
      for (int c = 0; c < layer.classes; ++c) add_scaled(direction[i], output[c * layer.width() + i], error[c]);
    }
  }

  /// The product of every key token with a direction; the query's token has no label.
  template <int W>
  INCONTEXT_HD void along_tokens(LaneArray<T, W> context, LaneArray<T, W> direction, LaneArray<T, W> products) const {
    const int d = layer.dimension;
    for (std::int64_t j = 0; j < keys(); ++j) {
      const bool is_query = j == task.context_length;
      const auto input = is_query ? task.query(context) : task.point(context, j);
      Lanes<T, W> product = is_query ? Lanes<T, W>(T(0)) : direction[d + j / task.class_size()];
      for (int i = 0; i < d; ++i) add_product(product, direction[i], input[i]);
      products[j] = product;
    }
  }

  /// The sum of all key tokens, each times its coefficient.
  template <int W>
  INCONTEXT_HD void sum_tokens(LaneArray<T, W> context, LaneArray<T, W> coefficients, LaneArray<T, W> sum) const {
    const int d = layer.dimension;
    simulate::fill(sum, layer.width(), T(0));
    for (std::int64_t j = 0; j < keys(); ++j) {
      const bool is_query = j == task.context_length;
      const auto input = is_query ? task.query(context) : task.point(context, j);
      for (int i = 0; i < d; ++i) add_product(sum[i], coefficients[j], input[i]);
      if (!is_query) sum[d + j / task.class_size()] += coefficients[j];
    }
  }

  template <int W>
  INCONTEXT_HD void add_logits(const T* output, LaneArray<T, W> summary, LaneArray<T, W> logits) const {
    for (int c = 0; c < layer.classes; ++c) {
      for (int i = 0; i < layer.width(); ++i) add_scaled(logits[c], output[c * layer.width() + i], summary[i]);
    }
  }
};

}  // namespace incontext::training::detail
