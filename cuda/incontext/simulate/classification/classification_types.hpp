#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/floating_point.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// Rules of in-context classification, what is measured of them, and what a run gives.
namespace incontext::simulate {

/// How the points of a context are drawn. Balanced: equally many of every class, uniform on its cell, and a query of a
/// class that is drawn uniformly. Independent: points and query are independent and uniform on the sphere.
///
/// Runs on   host and device
enum class ContextLaw { balanced, independent };

/// Which contexts: dimension d, classes k, context_length n. With prototype_sets = m > 0 only m sets of prototypes are
/// shared by all contexts: trial i has set i mod m, which are the prototypes that trial i mod m draws without sharing.
///
/// Source    arXiv 2510.10425, App. C: a few sets of class vectors, equally frequent, can be learned by heart.
/// Domain    dimension >= 2, classes >= 2, classes <= context_length <= 2^24, prototype_sets >= 0; balanced:
///           context_length a multiple of classes <= 512; (context_length + 1) x (dimension + 4) <= 4e9 and classes x
///           dimension <= 1e6. A run holds 1024 contexts or more at once: 4 kB x (context_length x (dimension + 3) + 3
///           classes x dimension) in float, balanced 4 kB x 2 classes^2 more.
struct SphereTask {
  std::int64_t dimension = 0;
  std::int64_t classes = 0;
  std::int64_t context_length = 0;
  ContextLaw law = ContextLaw::balanced;
  std::int64_t prototype_sets = 0;  ///< 0: every context has prototypes of its own
};

/// One context, as the trials see it.
///
/// Shapes    inputs: n x d by rows, in order of their labels if balanced; labels: n; query: d; prototypes: k x d.
/// Units     unit vectors; labels 0 ... k - 1.
template <class T>
struct SphereContext {
  std::vector<T> inputs;
  std::vector<std::int64_t> labels;
  std::vector<T> query;
  std::int64_t query_label = 0;
  std::vector<T> prototypes;
  std::int64_t attempts = 0;  ///< points drawn to get these n + 1, rounded to T
};

/// Length of the mean of the context's points: large where they crowd on one side.
///
/// \f[ \Bigl|\frac1n \sum_j x_j\Bigr| \f]
///
/// Source    arXiv 2510.10425, App. I: contexts above a threshold are the ones with dense and sparse neighborhoods.
/// Units     dimensionless, 0 to 1.
template <class T>
double mean_point_length(const SphereContext<T>& context) {
  const std::size_t d = context.query.size(), n = context.labels.size();
  double square = 0;
  for (std::size_t i = 0; i < d; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(context.inputs[j * d + i]);
    square += sum * sum;
  }
  return std::sqrt(square) / static_cast<double>(n);
}

/// How the points of a context vote on a query's class, per unit of gain: by the inner product over n; by the kernel
/// e^(kappa (s - 1)) over n; by softmax attention e^(kappa s) over the points, or over the points and the query itself.
///
/// Source    arXiv 2510.10425: eq. (1), (2), (3), and (3) as an unmasked head computes it. Negative kappa and gain of
///           the last two is elimination.
/// Runs on   host and device
enum class ClassificationRule { linear, kernel, adaptive, adaptive_with_query };

/// A rule, its kernel's concentration and its gain: logits are gain times the votes.
///
/// Units     kappa = 1 / sigma^2; gain is the learning rate eta of linear and kernel, and c of the adaptive rules, in
///           nats.
/// Runs on   host and device
template <class T>
struct ClassificationPoint {
  ClassificationRule rule;
  T kappa;  ///< not read by linear
  T gain;
};

/// A rule, its kappa and its gain, as a user gives them.
using Classifier = ClassificationPoint<double>;

/// Two rules to be compared on the same contexts.
///
/// Runs on   host and device
template <class T>
struct ClassificationPair {
  ClassificationPoint<T> first, second;
};

/// Two classifiers to be compared.
using ClassifierPair = ClassificationPair<double>;

/// A prediction is confident where its largest probability is above this one.
inline constexpr double confident_probability = 0.9;

/// What a trial measures of one prediction: -log p_y; whether y has the largest logit (the first of equals counts);
/// -sum p log p; p_y; the Frobenius norm of dp/dx; whether it is confident; and whether it is confident of another class
/// than y.
///
/// Units     loss and entropy in nats.
/// Runs on   host and device
enum class ClassificationMetric { loss, accuracy, entropy, probability, sensitivity, confidence, confident_error };

/// How far two predictions are apart: |p_A - p_B|; the cosine between their dp_c/dx, averaged over classes; and the
/// Frobenius norm of the difference of their dp/dx.
///
/// Source    arXiv 2510.10425, Section 4.
/// Runs on   host and device
enum class AlignmentMetric { predictions_difference, cosine_similarity, sensitivity_difference };

namespace detail {

inline constexpr int classification_metrics = 7, alignment_metrics = 3;

}  // namespace detail

/// Estimates of every metric of every classifier, all on the same contexts.
struct ClassificationSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t point, ClassificationMetric metric) const {
    return run.estimates.at(point * detail::classification_metrics + static_cast<std::size_t>(metric));
  }
};

