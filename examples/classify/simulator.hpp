#pragma once

#include <incontext/simulate/classification/adaptive_onset_types.hpp>
#include <incontext/simulate/classification/classification_contrasts_types.hpp>
#include <incontext/simulate/classification/classification_grid_types.hpp>
#include <incontext/simulate/classification/classifiers_types.hpp>
#include <incontext/simulate/classification/context_attention_types.hpp>
#include <incontext/simulate/classification/partition_function_types.hpp>
#include <incontext/simulate/classification/sphere_task_types.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C. Only simulator.cpp
/// sees simulate headers other than their types: nvcc compiles it for CUDA, and nothing else.
namespace incontext::examples::classify {

using simulate::AdaptiveOnsetMetric, simulate::AdaptiveOnsetSimulation, simulate::AlignmentMetric,
    simulate::AlignmentSimulation, simulate::AxisPlace, simulate::ClassificationContrasts, simulate::ClassificationGrid,
    simulate::ClassificationGridSimulation, simulate::ClassificationMetric, simulate::ClassificationOptimum,
    simulate::ClassificationRule, simulate::ClassificationSimulation, simulate::Classifier, simulate::ClassifierPair,
    simulate::ContextAttentionMetric, simulate::ContextAttentionSimulation, simulate::GridChart, simulate::IndexPair,
    simulate::PartitionFunctionMetric, simulate::PartitionFunctionSimulation, simulate::SphereContext,
    simulate::SphereTask;

/// Whether a simulation runs the trials of a search, those of the options, twice as many, for small differences, or 16
/// times as many, where a trial is quick.
enum class Effort { search, usual, twofold, manifold };

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  /// Searches run `search_trials` trials, whatever number the options set.
  Simulator(const SimulationOptions& options, std::int64_t search_trials, bool quiet);
  ~Simulator();

  bool stopped() const;
  const RunSummary& summary() const;
  /// Adds trials that were drawn in another way to the summary of the run, with the number that was intended.
  void count(std::int64_t trials, std::int64_t planned);

  /// All classifiers on the same contexts.
  ClassificationSimulation metrics(const std::string& what, const SphereTask& task,
                                   const std::vector<Classifier>& classifiers, Effort effort = Effort::usual);
  /// The same with paired differences, the first of a pair less the second.
  ClassificationContrasts contrasts(const std::string& what, const SphereTask& task,
                                    const std::vector<Classifier>& classifiers, const std::vector<IndexPair>& pairs);
  /// A layer of attention, token by token, with the weights that the paper constructs for a rule.
  ContextAttentionSimulation attention(const std::string& what, const SphereTask& task, const Classifier& classifier,
                                       Effort effort);
  PartitionFunctionSimulation partition_function(const std::string& what, const SphereTask& task,
                                                 const std::vector<double>& kappas);
  /// The linear rule's derivatives by rate and kappa; `search` runs the trials of a search.
  AdaptiveOnsetSimulation onset(const std::string& what, const SphereTask& task, const std::vector<double>& rates,
                                Effort effort, double tilt = 0);
  AlignmentSimulation alignment(const std::string& what, const SphereTask& task,
                                const std::vector<ClassifierPair>& pairs);

  /// The parameters of least loss on a grid that is refined about the best point. The loss found there is a little too
  /// low, because it is the least of many noisy ones. Nothing if the run was stopped before the search ended.
  std::optional<ClassificationOptimum> search(const std::string& what, const SphereTask& task,
                                              const ClassificationGrid& grid);
  /// The same on one of `parts` equal parts of a search's contexts.
  std::optional<ClassificationOptimum> search_part(const std::string& what, const SphereTask& task,
                                                   const ClassificationGrid& grid, std::int64_t parts);

  /// Losses over a grid, and the differences of each from the loss with the index `reference`, unless that is
  /// no_reference.
  ClassificationGridSimulation losses(const std::string& what, const SphereTask& task, const ClassificationGrid& grid,
                                      std::int64_t reference, Effort effort);

  /// The context with this number. It does not depend on what else was simulated.
  SphereContext<double> context(const SphereTask& task, std::uint64_t number) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::classify
