#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/sphere_task_draw.hpp"

namespace incontext::simulate {

/// What a trial measures of the kernel mass around its query, S~ = sum_j e^(kappa (x_j.x - 1)), over a reference mass:
/// the mass; its squared deviation from 1; then, of S~ itself, 1/S~ and 1/(1 + S~); of the weights w_j/S~ their sum of
/// squares, their largest, and the total of the query's own class.
///
/// Runs on   host and device
enum class MassMetric {
  mass,
  squared_deviation,
  inverse_mass,
  inverse_mass_with_query,
  participation,
  largest_weight,
  label_share
};

/// What a trial measures of its classes: the largest and the smallest share of the context's points, the sum of the
/// squared shares, and the length of the mean point. Shares tell of independent contexts only.
///
/// Runs on   host and device
enum class BalanceMetric { largest_share, smallest_share, squared_shares, mean_point_length };

namespace detail {

inline constexpr int mass_metrics = 7;
inline constexpr int balance_metrics = 4;

}  // namespace detail

/// A kernel and the mass it is measured by.
///
/// Runs on   host and device
template <class T>
struct KernelReference {
  T kappa;
  T mass;
};

/// One trial of the kernel mass around a query, for every kernel of a list, and of the classes' shares.
///
/// Source    the definition; classification::kernel_mean, inverse_kernel_mass and circle_cells are what it judges.
/// Shapes    7 values a kernel in the order of MassMetric, then 4 in the order of BalanceMetric.
/// Units     dimensionless.
/// Domain    as SphereTaskDraw; kappa >= 0.
/// Limits    1/S~ beyond T: infinity.
/// Accuracy  trial by trial against the definition: tests/simulate/classification_mass.cpp.
/// Random    as SphereTaskDraw.
/// Runs on   host and device
template <class T>
struct KernelMassTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const KernelReference<T>* kernels;
  int size;

  INCONTEXT_HD int outputs() const { return size * detail::mass_metrics + detail::balance_metrics; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return task.rows() + task.context_length + task.classes; }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t stride) const {
    const auto scores = scratch.after(task.rows());
    alignas(W >= 16 ? 64 : 8) T largest[W];
    detail::fill<W>(largest, T(0));
    task.template draw<W>(seed, first_trial, scratch);
    for (std::int64_t j = 0; j < task.context_length && !stop_requested(); ++j) {
      T* __restrict__ score = scores.row(j);
      detail::fill<W>(score, T(0));
      detail::add_dot<W>(score, scratch.after(j * task.dimension), scratch.after(task.query_row()), task.dimension);
      for (int lane = 0; lane < W; ++lane) {
        largest[lane] = j == 0 || score[lane] > largest[lane] ? score[lane] : largest[lane];
      }
    }
    for (int i = 0; i < size && !stop_requested(); ++i) {
      measure<W>(scratch, scores, largest, kernels[i], values + i * detail::mass_metrics * stride, stride);
    }
    balance<W>(scratch, scores.after(task.context_length), values + size * detail::mass_metrics * stride, stride);
  }

 private:
  template <int W>
  INCONTEXT_HD void measure(detail::Scratch<T, W> context, detail::Scratch<T, W> scores, const T* largest,
                            KernelReference<T> kernel, T* out, std::int64_t stride) const {
    alignas(W >= 16 ? 64 : 8) T sum[W], squares[W], own[W], label[W];
    detail::fill<W>(sum, T(0));
    detail::fill<W>(squares, T(0));
    detail::fill<W>(own, T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      const T* __restrict__ score = scores.row(j);
      label_of<W>(context, j, label);
      const T* __restrict__ wanted = context.row(task.label_row());
      for (int lane = 0; lane < W; ++lane) {
        const T weight = elementary::exp(kernel.kappa * (score[lane] - largest[lane]));
        sum[lane] += weight;
        squares[lane] += weight * weight;
        own[lane] += label[lane] == wanted[lane] ? weight : T(0);
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      const T mass = sum[lane] * elementary::exp(kernel.kappa * (largest[lane] - T(1)));
      const T relative = mass / kernel.mass, share = T(1) / sum[lane];
      out[lane] = relative;
      out[stride + lane] = (relative - T(1)) * (relative - T(1));
      out[2 * stride + lane] = T(1) / mass;
      out[3 * stride + lane] = T(1) / (T(1) + mass);
      out[4 * stride + lane] = squares[lane] * share * share;
      out[5 * stride + lane] = share;
      out[6 * stride + lane] = own[lane] * share;
    }
  }

  template <int W>
  INCONTEXT_HD void label_of(detail::Scratch<T, W> context, std::int64_t j, T* label) const {
    if (task.law == ContextLaw::balanced) return detail::fill<W>(label, static_cast<T>(j / task.class_size()));
    const T* row = context.row(task.labels_row() + j);
    for (int lane = 0; lane < W; ++lane) label[lane] = row[lane];
  }

  template <int W>
  INCONTEXT_HD void balance(detail::Scratch<T, W> context, detail::Scratch<T, W> counts, T* out,
                            std::int64_t stride) const {
    using std::sqrt;
    const T share = T(1) / static_cast<T>(task.context_length);
    alignas(W >= 16 ? 64 : 8) T label[W], sum[W];
    for (int c = 0; c < task.classes; ++c) detail::fill<W>(counts.row(c), T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      label_of<W>(context, j, label);
      for (int lane = 0; lane < W; ++lane) counts.row(static_cast<int>(label[lane]))[lane] += T(1);
    }
    for (int i = 0; i < detail::balance_metrics; ++i) detail::fill<W>(out + i * stride, T(i == 1 ? 1 : 0));
    for (int c = 0; c < task.classes; ++c) {
      const T* __restrict__ count = counts.row(c);
      for (int lane = 0; lane < W; ++lane) {
        const T part = share * count[lane];
        out[lane] = part > out[lane] ? part : out[lane];
        out[stride + lane] = part < out[stride + lane] ? part : out[stride + lane];
        out[2 * stride + lane] += part * part;
      }
    }
    T* __restrict__ length = out + 3 * stride;
    for (int i = 0; i < task.dimension && !stop_requested(); ++i) {
      detail::fill<W>(sum, T(0));
      for (std::int64_t j = 0; j < task.context_length; ++j) {
        detail::add_scaled<W>(sum, share, context.row(j * task.dimension + i));
      }
      for (int lane = 0; lane < W; ++lane) length[lane] += sum[lane] * sum[lane];
    }
    for (int lane = 0; lane < W; ++lane) length[lane] = sqrt(length[lane]);
  }
};

}  // namespace incontext::simulate