/// Estimates of the alignment of every pair of classifiers, all on the same contexts.
struct AlignmentSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t pair, AlignmentMetric metric) const {
    return run.estimates.at(pair * detail::alignment_metrics + static_cast<std::size_t>(metric));
  }
};

/// Indices of two classifiers of a list.
///
/// Runs on   host and device
struct IndexPair {
  std::int32_t first;
  std::int32_t second;
};

/// Estimates of every metric of every classifier, and of how much the first of a pair exceeds the second: common
/// contexts make the errors of these differences small.
struct ClassificationContrasts {
  Simulation run;
  std::size_t classifiers = 0;

  [[nodiscard]] const statistics::Estimate& at(std::size_t point, ClassificationMetric metric) const {
    return run.estimates.at(point * detail::classification_metrics + static_cast<std::size_t>(metric));
  }
  [[nodiscard]] const statistics::Estimate& loss_difference(std::size_t pair) const {
    return run.estimates.at(classifiers * detail::classification_metrics + 2 * pair);
  }
  [[nodiscard]] const statistics::Estimate& accuracy_difference(std::size_t pair) const {
    return run.estimates.at(classifiers * detail::classification_metrics + 2 * pair + 1);
  }
};

/// What a trial measures of the linear rule at a learning rate: its loss; the derivative of that by the logarithm of
/// the rate; and by kappa, where the adaptive rule with the gain rate/kappa, the query no key, leaves the linear rule
/// at kappa = 0.
///
/// Units     nats.
/// Runs on   host and device
enum class AdaptiveOnsetMetric { loss, rate_slope, kappa_slope };

namespace detail {

inline constexpr int adaptive_onset_metrics = 3;

}  // namespace detail

/// Estimates of every metric at every rate, all on the same contexts.
struct AdaptiveOnsetSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t rate, AdaptiveOnsetMetric metric) const {
    return run.estimates.at(rate * detail::adaptive_onset_metrics + static_cast<std::size_t>(metric));
  }
};

/// What a trial measures of one prediction: -log p_y; whether y has the largest logit (the first of equals counts);
/// -sum p log p; p_y; the margin, that is the logit of y less the mean of the others; and its square.
///
/// Units     nats, for the square their square.
/// Runs on   host and device
enum class ContextAttentionMetric { loss, accuracy, entropy, probability, margin, squared_margin };

namespace detail {

inline constexpr int context_attention_metrics = 6;

}  // namespace detail

/// Estimates of every metric.
struct ContextAttentionSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(ContextAttentionMetric metric) const {
    return run.estimates.at(static_cast<std::size_t>(metric));
  }
};

}  // namespace incontext::simulate
