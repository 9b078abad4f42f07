#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/score_exponent.hpp"

namespace incontext::simulate {

/// Softmax of standard scores, streamed: \f$ p_2 = \sum_j p_j^2 \f$ and \f$ m_1 = \sum_j p_j g_j \f$ of weights
/// \f$ p_j \propto e^{\phi(s g_j)} \f$ for every exponent of a grid, in one pass that keeps no score.
///
/// Units     dimensionless.
/// Accuracy  against the row at once in tests/simulate/reduced_softmax.cpp.
/// Runs on   host and device
template <class T, class Exponent>
struct SoftmaxMomentsReadout {
  static constexpr int tile = 16;         // scores between two looks at the largest exponent
  static constexpr int rows_a_point = 7;  // largest exponent; sums of p, p^2, p g; what rounding took from each
  const Exponent* exponents;
  int size;

  INCONTEXT_HD int rows() const { return rows_a_point * size; }

  template <int W>
  INCONTEXT_HD void start(detail::Scratch<T, W> state) const {
    for (int i = 0; i < rows(); ++i) detail::fill<W>(state.row(i), T(i % rows_a_point == 0 ? -1e30 : 0));
  }

  /// `normals` are g_j, `deviation` is s.
  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> state, const T* deviation, const T* normals, int tokens) const {
    alignas(W >= 16 ? 64 : 8) T logs[tile][W];
    for (int point = 0; point < size; ++point) {
      const auto sums = state.after(rows_a_point * point);
      const Exponent exponent = exponents[point];
      alignas(W >= 16 ? 64 : 8) T highest[W];
      for (int lane = 0; lane < W; ++lane) highest[lane] = sums.row(0)[lane];
      for (int token = 0; token < tokens; ++token) {
        for (int lane = 0; lane < W; ++lane) {
          const T log_weight = exponent(deviation[lane] * normals[token * W + lane]);
          logs[token][lane] = log_weight;
          highest[lane] = log_weight > highest[lane] ? log_weight : highest[lane];
        }
      }
      add_tile<W>(sums, highest, logs[0], normals, tokens);
    }
  }

  template <int W>
  INCONTEXT_HD void moments(detail::Scratch<T, W> state, int point, T* participation, T* mean_normal) const {
    const auto sums = state.after(rows_a_point * point);
    const T* weights = sums.row(1);
    const T* squares = sums.row(2);
    const T* products = sums.row(3);
    for (int lane = 0; lane < W; ++lane) {
      const T share = T(1) / weights[lane];
      participation[lane] = squares[lane] * share * share;
      mean_normal[lane] = products[lane] * share;
    }
  }

 private:
  /// A tile is summed by itself, then added with what rounding takes: the many small weights of a long row count.
  template <int W>
  INCONTEXT_HD void add_tile(detail::Scratch<T, W> sums, const T* highest, const T* logs, const T* normals,
                             int tokens) const {
    alignas(W >= 16 ? 64 : 8) T weight_sum[W] = {};
    alignas(W >= 16 ? 64 : 8) T square_sum[W] = {};
    alignas(W >= 16 ? 64 : 8) T product_sum[W] = {};
    for (int token = 0; token < tokens; ++token) {
      for (int lane = 0; lane < W; ++lane) {
        const T weight = elementary::exp(logs[token * W + lane] - highest[lane]);
        weight_sum[lane] += weight;
        square_sum[lane] += weight * weight;
        product_sum[lane] += weight * normals[token * W + lane];
      }
    }
    T* __restrict__ maximum = sums.row(0);
    alignas(W >= 16 ? 64 : 8) T kept[W];
    for (int lane = 0; lane < W; ++lane) {
      kept[lane] = elementary::exp(maximum[lane] - highest[lane]);
      maximum[lane] = highest[lane];
    }
    for (int row = 1; row < rows_a_point; ++row) {
      const bool squares = row % 3 == 2;
      T* __restrict__ sum = sums.row(row);
      for (int lane = 0; lane < W; ++lane) sum[lane] *= squares ? kept[lane] * kept[lane] : kept[lane];
    }
    detail::add_compensated<W>(sums.row(1), sums.row(4), weight_sum);
    detail::add_compensated<W>(sums.row(2), sums.row(5), square_sum);
    detail::add_compensated<W>(sums.row(3), sums.row(6), product_sum);
  }
};

}  // namespace incontext::simulate
