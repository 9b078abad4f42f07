#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "examples/classify/simulator.hpp"

/// What is known about the rules without simulation. The templates behind it are compiled in theory.cpp alone.
namespace incontext::examples::classify {

/// Loss or accuracy of two classes, the noise of the context taken as Gaussian: how far off is known for the linear rule
/// alone. Nothing for other metrics, negative kappa or more classes, and for the kernel and adaptive rules where the
/// approximation may be off by more than 5%.
struct Known {
  double value;
  double error;
};
std::optional<Known> two_class_theory(const SphereTask& task, const Classifier& classifier,
                                      ClassificationMetric metric);

/// The margin of two classes, exact at any context length: its mean, its mean square (absent for the adaptive rules),
/// and two near misses: what long contexts have, and independent points.
struct MarginLaw {
  double mean, long_mean;
  std::optional<double> mean_square, long_mean_square;
};
MarginLaw two_class_margin(const SphereTask& task, const Classifier& classifier);

/// Laws of the partition function about a query among independent points, exact; and their leading orders.
struct IndependentLaw {
  double relative_variance, inverse, inverse_with_query, ipr, largest_weight;
  double leading_inverse, leading_ipr;
  double inverse_spread;  ///< standard deviation of 1/Z over its mean: large where rare empty neighborhoods carry it
};
IndependentLaw independent_law(std::int64_t dimension, double kappa, std::int64_t context_length);

/// What is exact about a query on the circle given the prototypes: mean and variance of the partition function, and the
/// share of its mean that is the vote for the query's own class, which attention on that class tends to.
struct CircleVotes {
  double partition_function, partition_function_variance, own_share;
};
CircleVotes circle_votes(const SphereContext<double>& context, const SphereTask& task, double kappa);

/// The mean attention on the query's own class, given the prototypes.
struct CircleAttention {
  double own_share, own_share_with_query;
};
CircleAttention circle_attention(const SphereContext<double>& context, const SphereTask& task, double kappa);

/// Means over a class's cell, from draws: of the kernel and of the cosine to the query; for the query's own class.
struct CellLaw {
  double kernel, cosine;
};
CellLaw cell_law(const SphereContext<double>& context, const SphereTask& task, double kappa, std::uint64_t seed);

/// The spread of the partition function over its mean: independent points, and two balanced classes.
struct VariationLaw {
  double independent, two_classes;
};
VariationLaw variation_law(std::int64_t dimension, double kappa, std::int64_t context_length);

/// n* / d^2 in high dimension; nothing for two classes.
std::optional<double> onset_ratio(std::int64_t classes);

/// Best learning rate of the linear rule with two classes and its loss, of Gaussian context noise.
struct BestRate {
  double rate, loss;
};
BestRate two_class_best_rate(std::int64_t dimension, std::int64_t context_length);

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

/// The class that a rule predicts at a query; the first of equals.
std::int64_t predicted_class(const SphereContext<double>& context, const SphereTask& task, const Classifier& classifier,
                             const std::vector<double>& query);

/// The class of the nearest prototype, and the share of the circle that is each class's.
std::int64_t class_of(const SphereContext<double>& context, const std::vector<double>& point);
std::vector<double> circle_shares(const SphereContext<double>& context);

/// How far a layer of attention with the weights constructed for one classifier is from the step of another, at one
/// context: predictions, and sensitivities. Linear or adaptive rules.
struct AttentionAlignment {
  double prediction_distance, cosine, sensitivity_distance;
};
AttentionAlignment attention_alignment(const SphereContext<double>& context, const SphereTask& task,
                                       const Classifier& attention, const Classifier& step);

/// The sum over the classes of a context's votes by the kernel (1 + u . v)^2: by attention whose activation is that
/// kernel, or by linear attention over its features (1, sqrt 2 u, u u^T).
enum class KernelRoute { activation, features };
double polynomial_votes(const SphereContext<double>& context, const SphereTask& task, KernelRoute route);

/// The mean and the variance of that sum over independent points, exact.
struct PolynomialLaw {
  double mean, variance;
};
PolynomialLaw polynomial_law(std::int64_t dimension, std::int64_t context_length);

/// The probability that a layer of attention over tokens, with the weights constructed for a rule, gives a label at a
/// query. kappa >= 0.
double attention_probability(const SphereContext<double>& context, const SphereTask& task, const Classifier& by,
                             const std::vector<double>& query, std::int64_t label);

/// -log softmax(gain x votes) at the label.
double loss_of(const std::vector<double>& votes, double gain, std::int64_t label);

}  // namespace incontext::examples::classify
