#pragma once

#include "incontext/core/floating_point.hpp"

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
/// Units     kappa = 1 / sigma^2; gain is the rate eta of linear and kernel, c of the adaptive rules, in nats.
/// Runs on   host and device
template <class T>
struct ClassificationPoint {
  ClassificationRule rule;
  T kappa;  ///< not read by linear
  T gain;
};

}  // namespace incontext::simulate
