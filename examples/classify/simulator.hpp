#pragma once

#include <incontext/simulate/types/classification.hpp>
#include <incontext/simulate/types/classification_grid.hpp>
#include <incontext/simulate/types/sphere_task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/run_record.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C. Only simulator.cpp
/// sees simulate headers other than their types: nvcc compiles it for the CUDA edition, and nothing else.
namespace incontext::examples::classify {

using simulate::AlignmentMetric, simulate::AlignmentSimulation, simulate::AxisPlace, simulate::ClassificationGrid,
    simulate::ClassificationGridSimulation, simulate::ClassificationMetric, simulate::ClassificationOptimum,
    simulate::ClassificationRule, simulate::ClassificationSimulation, simulate::Classifier, simulate::ClassifierPair,
    simulate::GridChart, simulate::SphereContext, simulate::SphereTask;

/// Whether a grid runs as many trials as a search, or twice the trials of the options, which resolves small
/// differences.
enum class Effort { search, twofold };

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  /// Searches run `search_trials` trials, whatever number the options set.
  Simulator(const SimulationOptions& options, std::int64_t search_trials, bool quiet);
  ~Simulator();

  bool stopped() const;
  const RunRecord& record() const;
  /// Adds trials that were drawn in another way to the record of the run, with the number that was intended.
  void count(std::int64_t trials, std::int64_t planned);

  /// All classifiers on the same contexts, with at most `most_trials` trials if that is above 0.
  ClassificationSimulation metrics(const std::string& what, const SphereTask& task,
                                   const std::vector<Classifier>& classifiers, std::int64_t most_trials = 0);
  AlignmentSimulation alignment(const std::string& what, const SphereTask& task,
                                const std::vector<ClassifierPair>& pairs);

  /// The parameters of least loss on a grid that is refined about the best point. The loss found there is a little too
  /// low, because it is the least of many noisy ones. Nothing if the run was stopped before the search ended.
  std::optional<ClassificationOptimum> search(const std::string& what, const SphereTask& task,
                                              const ClassificationGrid& grid);

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
