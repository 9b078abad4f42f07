#pragma once

#include <incontext/core/query_token.hpp>
#include <incontext/simulate/classification/classification_grid_types.hpp>
#include <incontext/simulate/classification/sphere_task_types.hpp>

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"
#include "examples/train/regression_runs.hpp"
#include "examples/train/transience_runs.hpp"

/// What incontext train trains and simulates. Only simulator.cpp sees simulate and train headers other than their
/// types.
namespace incontext::examples::train {

using simulate::ClassificationGrid, simulate::ClassificationOptimum, simulate::SphereContext, simulate::SphereTask;

/// How scores become weights in a trained layer.
enum class ContextMap { linear, softmax };

/// What of a layer is trained: the products of its matrices, its four matrices, or the output alone with keys and
/// queries fixed so that softmax has width 1.
enum class ContextWeights { merged, factored, fixed_width };

/// One run of training on the sphere task.
struct ContextRun {
  SphereTask task = {};
  ContextMap map = ContextMap::softmax;
  ContextWeights weights = ContextWeights::factored;
  std::int64_t batch = 256;
  std::int64_t steps = 2500;
  double rate = 0.02;
  std::int64_t decay_steps = 0;  ///< the rate reaches 0 at this step; 0: at the last
  double initial_scale = 0.5;
  QueryToken query = QueryToken::included;
  std::uint64_t seed = 1;
};

/// A layer's two products of weights.
struct ContextHead {
  Eigen::MatrixXd key_query, output;
};

/// A layer after some steps, and the norm of the last step's gradient.
struct TrainedContext {
  std::int64_t step = 0;
  ContextHead head = {};
  double gradient_norm = 0;
};

class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  bool stopped() const;
  const RunSummary& summary() const;

  /// Trains a layer, and returns it after each of `steps`, which ascend. After Ctrl-C the layers that were reached.
  std::vector<TrainedContext> train(const std::string& what, const ContextRun& run,
                                    const std::vector<std::int64_t>& steps);

  /// Trains, and returns the parameters after each of `steps`, which ascend; after Ctrl-C those that were reached.
  std::vector<TrainedRegression> train_regression(const std::string& what, const RegressionRun& run,
                                                  const std::vector<std::int64_t>& steps);

  /// The course of a training on shared prototypes; after Ctrl-C the measurements that were reached.
  std::vector<TransiencePoint> train_transience(const std::string& what, const TransienceRun& run);

  /// The parameters of least loss on a grid, as simulate::classification_search finds them; nothing after Ctrl-C.
  std::optional<ClassificationOptimum> search(const std::string& what, const SphereTask& task,
                                              const ClassificationGrid& grid);

  /// A held-out context: no run is trained on it.
  SphereContext<double> held_out(const SphereTask& task, std::uint64_t number) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::train
