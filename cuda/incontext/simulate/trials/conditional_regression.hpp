#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/trials/attention_readout.hpp"
#include "incontext/simulate/trials/context_moments.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/regression_model.hpp"

namespace incontext::simulate {

/// How the weights of an attention that is affine in the scores attend to a context, from its moments: the weight of
/// mu_x, the attended input in the coordinates g, and the sum of squared weights, at one temperature.
///
/// Runs on   host and device
enum class AffineAttention { approximate_softmax, approximate_softmax_without_offset, linear };

/// One trial with task vector, noise and query label averaged in closed form: the same mean as RegressionErrorTrial, a
/// fraction of its variance. Moments says how the context is drawn (TokenMoments or WishartMoments).
///
/// \f[ \sigma^2 \bigl(1 + v_y^2 \sum_j a_j^2\bigr) + (v_x^T t + \mu_w^T r)^2 + r^T W r,\quad t = \sum_j a_j x_j,\
///     r = v_y t - x_q \f]
///
/// Source    derived: docs/theory/regression.md#simulators, for any v_x and task mean.
/// Shapes    one value a temperature.
/// Units     label units squared.
/// Domain    query excluded.
/// Accuracy  against the literal trial in tests/simulate/regression.cpp.
/// Random    streams query and those of Moments.
/// Runs on   host and device
template <class T, class Moments>
struct ConditionalErrorTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "dimension";
  RegressionModel<T> model;
  TemperatureGrid<T> grid;
  AffineAttention kind;

  INCONTEXT_HD int outputs() const { return grid.size; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return 4 * model.dimension + ContextMoments<T, 1>::rows(model.dimension) + Moments::scratch_rows(model.dimension);
  }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    const int d = model.dimension;
    const auto query = scratch;
    const auto direction = scratch.after(d);  // A^T M x_q
    const auto keyed_query = scratch.after(2 * d);
    const auto residual = scratch.after(3 * d);
    const ContextMoments<T, W> moments(scratch.after(4 * d), d);
    detail::draw_gaussian<W>(query, {seed, first_trial, static_cast<std::uint32_t>(Stream::query)}, model.input_mean,
                             model.input_factor, d);
    detail::multiply<W>(keyed_query, model.key_query, query, d);
    detail::multiply_transposed<W>(direction, model.input_factor, keyed_query, d);
    alignas(W >= 16 ? 64 : 8) T score_mean[W];
    detail::fill<W>(score_mean, T(0));
    detail::add_dot<W>(score_mean, model.input_mean, keyed_query, d);
    Moments::template draw<W>(model, seed, first_trial, direction, scratch.after(4 * d + ContextMoments<T, W>::rows(d)),
                              moments);

    const auto attended = keyed_query;  // no longer needed
    alignas(W >= 16 ? 64 : 8) T mean_weight[W];
    alignas(W >= 16 ? 64 : 8) T square_sum[W];
    for (int point = 0; point < grid.size; ++point) {
      attend<W>(moments, score_mean, grid.inverse_temperatures[point], attended, mean_weight, square_sum);
      average_labels<W>(query, attended, mean_weight, square_sum, residual, values + point * value_stride);
    }
  }

 private:
  template <int W>
  INCONTEXT_HD void attend(ContextMoments<T, W> moments, const T* score_mean, T inverse_temperature,
                           detail::Scratch<T, W> attended, T* mean_weight, T* square_sum) const {
    const T share = T(1) / static_cast<T>(model.context_length);
    for (int lane = 0; lane < W; ++lane) {
      mean_weight[lane] = kind == AffineAttention::linear
                              ? inverse_temperature * (score_mean[lane] + moments.score_mean[lane])
                              : (kind == AffineAttention::approximate_softmax ? T(1) : T(0));
      square_sum[lane] = share * (mean_weight[lane] * mean_weight[lane] +
                                  inverse_temperature * inverse_temperature * moments.score_variance[lane]);
    }
    for (int i = 0; i < model.dimension; ++i) {
      const T* mean = moments.mean.row(i);
      const T* slope = moments.attended.row(i);
      T* out = attended.row(i);
      for (int lane = 0; lane < W; ++lane) {
        out[lane] = mean_weight[lane] * mean[lane] + inverse_temperature * slope[lane];
      }
    }
  }

  template <int W>
  INCONTEXT_HD void average_labels(detail::Scratch<T, W> query, detail::Scratch<T, W> attended, const T* mean_weight,
                                   const T* square_sum, detail::Scratch<T, W> residual, T* out) const {
    const int d = model.dimension;
    alignas(W >= 16 ? 64 : 8) T bias[W];
    alignas(W >= 16 ? 64 : 8) T input[W];
    detail::fill<W>(bias, T(0));
    for (int i = 0; i < d && !stop_requested(); ++i) {  // input = t_i = (weight of the mean) mu_i + (A attended)_i
      for (int lane = 0; lane < W; ++lane) input[lane] = mean_weight[lane] * model.input_mean[i];
      detail::add_dot<W>(input, model.input_factor + i * d, attended, d);
      T* r = residual.row(i);
      for (int lane = 0; lane < W; ++lane) {
        r[lane] = model.label_value * input[lane] - query.row(i)[lane];
        bias[lane] += model.input_value[i] * input[lane] + model.task_mean[i] * r[lane];
      }
    }
    const T noise_variance = model.noise_stddev * model.noise_stddev;
    for (int lane = 0; lane < W; ++lane) {
      out[lane] =
          noise_variance * (T(1) + model.label_value * model.label_value * square_sum[lane]) + bias[lane] * bias[lane];
    }
    for (int i = 0; i < d && !stop_requested(); ++i) {  // |C^T r|^2
      detail::fill<W>(input, T(0));
      for (int j = i; j < d; ++j) {
        if (model.task_factor[j * d + i] != T(0))
          detail::add_scaled<W>(input, model.task_factor[j * d + i], residual.row(j));
      }
      detail::add_product<W>(out, input, input);
    }
  }
};

}  // namespace incontext::simulate
