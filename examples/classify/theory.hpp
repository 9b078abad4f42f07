#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "examples/classify/simulator.hpp"

/// What is known of the rules without simulating them; its templates are compiled in theory.cpp alone.
namespace incontext::examples::classify {

/// A number in closed form, and how far from the truth it may be: a simulation that resolves less may judge it.
struct Known {
  double value;
  double error;
};

/// Loss and accuracy of two classes, the noise of the context taken as Gaussian. Nothing for other metrics, negative
/// kappa or more classes.
std::optional<Known> two_class_theory(const SphereTask& task, const Classifier& classifier,
                                      ClassificationMetric metric);

/// Best learning rate of the linear rule with two classes and its loss, of Gaussian context noise.
struct BestRate {
  double rate, loss;
};
BestRate two_class_best_rate(std::int64_t dimension, std::int64_t context_length);

/// The linear rule's best rate as two classes' boundary layers predict it for k.
double predicted_rate(const SphereTask& task);

/// The adaptive rules' best gain at a kappa > 0, likewise.
double predicted_gain(const SphereTask& task, const Classifier& classifier);

/// What is known of a rule's metrics in a long context; an estimate of no trials stands for the others.
using LongContextMetrics = std::map<ClassificationMetric, statistics::Estimate>;

/// Loss, accuracy, entropy and probability as contexts grow, over a number of prototypes and queries.
LongContextMetrics long_context_metrics(const Simulator& simulator, const SphereTask& task,
                                        const Classifier& classifier, std::int64_t contexts);

/// Votes of a context at one of its queries by the kernel e^(kappa (x_j . x - 1)): sums over the points of each class.
struct KernelVotes {
  std::vector<double> by_class;
  double mass;  ///< their sum
};
KernelVotes kernel_votes(const SphereContext<double>& context, const SphereTask& task, const std::vector<double>& query,
                         double kappa);

/// -log softmax(gain x votes) at the label.
double loss_of(const std::vector<double>& votes, double gain, std::int64_t label);

}  // namespace incontext::examples::classify
