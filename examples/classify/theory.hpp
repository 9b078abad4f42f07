#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "examples/classify/simulator.hpp"

/// What is known about the rules without simulation. The templates behind it are compiled in theory.cpp alone.
namespace incontext::examples::classify {

/// A number in closed form, and how far from the truth it may be. It is judged by a simulation, which allows for that
/// error.
struct Known {
  double value;
  double error;
};

/// Loss and accuracy of two classes, with the noise of the context taken as Gaussian. Nothing for other metrics, for
/// negative kappa or for more classes.
std::optional<Known> two_class_theory(const SphereTask& task, const Classifier& classifier,
                                      ClassificationMetric metric);

/// The best learning rate of the linear rule with two classes, and its loss, with the noise of the context taken as
/// Gaussian.
struct BestRate {
  double rate, loss;
};
BestRate two_class_best_rate(std::int64_t dimension, std::int64_t context_length);

/// The linear rule's best learning rate for k classes, predicted from the boundary layer between two classes.
double predicted_rate(const SphereTask& task);

/// The best gain of the adaptive rules at a kappa > 0, predicted in the same way.
double predicted_gain(const SphereTask& task, const Classifier& classifier);

/// What is known about a rule's metrics in a long context; a metric about which nothing is known has an estimate of no
/// trials.
using LongContextMetrics = std::map<ClassificationMetric, statistics::Estimate>;

/// Loss, accuracy, entropy and probability in the limit of long contexts, averaged over a number of prototypes and
/// queries.
LongContextMetrics long_context_metrics(const Simulator& simulator, const SphereTask& task,
                                        const Classifier& classifier, std::int64_t contexts);

/// Votes of a context at one of its queries by the kernel e^(kappa (x_j . x - 1)): sums over the points of each class.
struct KernelVotes {
  std::vector<double> by_class;
  double partition_function;  ///< their sum
};
KernelVotes kernel_votes(const SphereContext<double>& context, const SphereTask& task, const std::vector<double>& query,
                         double kappa);

/// The loss, -log softmax(gain x votes) at the label.
double loss_of(const std::vector<double>& votes, double gain, std::int64_t label);

}  // namespace incontext::examples::classify
