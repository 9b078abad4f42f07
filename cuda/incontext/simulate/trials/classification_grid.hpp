#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/types/classification.hpp"
#include "incontext/simulate/trials/context_votes.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/sphere_task_draw.hpp"

namespace incontext::simulate {

/// A row of a grid: one rule and kappa, tried at every gain times `scale`.
///
/// Runs on   host and device
template <class T>
struct ClassificationRow {
  ClassificationRule rule;
  T kappa;
  T scale;
};

/// One trial of a grid of rules and gains: a context, its votes once a row, then the loss at every gain. Of a
/// prediction only the loss is worked out; which class is largest does not depend on a positive gain.
///
/// Source    as ClassificationTrial.
/// Shapes    losses, rows x gains; accuracies, rows; with a reference (an index of a loss) every loss less that one.
/// Units     nats.
/// Domain    as ClassificationTrial; gains > 0.
/// Accuracy  against ClassificationTrial, trial by trial: tests/simulate/classification_grid.cpp.
/// Random    as SphereTaskDraw.
/// Runs on   host and device
template <class T>
struct ClassificationGridTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 32;  // without the rounding of the logits, which classification_grid adds
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const ClassificationRow<T>* rows;
  int row_count;
  const T* gains;
  int gain_count;
  int reference = -1;

  INCONTEXT_HD int losses() const { return row_count * gain_count; }
  INCONTEXT_HD int outputs() const { return losses() + row_count + (reference < 0 ? 0 : losses()); }
  INCONTEXT_HD std::int64_t context_rows() const { return task.rows() + votes().rows(); }
  INCONTEXT_HD std::int64_t row_rows() const { return 2 * std::int64_t{task.classes}; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return context_rows() + row_rows(); }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t stride) const {
    prepare<W>(seed, first_trial, scratch);
    for (int i = 0; i < row_count && !stop_requested(); ++i) {
      run_row<W>(scratch, scratch.after(context_rows()), i, 0, gain_count,
                 values + std::int64_t{i} * gain_count * stride, values + (losses() + i) * stride, stride);
    }
    for (int i = 0; i < losses() && reference >= 0; ++i) {
      subtract<W>(values + i * stride, values + reference * stride, values + (losses() + row_count + i) * stride);
    }
  }

  /// A context and its scores, for any number of rows.
  template <int W>
  INCONTEXT_HD void prepare(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> context) const {
    task.template draw<W>(seed, first_trial, context);
    votes().template start<W>(context, context.after(task.rows()));
  }

  /// Losses of one row at some of the gains, one after the other at `loss`; `own` is the row's memory.
  template <int W>
  INCONTEXT_HD void run_row(detail::Scratch<T, W> context, detail::Scratch<T, W> own, int row, int first_gain,
                            int count, T* loss, T* is_right, std::int64_t stride) const {
    alignas(W >= 16 ? 64 : 8) T gap[W];
    const auto behind = own.after(task.classes);
    votes().template vote<W>(context, context.after(task.rows()), rows[row].rule, rows[row].kappa, own);
    order<W>(own, rows[row].scale, context.row(task.label_row()), behind, gap, is_right);
    for (int j = 0; j < count && !stop_requested(); ++j) lose<W>(behind, gains[first_gain + j], gap, loss + j * stride);
  }

  template <int W>
  INCONTEXT_HD static void subtract(const T* loss, const T* other, T* out) {
    for (int lane = 0; lane < W; ++lane) out[lane] = loss[lane] - other[lane];
  }

 private:
  INCONTEXT_HD detail::ContextVotes<T> votes() const { return {task}; }

  /// How far every other class and the label are behind the class of most votes, and whether that one is the label.
  template <int W>
  INCONTEXT_HD void order(detail::Scratch<T, W> votes, T scale, const T* label, detail::Scratch<T, W> behind, T* gap,
                          T* is_right) const {
    alignas(W >= 16 ? 64 : 8) T largest[W], first[W];
    detail::fill<W>(largest, T(0));
    detail::fill<W>(first, T(0));
    detail::fill<W>(gap, T(0));
    for (int c = 0; c < task.classes; ++c) {
      T* __restrict__ vote = votes.row(c);
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) {
        vote[lane] *= scale;
        const bool higher = c == 0 || vote[lane] > largest[lane];
        largest[lane] = higher ? vote[lane] : largest[lane];
        first[lane] = higher ? number : first[lane];
        gap[lane] = number == label[lane] ? vote[lane] : gap[lane];
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      gap[lane] = largest[lane] - gap[lane];
      is_right[lane] = first[lane] == label[lane] ? T(1) : T(0);
    }
    for (int c = 0; c + 1 < task.classes; ++c) {
      const T* __restrict__ here = votes.row(c), * __restrict__ next = votes.row(c + 1);
      T* __restrict__ out = behind.row(c);
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) out[lane] = (number < first[lane] ? here[lane] : next[lane]) - largest[lane];
    }
  }

  template <int W>
  INCONTEXT_HD void lose(detail::Scratch<T, W> behind, T gain, const T* gap, T* out) const {
    alignas(W >= 16 ? 64 : 8) T sum[W];
    detail::fill<W>(sum, T(0));
    for (int c = 0; c + 1 < task.classes; ++c) {
      const T* __restrict__ row = behind.row(c);
      for (int lane = 0; lane < W; ++lane) sum[lane] += elementary::exp(gain * row[lane]);
    }
    for (int lane = 0; lane < W; ++lane) out[lane] = gain * gap[lane] + detail::log_one_plus(sum[lane]);
  }
};

}  // namespace incontext::simulate
