#pragma once

#include <incontext/training/learning_rate.hpp>
#include <incontext/training/reasoning_measurement.hpp>
#include <incontext/training/reasoning_task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// Training on the reasoning task. Only reasoning_simulator.cpp sees train and simulate headers.
namespace incontext::examples::train {

/// What is done so that queries and keys learn (arXiv 2310.12956).
enum class ReasoningMethod {
  softmax,           ///< temperature sqrt(d_k)
  normsoftmax,       ///< the same as cap
  heat_treatment,    ///< from the low temperature to sqrt(d_k) over the first half of the steps
  low_temperature,   ///< throughout
  gradient_matching  ///< softmax; gradients of W_Q and W_K with the length of W_V's
};

/// One training.
struct ReasoningRun {
  ReasoningMethod method = ReasoningMethod::softmax;
  training::ReasoningAnswers answers = training::ReasoningAnswers::rule;
  std::int64_t width = 32;
  std::int64_t batch = 0;  ///< 0: all examples
  double training_share = 0.3;
  double rate = 3e-3;
  training::RateDecay decay = training::RateDecay::constant;
  double weight_decay = 1;
  std::int64_t warm_up = 100;
  double initial_stddev = 0.125;
  double low_temperature = 1.0 / 3;
  std::int64_t steps = 800;  ///< at most; a run ends with its Eureka moment
  std::int64_t every = 20;   ///< steps between measurements
  std::uint64_t seed = 1;
};

class ReasoningSimulator {
 public:
  ReasoningSimulator(const SimulationOptions& options, bool quiet);
  ~ReasoningSimulator();

  bool stopped() const;
  const RunSummary& summary() const;

  /// The course of a training up to a held-out accuracy of `enough`; after Ctrl-C what was reached.
  std::vector<training::ReasoningMeasurement> train(const std::string& what, const ReasoningRun& run, double enough);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::train
