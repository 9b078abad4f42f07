#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/context_votes.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// One row of a grid of classifiers: a rule and a kappa, which are tried at every gain of the grid times `scale`.
///
/// Runs on   host and device
template <class T>
struct ClassificationRow {
  ClassificationRule rule;
  T kappa;
  T scale;
};

/// Each trial draws a context, computes the votes of its points once per row of a grid of classifiers, and then the
/// loss at every gain of the row. The accuracy is computed once per row, because the class of most votes does not
/// depend on a positive gain.
///
/// Source    as ClassificationTrial.
/// Shapes    losses, rows x gains; accuracies, rows; with a reference (the index of a loss), every loss minus that one.
/// Units     nats.
/// Domain    as ClassificationTrial; gains > 0.
/// Accuracy  against ClassificationTrial, trial by trial: tests/simulate/classification/classification_grid.cpp.
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
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const auto loss = values.take(losses()), is_right = values.take(row_count), difference = values;
    prepare(trials, scratch);
    for (int i = 0; i < row_count && !stop_requested(); ++i) {
      run_row(scratch, scratch.after(context_rows()), i, {0, gain_count}, loss.after(std::int64_t{i} * gain_count),
              is_right[i]);
    }
    for (int i = 0; i < losses() && reference >= 0; ++i) difference[i] = loss[i] - loss[reference];
  }

  /// Draws a context and computes the scores of its points, which all rows of the grid use.
  template <int W>
  INCONTEXT_HD void prepare(random::Trials<W> trials, LaneArray<T, W> context) const {
    task.draw(trials, context);
    votes().start(context, votes().state(context.after(task.rows())));
  }

  /// Some consecutive gains of the grid.
  struct GainRange {
    int first;
    int count;
  };

  /// The losses of one row at some of the gains; `own` is the row's memory.
  template <int W>
  INCONTEXT_HD void run_row(LaneArray<T, W> context, LaneArray<T, W> own, int row, GainRange range,
                            LaneArray<T, W> loss, Lanes<T, W>& is_right) const {
    const auto row_votes = own.take(task.classes), behind = own;
    votes().vote(context, votes().state(context.after(task.rows())), rows[row].rule, rows[row].kappa, row_votes);
    const Lanes<T, W> gap = order(row_votes, rows[row].scale, task.query_label(context), behind, is_right);
    for (int j = 0; j < range.count && !stop_requested_at(j); ++j) lose(behind, gains[range.first + j], gap, loss[j]);
  }

 private:
  INCONTEXT_HD detail::ContextVotes<T> votes() const { return {task}; }

  /// How far every other class is behind the class of most votes, and whether that one is the label. Returns how far
  /// the label is behind.
  template <int W>
  INCONTEXT_HD Lanes<T, W> order(LaneArray<T, W> votes, T scale, const Lanes<T, W>& label, LaneArray<T, W> behind,
                                 Lanes<T, W>& is_right) const {
    Lanes<T, W> largest(T(0)), first(T(0)), gap(T(0));
    for (int c = 0; c < task.classes; ++c) {
      Lanes<T, W>& __restrict__ vote = votes[c];
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) {
        vote[lane] *= scale;
        const bool higher = c == 0 || vote[lane] > largest[lane];
        largest[lane] = higher ? vote[lane] : largest[lane];
        first[lane] = higher ? number : first[lane];
        gap[lane] = number == label[lane] ? vote[lane] : gap[lane];
      }
    }
    is_right = Lanes<T, W>::each([&](int lane) { return first[lane] == label[lane] ? T(1) : T(0); });
    for (int c = 0; c + 1 < task.classes; ++c) {
      const Lanes<T, W>& __restrict__ here = votes[c];
      const Lanes<T, W>& __restrict__ next = votes[c + 1];
      Lanes<T, W>& __restrict__ out = behind[c];
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) out[lane] = (number < first[lane] ? here[lane] : next[lane]) - largest[lane];
    }
    return largest - gap;
  }

  template <int W>
  INCONTEXT_HD void lose(LaneArray<T, W> behind, T gain, const Lanes<T, W>& gap, Lanes<T, W>& loss) const {
    Lanes<T, W> sum(T(0));
    for (int c = 0; c + 1 < task.classes; ++c) {
      const Lanes<T, W>& __restrict__ row = behind[c];
      for (int lane = 0; lane < W; ++lane) sum[lane] += elementary::exp(gain * row[lane]);
    }
    for (int lane = 0; lane < W; ++lane) loss[lane] = gain * gap[lane] + detail::log_one_plus(sum[lane]);
  }
};

}  // namespace incontext::simulate
