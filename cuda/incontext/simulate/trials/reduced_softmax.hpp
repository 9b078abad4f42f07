#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/regression_model.hpp"
#include "incontext/simulate/trials/softmax_moments_readout.hpp"

namespace incontext::simulate {

/// One trial of softmax attention that draws the query and its scores alone: given those, what is left of the inputs,
/// the task, the noise and the label are averaged in closed form. The same mean as RegressionErrorTrial at l + d
/// normals a trial instead of l (d + 1).
///
/// \f[ \sigma^2 (1 + v^2 p_2) + x_q^T R x_q - 2 v\, m_1\, x_q^T R u + v^2 \left( m_1^2\, u^T R u
///     + p_2 (\mathrm{tr}(R \Sigma) - u^T R u) \right),\quad u = \Sigma k / s,\ k = M x_q,\ s^2 = k^T \Sigma k \f]
///
/// Source    derived: docs/theory/regression.md#softmax-error (10), the drawn row in place of its moments.
/// Shapes    one value an exponent of the readout's grid.
/// Units     label units squared.
/// Domain    query excluded, input_mean = 0, input_value = 0.
/// Limits    s = 0: uniform weights, u = 0.
/// Accuracy  against the literal trial and regression::softmax_error in tests/simulate/reduced_softmax.cpp.
/// Random    streams query (d normals) and inputs (a normal a score).
/// Runs on   host and device
template <class T, class Exponent>
struct ReducedSoftmaxTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "dimension and temperatures";
  RegressionModel<T> model;
  SoftmaxMomentsReadout<T, Exponent> readout;
  T signal_variance;  // tr(R S)

  INCONTEXT_HD int outputs() const { return readout.size; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 4 * std::int64_t{model.dimension} + readout.rows(); }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    alignas(W >= 16 ? 64 : 8) T deviation[W];
    alignas(W >= 16 ? 64 : 8) T query_label[W];  // x_q^T R x_q
    alignas(W >= 16 ? 64 : 8) T cross[W];        // x_q^T R u
    alignas(W >= 16 ? 64 : 8) T along[W];        // u^T R u
    draw_query<W>(seed, first_trial, scratch, deviation, query_label, cross, along);
    const auto state = scratch.after(4 * std::int64_t{model.dimension});
    readout.template start<W>(state);
    read_scores<W>(seed, first_trial, deviation, state);

    const T noise = model.noise_stddev * model.noise_stddev;
    const T v = model.label_value;
    alignas(W >= 16 ? 64 : 8) T participation[W];
    alignas(W >= 16 ? 64 : 8) T mean[W];
    for (int point = 0; point < readout.size; ++point) {
      readout.template moments<W>(state, point, participation, mean);
      T* __restrict__ out = values + point * value_stride;
      for (int lane = 0; lane < W; ++lane) {
        const T read = v * mean[lane];
        const T across = noise + (signal_variance - along[lane]);
        out[lane] = noise + query_label[lane] + read * (read * along[lane] - T(2) * cross[lane]) +
                    v * v * participation[lane] * across;
      }
    }
  }

 private:
  template <int W>
  INCONTEXT_HD void draw_query(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch,
                               T* deviation, T* query_label, T* cross, T* along) const {
    const int d = model.dimension;
    const auto query = scratch;
    const auto keyed_query = scratch.after(d);  // M x_q, then u
    const auto direction = scratch.after(2 * d);
    const auto task_direction = scratch.after(3 * d);
    detail::draw_gaussian<W>(query, {seed, first_trial, static_cast<std::uint32_t>(Stream::query)}, model.input_mean,
                             model.input_factor, d);
    detail::multiply<W>(keyed_query, model.key_query, query, d);
    detail::multiply_transposed<W>(direction, model.input_factor, keyed_query, d);
    detail::fill<W>(deviation, T(0));
    detail::add_dot<W>(deviation, direction, direction, d);
    for (int lane = 0; lane < W; ++lane) {
      using std::sqrt;
      deviation[lane] = sqrt(deviation[lane]);
    }
    for (int i = 0; i < d; ++i) {
      T* row = direction.row(i);
      for (int lane = 0; lane < W; ++lane) {
        row[lane] = row[lane] / (deviation[lane] > T(0) ? deviation[lane] : T(1));
      }
    }
    const auto attended = keyed_query;
    detail::multiply<W>(attended, model.input_factor, direction, d);

    // Inner products with R = C C^T + mu mu^T.
    const auto task_query = direction;
    detail::multiply_transposed<W>(task_query, model.task_factor, query, d);
    detail::multiply_transposed<W>(task_direction, model.task_factor, attended, d);
    alignas(W >= 16 ? 64 : 8) T query_mean[W];
    alignas(W >= 16 ? 64 : 8) T attended_mean[W];
    detail::fill<W>(query_mean, T(0));
    detail::fill<W>(attended_mean, T(0));
    detail::add_dot<W>(query_mean, model.task_mean, query, d);
    detail::add_dot<W>(attended_mean, model.task_mean, attended, d);
    for (int lane = 0; lane < W; ++lane) {
      query_label[lane] = query_mean[lane] * query_mean[lane];
      cross[lane] = query_mean[lane] * attended_mean[lane];
      along[lane] = attended_mean[lane] * attended_mean[lane];
    }
    detail::add_dot<W>(query_label, task_query, task_query, d);
    detail::add_dot<W>(cross, task_query, task_direction, d);
    detail::add_dot<W>(along, task_direction, task_direction, d);
  }

  template <int W>
  INCONTEXT_HD void read_scores(std::uint64_t seed, std::uint64_t first_trial, const T* deviation,
                                detail::Scratch<T, W> state) const {
    constexpr int tile = SoftmaxMomentsReadout<T, Exponent>::tile;
    constexpr int per_block = random::normals_per_block<T>;
    const random::LaneStream<W> stream(seed, first_trial, static_cast<std::uint32_t>(Stream::inputs));
    alignas(W >= 16 ? 64 : 8) T normal[tile / per_block][per_block][W];
    for (std::int64_t first = 0; first < model.context_length && !stop_requested(); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      for (int block = 0; block * per_block < tokens; ++block) {
        random::normals(stream, static_cast<std::uint32_t>(first / per_block + block), normal[block]);
      }
      readout.template add<W>(state, deviation, normal[0][0], tokens);
    }
  }
};

}  // namespace incontext::simulate
