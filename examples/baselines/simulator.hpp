#pragma once

#include <incontext/simulate/baselines/baseline_types.hpp>
#include <incontext/statistics/estimate.hpp>

#include <memory>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run. Only simulator.cpp sees simulate headers other than their types: nvcc compiles it for
/// CUDA, and nothing else.
namespace incontext::examples::baselines {

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  const RunSummary& summary() const;

  /// In the order of simulate::baseline_errors.
  std::vector<statistics::Estimate> errors(const simulate::BaselineSetting& setting);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::baselines
