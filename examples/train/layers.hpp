#pragma once

#include <incontext/classification/context_constructions.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/classification_rules.hpp"
#include "examples/support/table.hpp"
#include "examples/train/classification.hpp"

/// What the figures of classification share: trained layers beside the rules that they are said to become.
namespace incontext::examples::train {

using simulate::ClassificationRule;
using simulate::Classifier;

/// How far the loss of a trained layer may be from that of the rule, as a share of the rule's: what training has not
/// reached, and what the layer can do beyond the rule.
inline constexpr double tolerance = 0.02;

/// The same for runs that are only as long as it takes to see their strategy.
inline constexpr double unfinished = 0.1;

const char* name(ContextMap map);

/// The name of a layer in the figures of several models.
std::string model_name(const ContextRun& run);

/// Its rates, batch and steps, in words.
std::string described(const ContextRun& run);

/// The same run with another seed, and with the others' number.
ContextRun with_seed(ContextRun run, const ClassificationParts& parts, std::int64_t number);

/// The factor on a layer's scores.
double scale_of(const ContextRun& run);

/// The concentration and gain that a layer's weights stand for. Of linear attention the gain is the learning rate.
classification::EffectiveStep<double> step_of(const ContextRun& run, const ContextHead& head);

/// Selection attends to points like the query in every direction and adds their labels; elimination attends to the
/// opposite ones and subtracts them. A mixed layer does one thing in some directions and the other in the rest, or has
/// the signs of neither.
enum class Strategy { selection, elimination, mixed };
const char* name(Strategy strategy);

/// By the signs of the gain and of the eigenvalues of the symmetric part of M_xx.
///
/// Shapes    directions: eigenvalues times the scale, d of them, ascending.
std::vector<double> directions_of(const ContextRun& run, const ContextHead& head);
Strategy strategy_of(const ContextRun& run, const ContextHead& head);

/// The rule that a layer is said to become, and its parameters of least loss; nothing after Ctrl-C.
ClassificationRule rule_of(const ContextRun& run);
std::optional<ClassificationOptimum> best_rule(ClassificationParts& parts, const ContextRun& run,
                                               Side side = Side::selection);

/// A trained layer and a rule on the same held-out contexts.
struct Comparison {
  statistics::Estimate trained, rule, gap, prediction_difference, cosine, sensitivity_difference;
  double correlation, slope;  ///< of the layer's losses with the rule's, context by context

  /// The layer's loss with the error of its paired difference from the rule's.
  statistics::Estimate paired() const;
};
Comparison compare(ClassificationParts& parts, const ContextRun& run, const ContextHead& head, const Classifier& rule);

/// The distances of a layer's predictions from those of several rules, by rule, on an eighth of the held-out contexts.
std::vector<std::vector<double>> prediction_distances(ClassificationParts& parts, const ContextRun& run,
                                                      const ContextHead& head, const std::vector<Classifier>& rules);

/// The loss of one rule less another's, on the same held-out contexts.
statistics::Estimate rule_gap(ClassificationParts& parts, const SphereTask& task, const Classifier& one,
                              const Classifier& other);

/// The paired losses of several seeds: their mean, with the errors of the contexts, which the seeds share, and of the
/// seeds.
statistics::Estimate over_seeds(const std::vector<Comparison>& seeds);

statistics::Estimate estimate_of(const std::vector<double>& values);

/// Adds a near miss of the rule to the controls.
void add_near_miss(ClassificationParts& parts, const ContextRun& run, const ContextHead& head, const Classifier& rule);

/// A trained layer's loss beside its rule's. Selection alone is judged: the others' loss still falls.
std::vector<Cell> judged_end(ClassificationParts& parts, Strategy strategy, const Comparison& at);

/// Columns that name the subject of a row, followed by those of a comparison.
std::vector<Column> comparison_after(std::vector<Column> columns);

}  // namespace incontext::examples::train
