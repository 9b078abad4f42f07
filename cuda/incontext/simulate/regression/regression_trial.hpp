#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/attention_readout.hpp"
#include "incontext/simulate/regression/regression_model.hpp"

namespace incontext::simulate {

/// Draws the label of a query, from the task and noise of its own.
///
/// Source    arXiv 2511.01292 section 3.
/// Random    stream query_noise, one normal.
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD Lanes<T, W> draw_label(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> task,
                                    LaneArray<T, W> query) {
  Lanes<T, W> normal[random::normals_per_block<T>];
  random::normals(random::LaneStream(trials, RegressionStream::query_noise), 0, normal);
  Lanes<T, W> label = model.noise_stddev * normal[0];
  add_dot(label, task, query, model.dimension);
  return label;
}

/// Tokens of a Gaussian context: fresh inputs and labels, handed to a readout one tile after another.
///
/// x_j = mu_x + A g_j is never formed: its score is mu_x . M x_q + (A^T M x_q) . g_j and its value
/// v_x . mu_x + v_y mu_x . w + (A^T v_x + v_y A^T w) . g_j + v_y e_j, two products of length d whatever the covariance.
///
/// Source    arXiv 2511.01292 section 3, in the coordinates of the standard normals.
/// Random    streams inputs (d normals per token, without gaps) and noise (one per token).
/// Runs on   host and device
template <class T>
struct GaussianTokens {
  INCONTEXT_HD std::int64_t scratch_rows(const RegressionModel<T>& model) const { return 3 * model.dimension; }

  /// Draws the query, and returns its label w . x_q + e_q.
  template <int W>
  INCONTEXT_HD Lanes<T, W> draw_query(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> task,
                                      LaneArray<T, W> query) const {
    draw_gaussian(query, random::LaneStream(trials, RegressionStream::query), model.input_mean, model.input_factor,
                  model.dimension);
    return draw_label(model, trials, task, query);
  }

  /// Draws the tokens and gives them to the readout.
  template <int W, class Readout>
  INCONTEXT_HD void read(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> task,
                         LaneArray<T, W> keyed_query, LaneArray<T, W> scratch, const Readout& readout,
                         LaneArray<T, W> state) const {
    constexpr int tile = random::normals_per_block<T>;  // tokens per tile: the inputs of a tile fill d blocks
    const int d = model.dimension;
    const auto score_direction = scratch.take(d), value_direction = scratch.take(d), task_in_factor = scratch.take(d);
    multiply_transposed(score_direction, model.input_factor, keyed_query, d);
    multiply_transposed(task_in_factor, model.input_factor, task, d);
    const Lanes<T, W> value_start = model.value_offset + model.label_value * dot(model.input_mean, task, d);
    for (int i = 0; i < d; ++i) {
      value_direction[i] = model.value_in_factor[i];
      add_scaled(value_direction[i], model.label_value, task_in_factor[i]);
    }

    const random::LaneStream inputs(trials, RegressionStream::inputs), noise(trials, RegressionStream::noise);
    const T noise_scale = model.label_value * model.noise_stddev;
    Lanes<T, W> normal[tile], scores[tile], values[tile];
    for (std::int64_t first = 0; first < model.context_length && !stop_requested_at(first); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      random::normals(noise, static_cast<std::uint32_t>(first / tile), normal);
      for (int token = 0; token < tile; ++token) {
        values[token] = value_start;
        add_scaled(values[token], noise_scale, normal[token]);
      }
      const auto first_block = static_cast<std::uint32_t>(first / tile * d);
      int token = 0;
      int coordinate = 0;
      auto along_score = score_direction.first(), along_value = value_direction.first();
      // The current token's own, because a GPU's registers have no index: it would compare and choose for each of four.
      Lanes<T, W> score(T(0)), value = values[0];
      for (int block = 0; block * tile < tokens * d; ++block) {
        random::normals(inputs, first_block + static_cast<std::uint32_t>(block), normal);
        for (int k = 0; k < tile; ++k) {
          add_product(score, *along_score, normal[k]);
          add_product(value, *along_value, normal[k]);
          ++along_score;
          ++along_value;
          if (++coordinate == d) {
            scores[token] = score;
            values[token] = value;
            coordinate = 0;
            along_score = score_direction.first();
            along_value = value_direction.first();
            ++token;
            score = T(0);
            if (token < tile) value = values[token];
          }
        }
      }
      readout.add(state, scores, values, tokens);
    }
  }
};

/// Each trial draws a task, a context, its noise and a query, lets the attention predict the query's label, and squares
/// the error. It uses none of the closed forms that it judges.
///
/// \f[ (\hat y(\tau) - y_q)^2,\qquad \hat y = \sum_j a_j(\tau)\,(v_x^T x_j + v_y y_j) \f]
///
/// Source    arXiv 2511.01292 eqs. (5)-(8).
/// Shapes    one value per temperature of the readout's grid.
/// Units     label units squared.
/// Domain    as RegressionModelStorage.
/// Accuracy  trial by trial against the matrix form in double, tests/simulate/regression/regression_trial.cpp.
/// Random    streams task, query, query_noise and those of Tokens; about d (l + 2) + l normals.
/// Runs on   host and device
template <class T, class Tokens, class Readout>
struct RegressionErrorTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "dimension and temperatures";
  RegressionModel<T> model;
  Tokens tokens;
  Readout readout;
  regression::QueryToken query_token;

  INCONTEXT_HD int outputs() const { return readout.grid.size; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return 3 * model.dimension + readout.rows() + tokens.scratch_rows(model);
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> errors) const {
    const int d = model.dimension;
    const auto task = scratch.take(d), query = scratch.take(d);
    const auto keyed_query = scratch.take(d);  // M x_q
    const auto state = scratch.take(readout.rows());
    draw_gaussian(task, random::LaneStream(trials, RegressionStream::task), model.task_mean, model.task_factor, d);
    const Lanes<T, W> label = tokens.draw_query(model, trials, task, query);
    multiply(keyed_query, model.key_query, query, d);

    const Lanes<T, W> score_mean = dot(model.input_mean, keyed_query, d);
    readout.start(state, score_mean);
    std::int64_t count = model.context_length;
    if (query_token == regression::QueryToken::included) {
      ++count;
      add_query(query, keyed_query, score_mean, state);
    }
    tokens.read(model, trials, task, keyed_query, scratch, readout, state);

    for (int point = 0; point < readout.grid.size; ++point) {
      const Lanes<T, W> error = readout.predict(state, score_mean, count, point) - label;
      errors[point] = error * error;
    }
  }

 private:
  /// Adds the query as a token among the others, with its own score and a value without a label.
  template <int W>
  INCONTEXT_HD void add_query(LaneArray<T, W> query, LaneArray<T, W> keyed_query, const Lanes<T, W>& score_mean,
                              LaneArray<T, W> state) const {
    const Lanes<T, W> score = dot(query, keyed_query, model.dimension) - score_mean;
    const Lanes<T, W> value = dot(model.input_value, query, model.dimension);
    readout.add(state, &score, &value, 1);
  }
};

}  // namespace incontext::simulate
