#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/softmax_moments_readout.hpp"

namespace incontext::simulate {

/// Each trial draws only the query and its scores. Given those, the error of softmax attention is averaged over the
/// rest of the inputs, the task, the noise and the label in closed form. The trial has the mean of RegressionErrorTrial
/// and draws l + d normals instead of l (d + 1).
///
/// \f[ \sigma^2 (1 + v^2 p_2) + x_q^T R x_q - 2 v\, m_1\, x_q^T R u + v^2 \left( m_1^2\, u^T R u
///     + p_2 (\mathrm{tr}(R \Sigma) - u^T R u) \right),\quad u = \Sigma k / s,\ k = M x_q,\ s^2 = k^T \Sigma k \f]
///
/// Source    derived: docs/theory/regression.md#softmax-error (10), the drawn row in place of its moments.
/// Shapes    one value per exponent of the readout's grid.
/// Units     label units squared.
/// Domain    query excluded, input_mean = 0, input_value = 0.
/// Limits    s = 0: uniform weights, u = 0.
/// Accuracy  against the literal trial and regression::softmax_error in
///           tests/simulate/regression/reduced_softmax_error.cpp.
/// Random    streams query (d normals) and inputs (one normal per score).
/// Runs on   host and device
template <class T, class Exponent>
struct ReducedSoftmaxTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "dimension and temperatures";
  RegressionModel<T> model;
  SoftmaxMomentsReadout<T, Exponent> readout;
  T signal_variance;  // tr(R Sigma)

  INCONTEXT_HD int outputs() const { return readout.size; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 4 * std::int64_t{model.dimension} + readout.rows(); }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> errors) const {
    const Query<W> query = draw_query(trials, scratch);
    const auto state = scratch.after(4 * std::int64_t{model.dimension});
    readout.start(state);
    read_scores(trials, query.score_stddev, state);

    const T noise = model.noise_stddev * model.noise_stddev;
    const T v = model.label_value;
    for (int point = 0; point < readout.size; ++point) {
      const auto moments = readout.moments(state, point);
      const Lanes<T, W> read = v * moments.mean_normal;
      const Lanes<T, W> across = noise + (signal_variance - query.along);
      errors[point] =
          noise + query.label + read * (read * query.along - T(2) * query.cross) + v * v * moments.ipr * across;
    }
  }

 private:
  /// What a drawn query contributes to the error.
  template <int W>
  struct Query {
    Lanes<T, W> score_stddev;  // s = sqrt(k^T Sigma k), k = M x_q
    Lanes<T, W> label;         // x_q^T R x_q
    Lanes<T, W> cross;         // x_q^T R u
    Lanes<T, W> along;         // u^T R u
  };

  template <int W>
  INCONTEXT_HD Query<W> draw_query(random::Trials<W> trials, LaneArray<T, W> scratch) const {
    const int d = model.dimension;
    const auto x = scratch.take(d), u = scratch.take(d), direction = scratch.take(d), task_u = scratch.take(d);
    draw_gaussian(x, random::LaneStream(trials, RegressionStream::query), model.input_mean, model.input_factor, d);

    // The direction of the scores A^T M x_q, its length s, and u = A (A^T M x_q) / s.
    Query<W> query;
    multiply(u, model.key_query, x, d);
    multiply_transposed(direction, model.input_factor, u, d);
    query.score_stddev = sqrt(dot(direction, direction, d));
    const auto divisor =
        Lanes<T, W>::each([&](int lane) { return query.score_stddev[lane] > T(0) ? query.score_stddev[lane] : T(1); });
    for (int i = 0; i < d; ++i) direction[i] /= divisor;
    multiply(u, model.input_factor, direction, d);

    // Inner products with R = C C^T + mu mu^T.
    const auto task_x = direction;  // the direction is no longer needed
    multiply_transposed(task_x, model.task_factor, x, d);
    multiply_transposed(task_u, model.task_factor, u, d);
    const Lanes<T, W> mean_x = dot(model.task_mean, x, d), mean_u = dot(model.task_mean, u, d);
    query.label = mean_x * mean_x;
    query.cross = mean_x * mean_u;
    query.along = mean_u * mean_u;
    add_dot(query.label, task_x, task_x, d);
    add_dot(query.cross, task_x, task_u, d);
    add_dot(query.along, task_u, task_u, d);
    return query;
  }

  template <int W>
  INCONTEXT_HD void read_scores(random::Trials<W> trials, const Lanes<T, W>& score_stddev,
                                LaneArray<T, W> state) const {
    constexpr int tile = SoftmaxMomentsReadout<T, Exponent>::tile;
    constexpr int per_block = random::normals_per_block<T>;
    const random::LaneStream stream(trials, RegressionStream::inputs);
    Lanes<T, W> normal[tile / per_block][per_block];
    for (std::int64_t first = 0; first < model.context_length && !stop_requested_at(first); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      for (int block = 0; block * per_block < tokens; ++block) {
        random::normals(stream, static_cast<std::uint32_t>(first / per_block + block), normal[block]);
      }
      readout.add(state, score_stddev, normal[0], tokens);
    }
  }
};

}  // namespace incontext::simulate
