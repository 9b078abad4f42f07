#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/simulate/trials/attention_readout.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/regression_model.hpp"

namespace incontext::simulate {

/// The label of a query, by the task and fresh noise.
///
/// Source    arXiv 2511.01292 section 3.
/// Random    stream query_noise, one normal.
/// Runs on   host and device
template <int W, class T>
INCONTEXT_HD void draw_label(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                             detail::Scratch<T, W> task, detail::Scratch<T, W> query, T* label) {
  alignas(W >= 16 ? 64 : 8) T normal[random::normals_per_block<T>][W];
  random::normals(random::LaneStream<W>(seed, first_trial, static_cast<std::uint32_t>(Stream::query_noise)), 0u,
                  normal);
  for (int lane = 0; lane < W; ++lane) label[lane] = model.noise_stddev * normal[0][lane];
  detail::add_dot<W>(label, task, query, model.dimension);
}

/// Tokens of a Gaussian context: fresh inputs and labels, handed to a readout a tile at a time.
///
/// x_j = mu_x + A g_j is never formed: its score is mu_x . M x_q + (A^T M x_q) . g_j and its value
/// v_x . mu_x + v_y mu_x . w + (A^T v_x + v_y A^T w) . g_j + v_y e_j, two products of length d whatever the covariance.
///
/// Source    arXiv 2511.01292 section 3, in the coordinates of the standard normals.
/// Random    streams inputs (d normals a token, without gaps) and noise (one a token).
/// Runs on   host and device
template <class T>
struct GaussianTokens {
  INCONTEXT_HD std::int64_t scratch_rows(const RegressionModel<T>& model) const { return 3 * model.dimension; }

  /// The query and its label w . x_q + e_q.
  template <int W>
  INCONTEXT_HD void draw_query(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                               detail::Scratch<T, W> task, detail::Scratch<T, W> query, T* label) const {
    detail::draw_gaussian<W>(query, {seed, first_trial, static_cast<std::uint32_t>(Stream::query)}, model.input_mean,
                             model.input_factor, model.dimension);
    draw_label<W>(model, seed, first_trial, task, query, label);
  }

