#pragma once

#include <incontext/simulate/types/gradient_norms.hpp>

#include <memory>
#include <vector>

#include "examples/support/run_record.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run. Only simulator.cpp sees simulate headers other than their types: nvcc compiles it for
/// the CUDA edition, and nothing else.
namespace incontext::examples::gradients {

/// Estimates of every squared norm, and the median of the ratio within a row, one of each per x = |W_K q| / tau.
struct MeasuredGradients {
  simulate::GradientNormsSimulation norms;
  std::vector<double> median;
};

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  const RunRecord& record() const;

  /// The norms at each x = |W_K q| / tau, on common draws.
  MeasuredGradients gradients(simulate::GradientMap map, const std::vector<double>& score_stddevs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::gradients
