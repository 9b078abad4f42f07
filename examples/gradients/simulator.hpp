#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "examples/support/run_record.hpp"
#include "examples/support/simulation_options.hpp"

// Boost's distributions, which it needs, are slow to compile.
namespace incontext::statistics {
struct Estimate;
}  // namespace incontext::statistics

/// The simulations of one run. Only simulator.cpp sees the simulate headers: nvcc compiles it for the CUDA edition, and
/// nothing else.
namespace incontext::examples {

enum class MapChoice { softmax, normsoftmax };

/// One number a spread: mean squared gradients of W_V and W_K, the ratio of their roots, the median of one row's ratio,
/// and how many trials carry W_K's mean.
struct MeasuredGradients {
  std::vector<statistics::Estimate> value, key, imbalance;
  std::vector<double> median, effective_trials;
};

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  const RunRecord& record() const;

  /// At spreads x = |W_K q| / tau, on common draws.
  MeasuredGradients gradients(MapChoice map, const std::vector<double>& spreads);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples
