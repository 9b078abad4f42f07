#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/sampled_training/detail/each_row.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/regression_trial.hpp"

namespace incontext::training::detail {

/// Each trial of training draws the task, the examples and the query of RegressionErrorTrial, lets the layer predict,
/// and differentiates the squared error by all that the heads of the layer can learn.
///
/// \f[ s_j = b\, x_j^T M x_q,\quad v_j = v_x^T x_j + v_y y_j,\quad L = e^2,
///     \quad e = \sum_{\text{heads}} \sum_j a_j(s) v_j - y_q \f]
/// \f[ \frac{\partial L}{\partial M} = 2 e b \sum_j r_j x_j x_q^T,\quad
///     \frac{\partial L}{\partial v_x} = 2 e \sum_j a_j x_j,\quad \frac{\partial L}{\partial v_y} = 2 e \sum_j a_j y_j,
///     \quad \frac{\partial L}{\partial b} = 2 e \sum_{\text{heads}} \sum_j r_j x_j^T M x_q,\quad r = J^T v \f]
///
/// with J the Jacobian of the map a. Each of the H = head_count heads has its own M, v_x and v_y. Inputs are kept as
/// their standard normals g_j, x_j = mu + A g_j.
///
/// Source    arXiv 2511.01292 eqs. (5)-(8); gradients: docs/theory/training.md#sampled-gradients.
/// Shapes    1 + H (d^2 + d + 1) + 1 values: the loss, then for each head the gradient by M (by rows), v_x and v_y, then
///           that by b.
/// Units     label units squared, over those of each parameter.
/// Domain    the query excluded.
/// Accuracy  trial by trial against simulate::regression_error and differences of the loss:
///           tests/sampled_training/regression_training.cpp.
/// Random    as RegressionErrorTrial with GaussianTokens: the same seed and trial are the same context.
/// Runs on   host and device
template <class T, class Map>
struct RegressionGradientTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "context_length x dimension";
  simulate::RegressionModel<T> model;         ///< of the draws
  const simulate::RegressionModel<T>* heads;  ///< with the same draws
  int head_count;
  Map map;
  T inverse_temperature;

  INCONTEXT_HD int outputs() const { return 2 + head_count * (model.dimension * (model.dimension + 1) + 1); }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    const std::int64_t n = model.context_length, d = model.dimension;
    return n * (d + 5) + 6 * d + head_count * (2 * d + 1);
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<T, W> scratch,
                        simulate::LaneArray<T, W> values) const {
    using namespace simulate;
    const int d = model.dimension;
    const std::int64_t n = model.context_length;
    const auto task = scratch.take(d), query = scratch.take(d), keyed_query = scratch.take(d);
    const auto score_direction = scratch.take(d), task_direction = scratch.take(d), sum = scratch.take(d);
    const auto weighted = scratch.take(head_count * d), pulled = scratch.take(head_count * d);
    const auto read = scratch.take(head_count);
    const auto inputs = scratch.take(n * d);
    const auto labels = scratch.take(n), tokens = scratch.take(n), scores = scratch.take(n), weight = scratch.take(n),
               rows = scratch.take(n);

    draw_gaussian(task, random::LaneStream(trials, RegressionStream::task), model.task_mean, model.task_factor, d);
    const Lanes<T, W> label = GaussianTokens<T>{}.draw_query(model, trials, task, query);
    draw_normals(inputs, random::LaneStream(trials, RegressionStream::inputs), 0, n * d);
    draw_normals(labels, random::LaneStream(trials, RegressionStream::noise), 0, n);

    multiply_transposed(task_direction, model.input_factor, task, d);
    const Lanes<T, W> label_mean = dot(model.input_mean, task, d);
    for (std::int64_t j = 0; j < n && !stop_requested_at(j); ++j) {
      Lanes<T, W> own_label = label_mean;
      add_scaled(own_label, model.noise_stddev, Lanes<T, W>(labels[j]));
      for (int i = 0; i < d; ++i) add_product(own_label, task_direction[i], inputs[j * d + i]);
      labels[j] = own_label;
    }

    Lanes<T, W> error(T(0)), by_score_scale(T(0));
    for (int h = 0; h < head_count; ++h) {
      const simulate::RegressionModel<T>& head = heads[h];
      multiply(keyed_query, head.key_query, query, d);
      multiply_transposed(score_direction, model.input_factor, keyed_query, d);
      const Lanes<T, W> score_mean = dot(model.input_mean, keyed_query, d);
      for (std::int64_t j = 0; j < n && !stop_requested_at(j); ++j) {
        const auto normals = inputs.after(j * d);
        Lanes<T, W> score = score_mean, value(head.value_offset);
        for (int i = 0; i < d; ++i) {
          add_product(score, score_direction[i], normals[i]);
          add_scaled(value, head.value_in_factor[i], normals[i]);
        }
        add_scaled(value, head.label_value, Lanes<T, W>(labels[j]));
        scores[j] = inverse_temperature * score;
        tokens[j] = value;
      }
      each_row(n, scores, scores, weight, rows, [&](auto in, auto, auto out) { weights(map, in, out); });
      Lanes<T, W> label_read(T(0));
      for (std::int64_t j = 0; j < n; ++j) {
        add_product(error, weight[j], tokens[j]);
        add_product(label_read, weight[j], labels[j]);
      }
      read[h] = label_read;
      sum_inputs(inputs, weight, weighted.after(h * d), sum);
      each_row(n, scores, tokens, weight, rows, [&](auto in, auto up, auto out) { vjp(map, in, up, out); });
      sum_inputs(inputs, weight, pulled.after(h * d), sum);
      by_score_scale += dot(pulled.after(h * d), keyed_query, d);
    }
    error -= label;

    values[0] = error * error;
    auto gradient = values.after(1);
    const Lanes<T, W> by_prediction = T(2) * error;
    for (int h = 0; h < head_count; ++h) {
      for (int i = 0; i < d; ++i) {
        const Lanes<T, W> factor = by_prediction * (inverse_temperature * pulled[h * d + i]);
        for (int m = 0; m < d; ++m) gradient[i * d + m] = factor * query[m];
      }
      gradient = gradient.after(d * d);
      for (int i = 0; i < d; ++i) gradient[i] = by_prediction * weighted[h * d + i];
      gradient[d] = by_prediction * read[h];
      gradient = gradient.after(d + 1);
    }
    gradient[0] = by_prediction * by_score_scale;
  }

 private:
  /// The sum of all inputs, each times its coefficient: mu times the sum of the coefficients, and A times that of the
  /// normals.
  template <int W>
  INCONTEXT_HD void sum_inputs(simulate::LaneArray<T, W> inputs, simulate::LaneArray<T, W> coefficients,
                               simulate::LaneArray<T, W> result, simulate::LaneArray<T, W> normals) const {
    const int d = model.dimension;
    Lanes<T, W> total(T(0));
    simulate::fill(normals, d, T(0));
    for (std::int64_t j = 0; j < model.context_length; ++j) {
      total += coefficients[j];
      for (int i = 0; i < d; ++i) add_product(normals[i], coefficients[j], inputs[j * d + i]);
    }
    simulate::multiply(result, model.input_factor, normals, d);
    for (int i = 0; i < d; ++i) add_scaled(result[i], model.input_mean[i], total);
  }
};

}  // namespace incontext::training::detail
