#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// Attention by its definition, over a stream of tokens. A readout receives the tokens of a context (score and value) a
/// few at a time, and at the end returns the layer's prediction at every temperature of a grid. No token is kept, so
/// memory does not grow with the context, and the whole grid costs one pass.
///
/// A readout is plain data with rows(), start, add (scores and values of one tile of tokens) and predict. Scores arrive
/// with their expectation over the inputs subtracted; `score_mean` restores it where it matters (linear attention, and
/// elementwise maps that are not linear).
namespace incontext::simulate {

/// What all readouts of a grid of temperatures share.
///
/// Runs on   host and device
template <class T>
struct TemperatureGrid {
  const T* inverse_temperatures;
  int size;
};

/// Prediction of approximate softmax: \f$ \sum_j \frac1n (1 + (z_j - \bar z)/\tau)\, v_j \f$.
///
/// Source    arXiv 2511.01292 eq. (7), with the sum over j of the mean score taken out of the bracket.
/// Units     of the values.
/// Accuracy  against the matrix form of eq. (5), trial by trial, in tests/simulate/regression/regression_trial.cpp.
/// Runs on   host and device
template <class T>
struct ApproximateSoftmaxReadout {
  TemperatureGrid<T> grid;
  regression::Offset offset;

  INCONTEXT_HD int rows() const { return 6; }

  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> state, const Lanes<T, W>&) const {
    fill(state, rows(), T(0));
  }

  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> state, const Lanes<T, W>* scores, const Lanes<T, W>* values, int tokens) const {
    Lanes<T, W> score_sum(T(0)), value_sum(T(0)), product_sum(T(0));
    for (int token = 0; token < tokens; ++token) {
      score_sum += scores[token];
      value_sum += values[token];
      add_product(product_sum, scores[token], values[token]);
    }
    add_compensated(state[State::scores], state[State::scores_lost], score_sum);
    add_compensated(state[State::values], state[State::values_lost], value_sum);
    add_compensated(state[State::products], state[State::products_lost], product_sum);
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> predict(LaneArray<T, W> state, const Lanes<T, W>&, std::int64_t tokens, int point) const {
    const T share = T(1) / static_cast<T>(tokens);
    const Lanes<T, W> mean_value = state[State::values] * share;
    const Lanes<T, W> covariance = state[State::products] * share - state[State::scores] * share * mean_value;
    const Lanes<T, W> slope = grid.inverse_temperatures[point] * covariance;
    return offset == regression::Offset::removed ? slope : mean_value + slope;
  }

 private:
  /// The sums over the tokens so far, and what each has lost to rounding.
  enum class State { scores, values, products, scores_lost, values_lost, products_lost };
};

/// Prediction of linear attention: \f$ \frac{1}{n\tau} \sum_j z_j v_j \f$.
///
/// Source    arXiv 2511.01292 eq. (8).
/// Units     of the values.
/// Accuracy  as ApproximateSoftmaxReadout.
/// Runs on   host and device
template <class T>
struct LinearAttentionReadout {
  TemperatureGrid<T> grid;

  INCONTEXT_HD int rows() const { return 4; }

  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> state, const Lanes<T, W>&) const {
    fill(state, rows(), T(0));
  }

  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> state, const Lanes<T, W>* scores, const Lanes<T, W>* values, int tokens) const {
    Lanes<T, W> value_sum(T(0)), product_sum(T(0));
    for (int token = 0; token < tokens; ++token) {
      value_sum += values[token];
      add_product(product_sum, scores[token], values[token]);
    }
    add_compensated(state[State::values], state[State::values_lost], value_sum);
    add_compensated(state[State::products], state[State::products_lost], product_sum);
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> predict(LaneArray<T, W> state, const Lanes<T, W>& score_mean, std::int64_t tokens,
                                   int point) const {
    const T factor = grid.inverse_temperatures[point] / static_cast<T>(tokens);
    return factor * (state[State::products] + score_mean * state[State::values]);
  }

 private:
  /// The sums over the tokens so far, and what each has lost to rounding.
  enum class State { values, products, values_lost, products_lost };
};

