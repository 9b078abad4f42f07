#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/partition_function_types.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// The concentration of a kernel, and the reference value by which its partition function is divided.
///
/// Runs on   host and device
template <class T>
struct KernelReference {
  T kappa;
  T reference;
};

/// Each trial draws a context and a query of the sphere task, and measures the partition function of every kernel of a
/// list around the query and the share that each class has of the context.
///
/// Source    the definition. It is the referee of classification::kernel_mean, inverse_partition_function and
///           circle_cells.
/// Shapes    7 values per kernel in the order of PartitionFunctionMetric, then 4 in the order of BalanceMetric.
/// Domain    as SphereTaskDraw; kappa >= 0.
/// Limits    1/Z~ above the range of T: infinity.
/// Accuracy  trial by trial against the definition: tests/simulate/classification/partition_function.cpp.
/// Runs on   host and device
template <class T>
struct PartitionFunctionTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const KernelReference<T>* kernels;
  int size;

  INCONTEXT_HD int outputs() const { return size * detail::partition_function_metrics + detail::balance_metrics; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return task.rows() + task.context_length + task.classes; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const auto context = scratch.take(task.rows()), scores = scratch.take(task.context_length), counts = scratch;
    task.draw(trials, context);
    Lanes<T, W> largest(T(0));
    for (std::int64_t j = 0; j < task.context_length && !stop_requested_at(j); ++j) {
      scores[j] = dot(task.point(context, j), task.query(context), task.dimension);
      largest = j == 0 ? scores[j] : larger(largest, scores[j]);
    }
    for (int i = 0; i < size && !stop_requested(); ++i) {
      measure(context, scores, largest, kernels[i], values.take(detail::partition_function_metrics));
    }
    balance(context, counts, values);
  }

 private:
  template <int W>
  INCONTEXT_HD void measure(LaneArray<T, W> context, LaneArray<T, W> scores, const Lanes<T, W>& largest,
                            KernelReference<T> kernel, LaneArray<T, W> values) const {
    Lanes<T, W> sum(T(0)), squares(T(0)), own(T(0));
    const Lanes<T, W>& __restrict__ wanted = task.query_label(context);
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      const Lanes<T, W>& __restrict__ score = scores[j];
      const Lanes<T, W> label = label_of(context, j);
      for (int lane = 0; lane < W; ++lane) {
        const T weight = elementary::exp(kernel.kappa * (score[lane] - largest[lane]));
        sum[lane] += weight;
        squares[lane] += weight * weight;
        own[lane] += label[lane] == wanted[lane] ? weight : T(0);
      }
    }
    const auto top =
        Lanes<T, W>::each([&](int lane) { return elementary::exp(kernel.kappa * (largest[lane] - T(1))); });
    const Lanes<T, W> total = sum * top, relative = total / kernel.reference, share = T(1) / sum;
    values[PartitionFunctionMetric::partition_function] = relative;
    values[PartitionFunctionMetric::squared_deviation] = (relative - T(1)) * (relative - T(1));
    values[PartitionFunctionMetric::inverse] = T(1) / total;
    values[PartitionFunctionMetric::inverse_with_query] = T(1) / (T(1) + total);
    values[PartitionFunctionMetric::ipr] = squares * share * share;
    values[PartitionFunctionMetric::largest_weight] = share;
    values[PartitionFunctionMetric::label_share] = own * share;
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> label_of(LaneArray<T, W> context, std::int64_t j) const {
    if (task.law == ContextLaw::balanced) return static_cast<T>(j / task.class_size());
    return context[task.labels_row() + j];
  }

  template <int W>
  INCONTEXT_HD void balance(LaneArray<T, W> context, LaneArray<T, W> counts, LaneArray<T, W> values) const {
    const T share = T(1) / static_cast<T>(task.context_length);
    fill(counts, task.classes, T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      const Lanes<T, W> label = label_of(context, j);
      for (int lane = 0; lane < W; ++lane) counts[static_cast<int>(label[lane])][lane] += T(1);
    }
    Lanes<T, W> largest(T(0)), smallest(T(1)), squares(T(0));
    for (int c = 0; c < task.classes; ++c) {
      const Lanes<T, W> part = share * counts[c];
      largest = larger(largest, part);
      smallest = smaller(smallest, part);
      add_product(squares, part, part);
    }
    Lanes<T, W> length_square(T(0));
    for (int i = 0; i < task.dimension && !stop_requested(); ++i) {
      Lanes<T, W> mean(T(0));
      for (std::int64_t j = 0; j < task.context_length; ++j) add_scaled(mean, share, task.point(context, j)[i]);
      add_product(length_square, mean, mean);
    }
    values[BalanceMetric::largest_share] = largest;
    values[BalanceMetric::smallest_share] = smallest;
    values[BalanceMetric::squared_shares] = squares;
    values[BalanceMetric::mean_point_length] = sqrt(length_square);
  }
};

}  // namespace incontext::simulate
