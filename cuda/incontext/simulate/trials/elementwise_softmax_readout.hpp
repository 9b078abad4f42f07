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
/// Accuracy  against the weights of the maps themselves, trial by trial, in tests/simulate/trials/regression.cpp.
/// Runs on   host and device
template <class T, class Exponent>
struct ElementwiseSoftmaxReadout {
  static constexpr int tile = 4;  // tokens between two updates of the largest exponent
  ExponentGrid<Exponent> grid;

  INCONTEXT_HD int rows() const { return 1 + 3 * grid.size; }

  template <int W>
  INCONTEXT_HD void start(detail::Scratch<T, W> state, const T* score_mean) const {
    for (int lane = 0; lane < W; ++lane) state.row(0)[lane] = score_mean[lane];
    for (int point = 0; point < grid.size; ++point) {
      const auto sums = state.after(1 + 3 * point);  // largest exponent; sums of weights, of weights times values
      detail::fill<W>(sums.row(0), T(-1e30));
      detail::fill<W>(sums.row(1), T(0));
      detail::fill<W>(sums.row(2), T(0));
    }
  }

  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> state, const T* scores, const T* values, int tokens) const {
    for (int first = 0; first < tokens; first += tile) {
      const int count = tokens - first < tile ? tokens - first : tile;
      for (int point = 0; point < grid.size; ++point) {
        add_tile<W>(state.after(1 + 3 * point), grid.exponents[point], state.row(0), scores + first * W,
                    values + first * W, count);
      }
    }
  }

  template <int W>
  INCONTEXT_HD void predict(detail::Scratch<T, W> state, const T*, std::int64_t, int point, T* out) const {
    const auto sums = state.after(1 + 3 * point);
    for (int lane = 0; lane < W; ++lane) out[lane] = sums.row(2)[lane] / sums.row(1)[lane];
  }

 private:
  template <int W>
  INCONTEXT_HD void add_tile(detail::Scratch<T, W> sums, const Exponent& exponent, const T* score_mean, const T* scores,
                             const T* values, int tokens) const {
    alignas(W >= 16 ? 64 : 8) T logs[tile][W];
    alignas(W >= 16 ? 64 : 8) T highest[W];
    for (int lane = 0; lane < W; ++lane) highest[lane] = sums.row(0)[lane];
    for (int token = 0; token < tokens; ++token) {
      for (int lane = 0; lane < W; ++lane) {
        const T log_weight = exponent(scores[token * W + lane] + score_mean[lane]);
        logs[token][lane] = log_weight;
        highest[lane] = log_weight > highest[lane] ? log_weight : highest[lane];
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      const T kept = elementary::exp(sums.row(0)[lane] - highest[lane]);
      sums.row(1)[lane] *= kept;
      sums.row(2)[lane] *= kept;
      sums.row(0)[lane] = highest[lane];
    }
    for (int token = 0; token < tokens; ++token) {
      for (int lane = 0; lane < W; ++lane) {
        const T weight = elementary::exp(logs[token][lane] - highest[lane]);
        sums.row(1)[lane] += weight;
        sums.row(2)[lane] += weight * values[token * W + lane];
      }
    }
  }
};

}  // namespace incontext::simulate
