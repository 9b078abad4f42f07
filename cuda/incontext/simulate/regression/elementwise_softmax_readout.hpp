#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// The exponents of a grid of maps, one per point.
///
/// Runs on   host and device
template <class Exponent>
struct ExponentGrid {
  const Exponent* exponents;
  int size;
};

/// The prediction of softmax after an elementwise map phi, with a separate running maximum for each phi of the grid.
///
/// \f[ \sum_j e^{\phi(z_j)} v_j / \sum_j e^{\phi(z_j)} \f]
///
/// Source    arXiv 2508.14685 eq. 5 in arXiv 2511.01292 eq. (6); the running maximum after Milakov and Gimelshein 2018.
/// Units     of the values.
/// Accuracy  against the weights of the maps themselves, trial by trial, in
///           tests/simulate/regression/regression_trial.cpp.
/// Runs on   host and device
template <class T, class Exponent>
struct ElementwiseSoftmaxReadout {
  static constexpr int tile = 4;  // tokens between two updates of the largest exponent
  ExponentGrid<Exponent> grid;

  INCONTEXT_HD int rows() const { return 1 + sums_per_point * grid.size; }

  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> state, const Lanes<T, W>& score_mean) const {
    state[0] = score_mean;
    for (int point = 0; point < grid.size; ++point) {
      const auto own = sums(state, point);
      own[Sum::largest] = T(-1e30);  // below every exponent, and finite: no infinity minus infinity
      own[Sum::weights] = T(0);
      own[Sum::weighted_values] = T(0);
    }
  }

  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> state, const Lanes<T, W>* scores, const Lanes<T, W>* values, int tokens) const {
    const Lanes<T, W>& score_mean = state[0];
    for (int first = 0; first < tokens; first += tile) {
      const int count = tokens - first < tile ? tokens - first : tile;
      for (int point = 0; point < grid.size; ++point) {
        add_tile(sums(state, point), grid.exponents[point], score_mean, scores + first, values + first, count);
      }
    }
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> predict(LaneArray<T, W> state, const Lanes<T, W>&, std::int64_t, int point) const {
    return sums(state, point)[Sum::weighted_values] / sums(state, point)[Sum::weights];
  }

 private:
  /// The largest exponent so far, and sums of weights relative to it.
  enum class Sum { largest, weights, weighted_values };
  static constexpr int sums_per_point = 3;

  /// The state is the scores' mean, and then the sums of each exponent.
  template <int W>
  INCONTEXT_HD static LaneArray<T, W> sums(LaneArray<T, W> state, int point) {
    return state.after(1 + sums_per_point * point);
  }

  template <int W>
  INCONTEXT_HD void add_tile(LaneArray<T, W> own, const Exponent& exponent, const Lanes<T, W>& score_mean,
                             const Lanes<T, W>* scores, const Lanes<T, W>* values, int tokens) const {
    Lanes<T, W> logs[tile], highest = own[Sum::largest];
    for (int token = 0; token < tokens; ++token) {
      for (int lane = 0; lane < W; ++lane) {
        const T log_weight = exponent(scores[token][lane] + score_mean[lane]);
        logs[token][lane] = log_weight;
        highest[lane] = log_weight > highest[lane] ? log_weight : highest[lane];
      }
    }
    Lanes<T, W> weights(T(0)), weighted_values(T(0));  // of this tile
    for (int token = 0; token < tokens; ++token) {
      for (int lane = 0; lane < W; ++lane) {
        const T weight = elementary::exp(logs[token][lane] - highest[lane]);
        weights[lane] += weight;
        weighted_values[lane] += weight * values[token][lane];
      }
    }
    Lanes<T, W>& __restrict__ all_weights = own[Sum::weights];
    Lanes<T, W>& __restrict__ all_weighted_values = own[Sum::weighted_values];
    Lanes<T, W>& __restrict__ largest = own[Sum::largest];
    for (int lane = 0; lane < W; ++lane) {
      const T kept = elementary::exp(largest[lane] - highest[lane]);
      all_weights[lane] = all_weights[lane] * kept + weights[lane];
      all_weighted_values[lane] = all_weighted_values[lane] * kept + weighted_values[lane];
      largest[lane] = highest[lane];
    }
  }
};

}  // namespace incontext::simulate
