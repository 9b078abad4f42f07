#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/classification/voted_prediction.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// The four weight matrices of a layer on the system that runs the trials, by rows.
///
/// Shapes    width x width each; width = d + k
/// Runs on   host and device
template <class T>
struct ContextMatrices {
  const T* query;
  const T* key;
  const T* value;
  const T* projection;
  int width;
};

/// Scores that are inner products of keys and queries, and become weights as they are, by the exponential, or by
/// softmax over the keys.
///
/// Source    arXiv 2510.10425, Section 2.2; scale: 1 for the first two, 1/sqrt(d + k) for softmax.
/// Runs on   host and device
template <class T>
struct DotActivation {
  enum class Kind { identity, exponential, softmax };
  Kind kind;
  T scale;

  INCONTEXT_HD bool is_softmax() const { return kind == Kind::softmax; }

  template <int W>
  INCONTEXT_HD Lanes<T, W> operator()(LaneArray<T, W> query, LaneArray<T, W> key, int width) const {
    const Lanes<T, W> score = scale * dot(query, key, width);
    if (kind != Kind::exponential) return score;
    return Lanes<T, W>::each([&](int lane) { return elementary::exp(score[lane]); });
  }
};

/// The radial kernel of unit width between keys and queries.
///
/// \f[ e^{-|q - k|^2 / 2} \f]
///
/// Source    arXiv 2510.10425, Section 3.3.
/// Runs on   host and device
template <class T>
struct RadialActivation {
  INCONTEXT_HD static bool is_softmax() { return false; }

  template <int W>
  INCONTEXT_HD Lanes<T, W> operator()(LaneArray<T, W> query, LaneArray<T, W> key, int width) const {
    Lanes<T, W> square(T(0));
    for (int i = 0; i < width; ++i) {
      const Lanes<T, W> apart = query[i] - key[i];
      add_product(square, apart, apart);
    }
    return Lanes<T, W>::each([&](int lane) { return elementary::exp(T(-0.5) * square[lane]); });
  }
};