/// Prediction of softmax attention: \f$ \sum_j e^{z_j/\tau} v_j / \sum_j e^{z_j/\tau} \f$, by a running maximum.
///
/// Source    arXiv 2511.01292 eq. (6); the running maximum after Milakov and Gimelshein 2018.
/// Units     of the values.
/// Accuracy  as ApproximateSoftmaxReadout.
/// Runs on   host and device
template <class T>
struct SoftmaxReadout {
  TemperatureGrid<T> grid;

  INCONTEXT_HD int rows() const { return 1 + sums_per_point * grid.size; }

  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> state, const Lanes<T, W>&) const {
    largest(state) = T(-1e30);  // below every score, and finite: no infinity minus infinity
    fill(state.after(1), rows() - 1, T(0));
  }

  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> state, const Lanes<T, W>* scores, const Lanes<T, W>* values, int tokens) const {
    Lanes<T, W> highest = largest(state);
    for (int token = 0; token < tokens; ++token) raise(highest, scores[token]);
    const Lanes<T, W> drop = largest(state) - highest;
    largest(state) = highest;
    for (int point = 0; point < grid.size; ++point) {
      const T inverse_temperature = grid.inverse_temperatures[point];
      // Sums over the tokens of this call, because a GPU would read and write those of the state for every token.
      Lanes<T, W> weights(T(0)), weighted_values(T(0));
      for (int token = 0; token < tokens; ++token) {
        add_token(weights, weighted_values, scores[token], highest, values[token], inverse_temperature);
      }
      const auto own = sums(state, point);
      shrink_and_add(own[Sum::weights], own[Sum::weighted_values], drop, inverse_temperature, weights, weighted_values);
    }
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> predict(LaneArray<T, W> state, const Lanes<T, W>&, std::int64_t, int point) const {
    return sums(state, point)[Sum::weighted_values] / sums(state, point)[Sum::weights];
  }

 private:
  static constexpr int sums_per_point = 2;
  enum class Sum { weights, weighted_values };

  /// The state is the largest score so far, and then the sums of each temperature relative to it.
  template <int W>
  INCONTEXT_HD static Lanes<T, W>& largest(LaneArray<T, W> state) {
    return state[0];
  }
  template <int W>
  INCONTEXT_HD static LaneArray<T, W> sums(LaneArray<T, W> state, int point) {
    return state.after(1 + sums_per_point * point);
  }

  template <int W>
  INCONTEXT_HD static void raise(Lanes<T, W>& __restrict__ highest, const Lanes<T, W>& __restrict__ score) {
    for (int lane = 0; lane < W; ++lane) highest[lane] = score[lane] > highest[lane] ? score[lane] : highest[lane];
  }

  template <int W>
  INCONTEXT_HD static void add_token(Lanes<T, W>& __restrict__ weights, Lanes<T, W>& __restrict__ weighted_values,
                                     const Lanes<T, W>& __restrict__ score, const Lanes<T, W>& __restrict__ highest,
                                     const Lanes<T, W>& __restrict__ value, T inverse_temperature) {
    for (int lane = 0; lane < W; ++lane) {
      const T weight = elementary::exp((score[lane] - highest[lane]) * inverse_temperature);
      weights[lane] += weight;
      weighted_values[lane] += weight * value[lane];
    }
  }

  /// Rescales sums that are relative to the former largest score, so that they are relative to the present one, and
  /// adds those of the next tokens.
  template <int W>
  INCONTEXT_HD static void shrink_and_add(Lanes<T, W>& __restrict__ weights, Lanes<T, W>& __restrict__ weighted_values,
                                          const Lanes<T, W>& __restrict__ drop, T inverse_temperature,
                                          const Lanes<T, W>& __restrict__ more_weights,
                                          const Lanes<T, W>& __restrict__ more_weighted_values) {
    for (int lane = 0; lane < W; ++lane) {
      const T kept = elementary::exp(drop[lane] * inverse_temperature);
      weights[lane] = weights[lane] * kept + more_weights[lane];
      weighted_values[lane] = weighted_values[lane] * kept + more_weighted_values[lane];
    }
  }
};

}  // namespace incontext::simulate
