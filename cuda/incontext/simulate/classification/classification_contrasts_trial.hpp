#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/classifiers_trial.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// A classification trial, and contrasts between its classifiers: for each pair of a list, the loss and the accuracy of
/// the first less those of the second on the same context. The mean of such a difference is known better than the
/// difference of two means, because the draws of the context affect both classifiers alike.
///
/// Source    ClassificationTrial.
/// Shapes    the values of ClassificationTrial, then 2 values per pair: the differences of loss and of accuracy.
/// Units     loss in nats.
/// Domain    as ClassificationTrial; a pair holds two indices of classifiers.
/// Accuracy  as ClassificationTrial.
/// Random    as ClassificationTrial: the same contexts.
/// Runs on   host and device
template <class T>
struct ClassificationContrastTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 32;
  static constexpr std::string_view grows_with = ClassificationTrial<T>::grows_with;
  ClassificationTrial<T> trial;
  const IndexPair* pairs;
  int size;

  INCONTEXT_HD int outputs() const { return trial.outputs() + 2 * size; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return trial.scratch_rows(); }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    trial.run(trials, scratch, values);
    const auto contrasts = values.after(trial.outputs());
    for (int i = 0; i < size; ++i) {
      const auto first = values.after(pairs[i].first * detail::classification_metrics),
                 second = values.after(pairs[i].second * detail::classification_metrics);
      contrasts[2 * i] = first[ClassificationMetric::loss] - second[ClassificationMetric::loss];
      contrasts[2 * i + 1] = first[ClassificationMetric::accuracy] - second[ClassificationMetric::accuracy];
    }
  }
};

}  // namespace incontext::simulate
