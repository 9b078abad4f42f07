#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/regression_trial.hpp"

namespace incontext::simulate {

/// Draws a row of a table for each of W trials, with replacement: row \f$ \lfloor w\, n / 2^{32} \rfloor \f$ for a
/// random word w.
///
/// Source    Lemire 2019, without the rejection: the probability of a row is off by at most n / 2^32.
/// Domain    rows >= 1.
/// Random    one word per trial.
/// Runs on   host and device
template <int W>
INCONTEXT_HD inline Lanes<std::int64_t, W> choose_rows(const Lanes<std::uint32_t, W>& words, std::uint32_t rows) {
  return Lanes<std::int64_t, W>::each(
      [&](int lane) { return static_cast<std::int64_t>((std::uint64_t{words[lane]} * rows) >> 32); });
}

/// Tokens and query taken from the rows of a data set, with replacement; labels by the task law, or the rows' own.
///
/// Source    derived: docs/theory/regression.md#any-inputs.
/// Shapes    rows: count x d by rows; labels: count, or null for labels w . x + e of the trial's task.
/// Units     as RegressionModel, whose input_mean must be the mean of the rows.
/// Random    streams rows (one word per token), query (one word), noise (one normal per token, if labels are drawn).
/// Runs on   host and device
template <class T>
struct RowTokens {
  const T* rows;
  const T* labels;
  std::uint32_t count;

  INCONTEXT_HD std::int64_t scratch_rows(const RegressionModel<T>& model) const { return model.dimension; }

  /// Draws the query, and returns its label.
  template <int W>
  INCONTEXT_HD Lanes<T, W> draw_query(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> task,
                                      LaneArray<T, W> query) const {
    Lanes<std::uint32_t, W> words[4];
    random::LaneStream(trials, RegressionStream::query).words(0, words);
    const Lanes<std::int64_t, W> chosen = choose_rows(words[0], count);
    for (int i = 0; i < model.dimension; ++i) {
      query[i] = Lanes<T, W>::each([&](int lane) { return rows[chosen[lane] * model.dimension + i]; });
    }
    if (labels == nullptr) return draw_label(model, trials, task, query);
    return Lanes<T, W>::each([&](int lane) { return labels[chosen[lane]]; });
  }

  /// Draws the tokens and gives them to the readout.
  template <int W, class Readout>
  INCONTEXT_HD void read(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> task,
                         LaneArray<T, W> keyed_query, LaneArray<T, W> value_direction, const Readout& readout,
                         LaneArray<T, W> state) const {
    const int d = model.dimension;
    const random::LaneStream choice(trials, RegressionStream::rows), noise(trials, RegressionStream::noise);
    for (int i = 0; i < d; ++i) {
      value_direction[i] = model.input_value[i];
      if (labels == nullptr) add_scaled(value_direction[i], model.label_value, task[i]);
    }
    Lanes<T, W> score_start(T(0));
    for (int i = 0; i < d; ++i) add_scaled(score_start, -model.input_mean[i], keyed_query[i]);

    constexpr int tile = words_per_block;
    Lanes<std::uint32_t, W> words[tile];
    Lanes<T, W> scores[tile], values[tile];
    for (std::int64_t first = 0; first < model.context_length && !stop_requested_at(first); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      choice.words(static_cast<std::uint32_t>(first / tile), words);
      if (labels == nullptr) draw_noise(model, noise, static_cast<std::uint32_t>(first), values);
      for (int token = 0; token < tokens; ++token) {
        const Lanes<std::int64_t, W> chosen = choose_rows(words[token], count);
        scores[token] = score_start;
        if (labels != nullptr) {
          values[token] = Lanes<T, W>::each([&](int lane) { return model.label_value * labels[chosen[lane]]; });
        }
        for (int i = 0; i < d; ++i) {
          add_input(scores[token], keyed_query[i], values[token], value_direction[i], rows + i, chosen, d);
        }
      }
      readout.add(state, scores, values, tokens);
    }
  }

 private:
  static constexpr int words_per_block = 4;  // one word per token

  /// Adds one component of the chosen rows to the scores and values of a token. The rows are read once.
  template <int W>
  INCONTEXT_HD static void add_input(Lanes<T, W>& score, const Lanes<T, W>& key, Lanes<T, W>& value,
                                     const Lanes<T, W>& direction, const T* component,
                                     const Lanes<std::int64_t, W>& chosen, int dimension) {
    for (int lane = 0; lane < W; ++lane) {
      const T x = component[chosen[lane] * dimension];
      score[lane] += key[lane] * x;
      value[lane] += direction[lane] * x;
    }
  }

  /// The noise of four tokens, times v_y: one block in single precision, two in double.
  template <int W>
  INCONTEXT_HD static void draw_noise(const RegressionModel<T>& model, const random::LaneStream<W>& stream,
                                      std::uint32_t first_token, Lanes<T, W> (&values)[words_per_block]) {
    constexpr int per_block = random::normals_per_block<T>;
    const T scale = model.label_value * model.noise_stddev;
    Lanes<T, W> normal[per_block];
    for (int token = 0; token < words_per_block; ++token) {
      if (token % per_block == 0) {
        random::normals(stream, (first_token + static_cast<std::uint32_t>(token)) / per_block, normal);
      }
      values[token] = scale * normal[token % per_block];
    }
  }
};

}  // namespace incontext::simulate