/// Each trial applies a layer of attention to a context of the sphere task, literally: the tokens (x_j; y_j) and (x; 0)
/// are built, multiplied by four weight matrices, attended to, summed and projected, and the last k numbers are the
/// logits. The trial uses no gradient descent, votes or closed forms, and so can judge them.
///
/// \f[ a_j = \mathrm{act}(W_Q e_q, W_K e_j),\qquad z = \bigl(W_P \sum_j a_j W_V e_j\bigr)_y \f]
///
/// `Activation` maps a query, a key (arrays of `width` Lanes) and the width to a weight, so that any kernel K(q, k) of
/// yours is one; where is_softmax() it returns a score, and softmax over the keys follows.
///
/// Source    arXiv 2510.10425, Section 2.2.
/// Shapes    6 values, in the order of ContextAttentionMetric.
/// Units     nats.
/// Domain    as SphereTaskDraw; width = dimension + classes.
/// Accuracy  trial by trial against classification::context_attention:
///           tests/simulate/classification/context_attention.cpp.
/// Runs on   host and device
template <class T, class Activation>
struct ContextAttentionTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 256;
  static constexpr std::string_view grows_with = "context_length x (dimension + classes)";
  SphereTaskDraw<T> task;
  ContextMatrices<T> weights;
  Activation activation;
  QueryToken query_token;

  INCONTEXT_HD int outputs() const { return detail::context_attention_metrics; }
  INCONTEXT_HD std::int64_t keys() const { return task.context_length + (query_token == QueryToken::included ? 1 : 0); }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    const std::int64_t width = weights.width;
    return task.rows() + (task.context_length + 1) * width + keys() + 5 * width + 2 * std::int64_t{task.classes};
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const int width = weights.width;
    const auto context = scratch.take(task.rows()), tokens = scratch.take((task.context_length + 1) * width),
               attention = scratch.take(keys()), sum = scratch.take(width), output = scratch.take(width);
    task.draw(trials, context);
    build_tokens(context, tokens);
    attend(tokens, attention, scratch);
    fill(sum, width, T(0));
    const auto value = scratch;
    for (std::int64_t j = 0; j < keys() && !stop_requested(); ++j) {
      multiply(value, weights.value, tokens.after(j * width), width);
      for (int i = 0; i < width; ++i) add_product(sum[i], attention[j], value[i]);
    }
    multiply(output, weights.projection, sum, width);
    measure(output.after(task.dimension), task.query_label(context), scratch, values);
  }

 private:
  /// Token after token, its input and then its one-hot label; the query's last, its label 0.
  template <int W>
  INCONTEXT_HD void build_tokens(LaneArray<T, W> context, LaneArray<T, W> tokens) const {
    const int d = task.dimension, width = weights.width;
    for (std::int64_t j = 0; j <= task.context_length && !stop_requested_at(j); ++j) {
      const auto token = tokens.after(j * width);
      const bool is_query = j == task.context_length;
      const auto input = is_query ? task.query(context) : task.point(context, j);
      for (int i = 0; i < d; ++i) token[i] = input[i];
      fill(token.after(d), task.classes, T(0));
      for (int lane = 0; lane < W && !is_query; ++lane) token[d + label_of(context, j, lane)][lane] = T(1);
    }
  }

  template <int W>
  INCONTEXT_HD int label_of(LaneArray<T, W> context, std::int64_t j, int lane) const {
    if (task.law == ContextLaw::balanced) return static_cast<int>(j / task.class_size());
    return static_cast<int>(context[task.labels_row() + j][lane]);
  }

  template <int W>
  INCONTEXT_HD void attend(LaneArray<T, W> tokens, LaneArray<T, W> attention, LaneArray<T, W> scratch) const {
    const int width = weights.width;
    const auto query = scratch.take(width), key = scratch.take(width);
    multiply(query, weights.query, tokens.after(task.context_length * width), width);
    Lanes<T, W> largest(T(0)), total(T(0));
    for (std::int64_t j = 0; j < keys() && !stop_requested(); ++j) {
      multiply(key, weights.key, tokens.after(j * width), width);
      attention[j] = activation(query, key, width);
      largest = j == 0 ? attention[j] : larger(largest, attention[j]);
    }
    if (!activation.is_softmax()) return;
    for (std::int64_t j = 0; j < keys(); ++j) {
      Lanes<T, W>& weight = attention[j];
      for (int lane = 0; lane < W; ++lane) weight[lane] = elementary::exp(weight[lane] - largest[lane]);
      total += weight;
    }
    for (std::int64_t j = 0; j < keys(); ++j) attention[j] /= total;
  }

  template <int W>
  INCONTEXT_HD void measure(LaneArray<T, W> read, const Lanes<T, W>& label, LaneArray<T, W> scratch,
                            LaneArray<T, W> values) const {
    using Metric = ContextAttentionMetric;
    const int k = task.classes;
    const auto logits = scratch.take(k), probabilities = scratch.take(k);
    const auto outcome = detail::VotedPrediction<T>{task}.predict(read, T(1), label, logits, probabilities);
    const auto of_label = [&](LaneArray<T, W> numbers) {
      return Lanes<T, W>::each([&](int lane) { return numbers[static_cast<int>(label[lane])][lane]; });
    };
    Lanes<T, W> others(T(0));
    for (int c = 0; c < k; ++c) others += read[c];
    const Lanes<T, W> own = of_label(read), margin = own - (others - own) / static_cast<T>(k - 1);
    values[Metric::loss] = outcome.log_sum - of_label(logits);
    values[Metric::accuracy] = outcome.is_right;
    values[Metric::entropy] = outcome.log_sum - dot(probabilities, logits, k);
    values[Metric::probability] = of_label(probabilities);
    values[Metric::margin] = margin;
    values[Metric::squared_margin] = margin * margin;
  }
};

}  // namespace incontext::simulate
