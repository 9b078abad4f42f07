#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// Attention as written, streamed: a readout takes the tokens of a context a few at a time (raw score, value) and at
/// the end says what the layer predicts at every temperature of a grid. No token is kept, so memory does not grow with
/// the context, and the whole grid costs one pass.
///
/// A readout is plain data with rows(), start, add (score and value of one tile of tokens) and predict. Scores arrive
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
/// Accuracy  against the matrix form of eq. (5), trial by trial, in tests/simulate/trials/regression.cpp.
/// Runs on   host and device
template <class T>
struct ApproximateSoftmaxReadout {
  TemperatureGrid<T> grid;
  bool offset_removed;

  INCONTEXT_HD int rows() const { return 6; }

  template <int W>
  INCONTEXT_HD void start(detail::Scratch<T, W> state, const T*) const {
    for (int i = 0; i < 6; ++i) detail::fill<W>(state.row(i), T(0));
  }

  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> state, const T* scores, const T* values, int tokens) const {
    alignas(W >= 16 ? 64 : 8) T score_sum[W] = {};
    alignas(W >= 16 ? 64 : 8) T value_sum[W] = {};
    alignas(W >= 16 ? 64 : 8) T product_sum[W] = {};
    for (int token = 0; token < tokens; ++token) {
      detail::add_scaled<W>(score_sum, T(1), scores + token * W);
      detail::add_scaled<W>(value_sum, T(1), values + token * W);
      detail::add_product<W>(product_sum, scores + token * W, values + token * W);
    }
    detail::add_compensated<W>(state.row(0), state.row(3), score_sum);
    detail::add_compensated<W>(state.row(1), state.row(4), value_sum);
    detail::add_compensated<W>(state.row(2), state.row(5), product_sum);
  }

  template <int W>
  INCONTEXT_HD void predict(detail::Scratch<T, W> state, const T*, std::int64_t tokens, int point, T* out) const {
    const T share = T(1) / static_cast<T>(tokens);
    const T inverse_temperature = grid.inverse_temperatures[point];
    const T* scores = state.row(0);
    const T* values = state.row(1);
    const T* products = state.row(2);
    for (int lane = 0; lane < W; ++lane) {
      const T mean_value = values[lane] * share;
      const T covariance = products[lane] * share - scores[lane] * share * mean_value;
      out[lane] = (offset_removed ? T(0) : mean_value) + inverse_temperature * covariance;
    }
  }
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
  INCONTEXT_HD void start(detail::Scratch<T, W> state, const T*) const {
    for (int i = 0; i < 4; ++i) detail::fill<W>(state.row(i), T(0));
  }

  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> state, const T* scores, const T* values, int tokens) const {
    alignas(W >= 16 ? 64 : 8) T value_sum[W] = {};
    alignas(W >= 16 ? 64 : 8) T product_sum[W] = {};
    for (int token = 0; token < tokens; ++token) {
      detail::add_scaled<W>(value_sum, T(1), values + token * W);
      detail::add_product<W>(product_sum, scores + token * W, values + token * W);
    }
    detail::add_compensated<W>(state.row(0), state.row(2), value_sum);
    detail::add_compensated<W>(state.row(1), state.row(3), product_sum);
  }

  template <int W>
  INCONTEXT_HD void predict(detail::Scratch<T, W> state, const T* score_mean, std::int64_t tokens, int point,
                            T* out) const {
    const T factor = grid.inverse_temperatures[point] / static_cast<T>(tokens);
    const T* values = state.row(0);
    const T* products = state.row(1);
    for (int lane = 0; lane < W; ++lane) out[lane] = factor * (products[lane] + score_mean[lane] * values[lane]);
  }
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

  INCONTEXT_HD int rows() const { return 1 + 2 * grid.size; }

  template <int W>
  INCONTEXT_HD void start(detail::Scratch<T, W> state, const T*) const {
    detail::fill<W>(state.row(0), T(-1e30));  // below every score, and finite: no infinity minus infinity
    for (int i = 1; i < rows(); ++i) detail::fill<W>(state.row(i), T(0));
  }

  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> state, const T* scores, const T* values, int tokens) const {
    alignas(W >= 16 ? 64 : 8) T drop[W];
    T* maximum = state.row(0);
    for (int lane = 0; lane < W; ++lane) {
      T highest = maximum[lane];
      for (int token = 0; token < tokens; ++token) {
        highest = scores[token * W + lane] > highest ? scores[token * W + lane] : highest;
      }
      drop[lane] = maximum[lane] - highest;
      maximum[lane] = highest;
    }
    for (int point = 0; point < grid.size; ++point) {
      const T inverse_temperature = grid.inverse_temperatures[point];
      T* __restrict__ weights = state.row(1 + 2 * point);
      T* __restrict__ sums = state.row(2 + 2 * point);
      for (int lane = 0; lane < W; ++lane) {
        const T kept = elementary::exp(drop[lane] * inverse_temperature);
        weights[lane] *= kept;
        sums[lane] *= kept;
      }
      for (int token = 0; token < tokens; ++token) {
        const T* __restrict__ score = scores + token * W;
        const T* __restrict__ value = values + token * W;
        for (int lane = 0; lane < W; ++lane) {
          const T weight = elementary::exp((score[lane] - maximum[lane]) * inverse_temperature);
          weights[lane] += weight;
          sums[lane] += weight * value[lane];
        }
      }
    }
  }

  template <int W>
  INCONTEXT_HD void predict(detail::Scratch<T, W> state, const T*, std::int64_t, int point, T* out) const {
    const T* weights = state.row(1 + 2 * point);
    const T* sums = state.row(2 + 2 * point);
    for (int lane = 0; lane < W; ++lane) out[lane] = sums[lane] / weights[lane];
  }
};

}  // namespace incontext::simulate
