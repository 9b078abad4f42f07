#pragma once

#include <cstddef>

#include "incontext/core/floating_point.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// Rules of in-context classification, what is measured of them, and what a run gives.
namespace incontext::simulate {

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

/// What a trial measures of one prediction: -log p_y; whether y has the largest logit (the first of equals counts);
/// -sum p log p; p_y; and the Frobenius norm of dp/dx.
///
/// Units     loss and entropy in nats.
/// Runs on   host and device
enum class ClassificationMetric { loss, accuracy, entropy, probability, sensitivity };

/// How far two predictions are apart: |p_A - p_B|; the cosine between their dp_c/dx, averaged over classes; and the
/// Frobenius norm of the difference of their dp/dx.
///
/// Source    arXiv 2510.10425, Section 4.
/// Runs on   host and device
enum class AlignmentMetric { predictions_difference, cosine_similarity, sensitivity_difference };

namespace detail {

inline constexpr int classification_metrics = 5, alignment_metrics = 3;

}  // namespace detail

/// Estimates of every metric of every classifier, all on the same contexts.
///
/// Units     as ClassificationMetric.
struct ClassificationSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t point, ClassificationMetric metric) const {
    return run.estimates.at(point * detail::classification_metrics + static_cast<std::size_t>(metric));
  }
};

/// Estimates of the alignment of every pair of classifiers, all on the same contexts.
///
/// Units     as AlignmentMetric.
struct AlignmentSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t pair, AlignmentMetric metric) const {
    return run.estimates.at(pair * detail::alignment_metrics + static_cast<std::size_t>(metric));
  }
};

}  // namespace incontext::simulate