  template <int W, class Readout>
  INCONTEXT_HD void read(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                         detail::Scratch<T, W> task, detail::Scratch<T, W> keyed_query, detail::Scratch<T, W> scratch,
                         const Readout& readout, detail::Scratch<T, W> state) const {
    constexpr int tile = random::normals_per_block<T>;  // tokens to a tile: the inputs of a tile fill d blocks
    const int d = model.dimension;
    const auto score_direction = scratch;
    const auto value_direction = scratch.after(d);
    const auto task_in_factor = scratch.after(2 * d);
    detail::multiply_transposed<W>(score_direction, model.input_factor, keyed_query, d);
    detail::multiply_transposed<W>(task_in_factor, model.input_factor, task, d);
    alignas(W >= 16 ? 64 : 8) T value_start[W];
    detail::fill<W>(value_start, T(0));
    detail::add_dot<W>(value_start, model.input_mean, task, d);
    for (int lane = 0; lane < W; ++lane) {
      value_start[lane] = model.value_offset + model.label_value * value_start[lane];
    }
    for (int i = 0; i < d; ++i) {
      detail::fill<W>(value_direction.row(i), model.value_in_factor[i]);
      detail::add_scaled<W>(value_direction.row(i), model.label_value, task_in_factor.row(i));
    }

    const random::LaneStream<W> inputs(seed, first_trial, static_cast<std::uint32_t>(Stream::inputs));
    const random::LaneStream<W> noise(seed, first_trial, static_cast<std::uint32_t>(Stream::noise));
    const T noise_scale = model.label_value * model.noise_stddev;
    alignas(W >= 16 ? 64 : 8) T normal[tile][W];
    alignas(W >= 16 ? 64 : 8) T scores[tile][W];
    alignas(W >= 16 ? 64 : 8) T values[tile][W];
    for (std::int64_t first = 0; first < model.context_length && !stop_requested(); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      random::normals(noise, static_cast<std::uint32_t>(first / tile), normal);
      for (int token = 0; token < tile; ++token) {
        for (int lane = 0; lane < W; ++lane) {
          scores[token][lane] = T(0);
          values[token][lane] = value_start[lane] + noise_scale * normal[token][lane];
        }
      }
      const auto first_block = static_cast<std::uint32_t>(first / tile * d);
      int token = 0;
      int coordinate = 0;
      for (int block = 0; block * tile < tokens * d; ++block) {
        random::normals(inputs, first_block + static_cast<std::uint32_t>(block), normal);
        for (int k = 0; k < tile; ++k) {
          detail::add_product<W>(scores[token], score_direction.row(coordinate), normal[k]);
          detail::add_product<W>(values[token], value_direction.row(coordinate), normal[k]);
          if (++coordinate == d) {
            coordinate = 0;
            ++token;
          }
        }
      }
      readout.template add<W>(state, scores[0], values[0], tokens);
    }
  }
};

/// One trial of in-context regression, literally: draw a task, a context, its noise and a query; let the attention
/// predict; square the error. It knows nothing of the closed forms it judges.
///
/// \f[ (\hat y(\tau) - y_q)^2,\qquad \hat y = \sum_j a_j(\tau)\,(v_x^T x_j + v_y y_j) \f]
///
/// Source    arXiv 2511.01292 eqs. (5)-(8).
/// Shapes    one value a temperature of the readout's grid.
/// Units     label units squared.
/// Domain    as RegressionModelStorage.
/// Accuracy  trial by trial against the matrix form in double, tests/simulate/trials/regression.cpp.
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
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    const int d = model.dimension;
    const auto task = scratch;
    const auto query = scratch.after(d);
    const auto keyed_query = scratch.after(2 * d);  // M x_q
    const auto state = scratch.after(3 * d);
    const auto rest = state.after(readout.rows());
    detail::draw_gaussian<W>(task, {seed, first_trial, static_cast<std::uint32_t>(Stream::task)}, model.task_mean,
                             model.task_factor, d);
    alignas(W >= 16 ? 64 : 8) T label[W];
    tokens.template draw_query<W>(model, seed, first_trial, task, query, label);
    detail::multiply<W>(keyed_query, model.key_query, query, d);

    alignas(W >= 16 ? 64 : 8) T score_mean[W];
    detail::fill<W>(score_mean, T(0));
    detail::add_dot<W>(score_mean, model.input_mean, keyed_query, d);

    readout.template start<W>(state, score_mean);
    std::int64_t count = model.context_length;
    if (query_token == regression::QueryToken::included) {
      ++count;
      add_query<W>(query, keyed_query, score_mean, state);
    }
    tokens.template read<W>(model, seed, first_trial, task, keyed_query, rest, readout, state);

    alignas(W >= 16 ? 64 : 8) T prediction[W];
    for (int point = 0; point < readout.grid.size; ++point) {
      readout.template predict<W>(state, score_mean, count, point, prediction);
      T* __restrict__ out = values + point * value_stride;
      for (int lane = 0; lane < W; ++lane) {
        const T error = prediction[lane] - label[lane];
        out[lane] = error * error;
      }
    }
  }

 private:
  /// The query as a token among the others: its own score, and a value without a label.
  template <int W>
  INCONTEXT_HD void add_query(detail::Scratch<T, W> query, detail::Scratch<T, W> keyed_query, const T* score_mean,
                              detail::Scratch<T, W> state) const {
    alignas(W >= 16 ? 64 : 8) T score[W];
    alignas(W >= 16 ? 64 : 8) T value[W];
    detail::fill<W>(score, T(0));
    detail::fill<W>(value, T(0));
    detail::add_dot<W>(score, query, keyed_query, model.dimension);
    detail::add_dot<W>(value, model.input_value, query, model.dimension);
    detail::add_scaled<W>(score, T(-1), score_mean);
    readout.template add<W>(state, score, value, 1);
  }
};

}  // namespace incontext::simulate
