#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/score_exponent.hpp"

namespace incontext::simulate {

/// Softmax of standard scores, streamed: \f$ p_2 = \sum_j p_j^2 \f$ and \f$ m_1 = \sum_j p_j g_j \f$ of weights
/// \f$ p_j \propto e^{\phi(s g_j)} \f$ for every exponent of a grid, in one pass that keeps no score.
///
/// Accuracy  against the whole row in tests/simulate/regression/reduced_softmax_error.cpp.
/// Runs on   host and device
template <class T, class Exponent>
struct SoftmaxMomentsReadout {
  static constexpr int tile = 16;  // scores between two updates of the largest exponent
  const Exponent* exponents;
  int size;

  /// The moments p_2 and m_1 of one row of weights.
  template <int W>
  struct Moments {
    Lanes<T, W> ipr;
    Lanes<T, W> mean_normal;
  };

  INCONTEXT_HD int rows() const { return sums_per_point * size; }

  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> state) const {
    fill(state, rows(), T(0));
    for (int point = 0; point < size; ++point) sums(state, point)[Sum::largest] = T(-1e30);
  }

  /// `normals` are g_j, `deviation` is s.
  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> state, const Lanes<T, W>& deviation, const Lanes<T, W>* normals,
                        int tokens) const {
    Lanes<T, W> logs[tile];
    for (int point = 0; point < size; ++point) {
      const auto own = sums(state, point);
      const Exponent exponent = exponents[point];
      Lanes<T, W> highest = own[Sum::largest];
      for (int token = 0; token < tokens; ++token) {
        for (int lane = 0; lane < W; ++lane) {
          const T log_weight = exponent(deviation[lane] * normals[token][lane]);
          logs[token][lane] = log_weight;
          highest[lane] = log_weight > highest[lane] ? log_weight : highest[lane];
        }
      }
      add_tile(own, highest, logs, normals, tokens);
    }
  }

  template <int W>
  INCONTEXT_HD Moments<W> moments(LaneArray<T, W> state, int point) const {
    const auto own = sums(state, point);
    const Lanes<T, W> share = T(1) / own[Sum::weights];
    return {own[Sum::squares] * share * share, own[Sum::products] * share};
  }

 private:
  /// The largest exponent so far; sums of p, p^2 and p g relative to it, and what each has lost to rounding.
  enum class Sum { largest, weights, squares, products, weights_lost, squares_lost, products_lost };
  static constexpr int sums_per_point = 7;

  template <int W>
  INCONTEXT_HD static LaneArray<T, W> sums(LaneArray<T, W> state, int point) {
    return state.after(sums_per_point * point);
  }

  /// Sums a tile by itself and then adds it by Kahan's summation: the rounding error of every addition is kept
  /// beside the sum, so that the many small weights of a long row are not lost.
  template <int W>
  INCONTEXT_HD static void add_tile(LaneArray<T, W> own, const Lanes<T, W>& highest, const Lanes<T, W>* logs,
                                    const Lanes<T, W>* normals, int tokens) {
    Lanes<T, W> weights(T(0)), squares(T(0)), products(T(0));
    for (int token = 0; token < tokens; ++token) {
      for (int lane = 0; lane < W; ++lane) {
        const T weight = elementary::exp(logs[token][lane] - highest[lane]);
        weights[lane] += weight;
        squares[lane] += weight * weight;
        products[lane] += weight * normals[token][lane];
      }
    }
    const auto kept =
        Lanes<T, W>::each([&](int lane) { return elementary::exp(own[Sum::largest][lane] - highest[lane]); });
    own[Sum::largest] = highest;
    own[Sum::weights] *= kept;
    own[Sum::squares] *= kept * kept;
    own[Sum::products] *= kept;
    own[Sum::weights_lost] *= kept;
    own[Sum::squares_lost] *= kept * kept;
    own[Sum::products_lost] *= kept;
    add_compensated(own[Sum::weights], own[Sum::weights_lost], weights);
    add_compensated(own[Sum::squares], own[Sum::squares_lost], squares);
    add_compensated(own[Sum::products], own[Sum::products_lost], products);
  }
};

}  // namespace incontext::simulate
