#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/regression_model.hpp"
#include "incontext/simulate/trials/regression.hpp"

namespace incontext::simulate {

/// A row of a table for each of W trials, with replacement: \f$ \lfloor w\, n / 2^{32} \rfloor \f$ from one word w.
///
/// Source    Lemire 2019, without the rejection: a row's chance is off by at most n / 2^32.
/// Domain    rows >= 1.
/// Random    one word a lane.
/// Runs on   host and device
template <int W>
INCONTEXT_HD inline void choose_rows(const std::uint32_t* words, std::uint32_t rows, std::int64_t* chosen) {
  for (int lane = 0; lane < W; ++lane) {
    chosen[lane] = static_cast<std::int64_t>((std::uint64_t{words[lane]} * rows) >> 32);
  }
}

/// Tokens and query taken from the rows of a data set, with replacement; labels by the task law, or the rows' own.
///
/// Source    derived: docs/theory/regression.md#any-inputs.
/// Shapes    rows: count x d by rows; labels: count, or null for labels w . x + e of the trial's task.
/// Units     as RegressionModel, whose input_mean must be the mean of the rows.
/// Random    streams rows (one word a token), query (one word), noise (one normal a token, if labels are drawn).
/// Runs on   host and device
template <class T>
struct RowTokens {
  const T* rows;
  const T* labels;
  std::uint32_t count;

  INCONTEXT_HD std::int64_t scratch_rows(const RegressionModel<T>& model) const { return model.dimension; }

  template <int W>
  INCONTEXT_HD void draw_query(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                               detail::Scratch<T, W> task, detail::Scratch<T, W> query, T* label) const {
    std::uint32_t words[4][W];
    std::int64_t chosen[W];
    random::LaneStream<W>(seed, first_trial, static_cast<std::uint32_t>(Stream::query)).words(0u, words);
    choose_rows<W>(words[0], count, chosen);
    for (int i = 0; i < model.dimension; ++i) {
      for (int lane = 0; lane < W; ++lane) query.row(i)[lane] = rows[chosen[lane] * model.dimension + i];
    }
    if (labels == nullptr) {
      draw_label<W>(model, seed, first_trial, task, query, label);
    } else {
      for (int lane = 0; lane < W; ++lane) label[lane] = labels[chosen[lane]];
    }
  }

  template <int W, class Readout>
  INCONTEXT_HD void read(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                         detail::Scratch<T, W> task, detail::Scratch<T, W> keyed_query,
                         detail::Scratch<T, W> value_direction, const Readout& readout,
                         detail::Scratch<T, W> state) const {
    const int d = model.dimension;
    const random::LaneStream<W> choice(seed, first_trial, static_cast<std::uint32_t>(Stream::rows));
    const random::LaneStream<W> noise(seed, first_trial, static_cast<std::uint32_t>(Stream::noise));
    for (int i = 0; i < d; ++i) {
      detail::fill<W>(value_direction.row(i), model.input_value[i]);
      if (labels == nullptr) detail::add_scaled<W>(value_direction.row(i), model.label_value, task.row(i));
    }
    alignas(W >= 16 ? 64 : 8) T score_start[W];
    detail::fill<W>(score_start, T(0));
    for (int i = 0; i < d; ++i) detail::add_scaled<W>(score_start, -model.input_mean[i], keyed_query.row(i));

    constexpr int tile = 4;  // one word a token
    alignas(W >= 16 ? 64 : 8) std::uint32_t words[tile][W];
    alignas(W >= 16 ? 64 : 8) T scores[tile][W];
    alignas(W >= 16 ? 64 : 8) T values[tile][W];
    for (std::int64_t first = 0; first < model.context_length && !stop_requested(); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      choice.words(static_cast<std::uint32_t>(first / tile), words);
      if (labels == nullptr) draw_noise<W>(model, noise, static_cast<std::uint32_t>(first), values);
      for (int token = 0; token < tokens; ++token) {
        std::int64_t chosen[W];
        choose_rows<W>(words[token], count, chosen);
        for (int lane = 0; lane < W; ++lane) {
          scores[token][lane] = score_start[lane];
          if (labels != nullptr) values[token][lane] = model.label_value * labels[chosen[lane]];
        }
        for (int i = 0; i < d; ++i) {
          const T* key = keyed_query.row(i);
          const T* direction = value_direction.row(i);
          for (int lane = 0; lane < W; ++lane) {
            const T x = rows[chosen[lane] * d + i];
            scores[token][lane] += key[lane] * x;
            values[token][lane] += direction[lane] * x;
          }
        }
      }
      readout.template add<W>(state, scores[0], values[0], tokens);
    }
  }

 private:
  /// The noise of four tokens, times v_y: one block in single precision, two in double.
  template <int W>
  INCONTEXT_HD static void draw_noise(const RegressionModel<T>& model, const random::LaneStream<W>& stream,
                                      std::uint32_t first_token, T (&values)[4][W]) {
    constexpr int per_block = random::normals_per_block<T>;
    const T scale = model.label_value * model.noise_stddev;
    alignas(W >= 16 ? 64 : 8) T normal[per_block][W];
    for (int token = 0; token < 4; ++token) {
      if (token % per_block == 0) {
        random::normals(stream, (first_token + static_cast<std::uint32_t>(token)) / per_block, normal);
      }
      for (int lane = 0; lane < W; ++lane) values[token][lane] = scale * normal[token % per_block][lane];
    }
  }
};

}  // namespace incontext::simulate
