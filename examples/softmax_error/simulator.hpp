#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "examples/softmax_error/theory.hpp"
#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

// Boost's distributions, which it needs, are slow to compile.
namespace incontext::statistics {
struct Estimate;
}  // namespace incontext::statistics

/// The simulations of one run. Only simulator.cpp sees the simulate headers: nvcc compiles it for CUDA, and
/// nothing else.
namespace incontext::examples::softmax_error {

using Estimates = std::vector<statistics::Estimate>;

/// Whether a trial draws the scores alone, or every input, label and task; the latter (literal) exists for softmax
/// only.
enum class EstimatorChoice { reduced, literal };

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, EstimatorChoice estimator, bool quiet);
  ~Simulator();

  const RunSummary& summary() const;

  /// The simulated errors of maps of one kind, on common draws.
  Estimates errors(const std::string& what, const Situation& at, const std::vector<Map>& maps);
  /// The simulated error of a layer of softmax heads.
  Estimates heads_error(const std::string& what, const Situation& at, const Heads& heads);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::softmax_error
