#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/attention_readout.hpp"
#include "incontext/simulate/regression/regression_model.hpp"

namespace incontext::simulate {

/// The kinds of attention whose weights are affine in the scores. The moments of a context determine what such an
/// attention reads at one temperature: the weight of mu_x, the attended input in the coordinates g, and the sum of
/// squared weights.
///
/// Runs on   host and device
enum class AffineAttention { approximate_softmax, approximate_softmax_without_offset, linear };

/// The moments of a context, in working memory.
///
/// Runs on   host and device
template <class T, int W>
struct ContextMoments {
  LaneArray<T, W> mean;         // gbar: d entries
  LaneArray<T, W> attended;     // c: d entries
  Lanes<T, W>& score_variance;  // v
  Lanes<T, W>& score_mean;      // zbar

  INCONTEXT_HD static constexpr std::int64_t rows(int dimension) { return 2 * std::int64_t{dimension} + 2; }
  INCONTEXT_HD ContextMoments(LaneArray<T, W> scratch, int dimension)
      : mean(scratch.take(dimension)),
        attended(scratch.take(dimension)),
        score_variance(scratch.take(1)[0]),
        score_mean(scratch.take(1)[0]) {}
};

/// Draws every token of the context and sums up.
///
/// Source    the definition.
/// Random    stream inputs: d l normals, the same as GaussianTokens reads.
/// Runs on   host and device
template <class T>
struct TokenMoments {
  INCONTEXT_HD static std::int64_t scratch_rows(int dimension) {
    return std::int64_t{random::normals_per_block<T>} * dimension;
  }

  template <int W>
  INCONTEXT_HD static void draw(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> direction,
                                LaneArray<T, W> inputs, const ContextMoments<T, W>& moments) {
    constexpr int tile = random::normals_per_block<T>;
    const int d = model.dimension;
    const random::LaneStream stream(trials, RegressionStream::inputs);
    fill(moments.mean, d, T(0));
    fill(moments.attended, d, T(0));
    moments.score_mean = T(0);
    moments.score_variance = T(0);
    for (std::int64_t first = 0; first < model.context_length && !stop_requested_at(first); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      draw_normals(inputs, stream, static_cast<std::uint32_t>(first / tile * d), std::int64_t{tokens} * d);
      for (int token = 0; token < tokens; ++token) {
        const auto input = inputs.after(std::int64_t{token} * d);
        const Lanes<T, W> score = dot(direction, input, d);
        for (int i = 0; i < d; ++i) {
          moments.mean[i] += input[i];
          add_product(moments.attended[i], score, input[i]);
        }
        moments.score_mean += score;
        add_product(moments.score_variance, score, score);
      }
    }
    center(moments, d, T(1) / static_cast<T>(model.context_length));
  }

 private:
  /// From sums to centered means. The scores have mean zero over the inputs, so nothing cancels.
  template <int W>
  INCONTEXT_HD static void center(const ContextMoments<T, W>& moments, int dimension, T share) {
    moments.score_mean *= share;
    moments.score_variance = moments.score_variance * share - moments.score_mean * moments.score_mean;
    for (int i = 0; i < dimension; ++i) {
      moments.mean[i] *= share;
      moments.attended[i] = moments.attended[i] * share - moments.score_mean * moments.mean[i];
    }
  }
};

/// Draws the moments from their law: the mean from N(0, I/l), and C from Bartlett's factor of a Wishart matrix. In a
/// basis that begins with y, only the first column of the factor enters C y, and the others are not drawn:
///
/// \f[ l\, C y = |y|\, \chi\, (\chi\, \hat y + (I - \hat y \hat y^T)\, h),\quad
///     \chi^2 \sim \chi^2_{l-1},\ h \sim N(0, I) \f]
///
/// Source    derived: docs/theory/regression.md#simulators; Bartlett 1933.
/// Limits    y = 0: all zero.
/// Accuracy  against TokenMoments in tests/simulate/regression/regression_error.cpp.
/// Random    streams input_mean and direction (d normals each) and wishart (one chi-square): O(d) in place of O(d l).
/// Runs on   host and device
template <class T>
struct WishartMoments {
  INCONTEXT_HD static std::int64_t scratch_rows(int) { return 0; }

  template <int W>
  INCONTEXT_HD static void draw(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> direction,
                                LaneArray<T, W>, const ContextMoments<T, W>& moments) {
    using std::sqrt;
    const int d = model.dimension;
    const T share = T(1) / static_cast<T>(model.context_length);
    draw_normals(moments.mean, random::LaneStream(trials, RegressionStream::input_mean), 0, d);
    draw_normals(moments.attended, random::LaneStream(trials, RegressionStream::direction), 0, d);
    Lanes<double, W> chi_square;
    random::chi_square(random::LaneStream(trials, RegressionStream::wishart), 0, model.context_length - 1, chi_square);

    const auto square = Lanes<T, W>::each([&](int lane) { return static_cast<T>(chi_square[lane]); });
    const Lanes<T, W> length_square = dot(direction, direction, d);
    const Lanes<T, W> product = dot(moments.attended, direction, d);  // h . y
    const auto inverse =
        Lanes<T, W>::each([&](int lane) { return length_square[lane] > T(0) ? T(1) / length_square[lane] : T(0); });
    const Lanes<T, W> across = share * sqrt(square * length_square);        // the weight of h in c
    const Lanes<T, W> along = share * square - across * product * inverse;  // the weight of y in c
    moments.score_variance = share * square * length_square;
    const T mean_scale = sqrt(share);
    moments.score_mean = T(0);
    for (int i = 0; i < d; ++i) {
      moments.mean[i] *= mean_scale;
      moments.attended[i] = across * moments.attended[i] + along * direction[i];
      add_product(moments.score_mean, moments.mean[i], direction[i]);
    }
  }
};

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
