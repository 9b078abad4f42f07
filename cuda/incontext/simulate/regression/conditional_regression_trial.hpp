#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/attention_readout.hpp"
#include "incontext/simulate/regression/context_moments.hpp"
#include "incontext/simulate/regression/regression_model.hpp"

namespace incontext::simulate {

/// The kinds of attention whose weights are affine in the scores. The moments of a context determine what such an
/// attention reads at one temperature: the weight of mu_x, the attended input in the coordinates g, and the sum of
/// squared weights.
///
/// Runs on   host and device
enum class AffineAttention { approximate_softmax, approximate_softmax_without_offset, linear };

/// One trial with task vector, noise and query label averaged in closed form. It has the mean of RegressionErrorTrial
/// and a fraction of its variance. `Moments` is how the context is drawn (TokenMoments or WishartMoments).
///
/// \f[ \sigma^2 \bigl(1 + v_y^2 \sum_j a_j^2\bigr) + (v_x^T t + \mu_w^T r)^2 + r^T W r,\quad
///     t = \sum_j a_j x_j,\ r = v_y t - x_q \f]
///
/// Source    derived: docs/theory/regression.md#simulators, for any v_x and task mean.
/// Shapes    one value per temperature.
/// Units     label units squared.
/// Domain    query excluded.
/// Accuracy  against the literal trial in tests/simulate/regression/regression_error.cpp.
/// Random    streams query and those of Moments.
/// Runs on   host and device
template <class T, class Moments>
struct ConditionalErrorTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "dimension";
  RegressionModel<T> model;
  TemperatureGrid<T> grid;
  AffineAttention kind;

  INCONTEXT_HD int outputs() const { return grid.size; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return 4 * model.dimension + ContextMoments<T, 1>::rows(model.dimension) + Moments::scratch_rows(model.dimension);
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> errors) const {
    const int d = model.dimension;
    const auto query = scratch.take(d);
    const auto direction = scratch.take(d);  // A^T M x_q
    const auto keyed_query = scratch.take(d), residual = scratch.take(d);
    const ContextMoments<T, W> moments(scratch.take(ContextMoments<T, W>::rows(d)), d);
    draw_gaussian(query, random::LaneStream(trials, RegressionStream::query), model.input_mean, model.input_factor, d);
    multiply(keyed_query, model.key_query, query, d);
    multiply_transposed(direction, model.input_factor, keyed_query, d);
    const Lanes<T, W> score_mean = dot(model.input_mean, keyed_query, d);
    Moments::draw(model, trials, direction, scratch, moments);

    const auto attended = keyed_query;  // M x_q is no longer needed
    for (int point = 0; point < grid.size; ++point) {
      const Weights<W> weights = attend(moments, score_mean, grid.inverse_temperatures[point], attended);
      average_labels(query, attended, weights, residual, errors[point]);
    }
  }

 private:
  template <int W>
  struct Weights {
    Lanes<T, W> mean;        // the weight of mu_x
    Lanes<T, W> square_sum;  // sum a_j^2
  };

  /// What the query attends to at one temperature, in the coordinates g.
  template <int W>
  INCONTEXT_HD Weights<W> attend(const ContextMoments<T, W>& moments, const Lanes<T, W>& score_mean,
                                 T inverse_temperature, LaneArray<T, W> attended) const {
    const T share = T(1) / static_cast<T>(model.context_length);
    Weights<W> weights;
    if (kind == AffineAttention::linear) {
      weights.mean = inverse_temperature * (score_mean + moments.score_mean);
    } else {
      weights.mean = kind == AffineAttention::approximate_softmax ? T(1) : T(0);
    }
    weights.square_sum =
        share * (weights.mean * weights.mean + inverse_temperature * inverse_temperature * moments.score_variance);
    for (int i = 0; i < model.dimension; ++i) {
      attended[i] = weights.mean * moments.mean[i] + inverse_temperature * moments.attended[i];
    }
    return weights;
  }

  /// The squared error, averaged over the task vector and the noise of all labels.
  template <int W>
  INCONTEXT_HD void average_labels(LaneArray<T, W> query, LaneArray<T, W> attended, const Weights<W>& weights,
                                   LaneArray<T, W> residual, Lanes<T, W>& error) const {
    const int d = model.dimension;
    Lanes<T, W> bias(T(0));
    for (int i = 0; i < d && !stop_requested(); ++i) {  // input = t_i = (weight of the mean) mu_i + (A attended)_i
      Lanes<T, W> input = weights.mean * model.input_mean[i];
      add_dot(input, model.input_factor + i * d, attended, d);
      residual[i] = model.label_value * input - query[i];
      bias += model.input_value[i] * input + model.task_mean[i] * residual[i];
    }
    const T noise_variance = model.noise_stddev * model.noise_stddev;
    error = noise_variance * (T(1) + model.label_value * model.label_value * weights.square_sum) + bias * bias;
    for (int i = 0; i < d && !stop_requested(); ++i) {  // |C^T r|^2
      Lanes<T, W> part(T(0));
      for (int j = i; j < d; ++j) {
        if (model.task_factor[j * d + i] != T(0)) add_scaled(part, model.task_factor[j * d + i], residual[j]);
      }
      add_product(error, part, part);
    }
  }
};

}  // namespace incontext::simulate
