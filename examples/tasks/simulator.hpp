#pragma once

#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run. Only simulator.cpp sees simulate headers other than their types: nvcc compiles it for
/// CUDA, and nothing else.
namespace incontext::examples::tasks {

/// The squared errors of one affine sequence. `metric` ones are summed over the points 3 to 40 and divided by 40, as
/// eq. 2 of arXiv 2508.14685 has it.
enum class AffineAnswer {
  no_example,         ///< 0 at the second point
  one_example,        ///< Bayes' answer at the second point
  zero_metric,        ///< 0 everywhere
  clipped_metric,     ///< the truth, clipped to [-bound, bound]
  one_example_metric  ///< Bayes' answer from the first example alone
};
inline constexpr int affine_answers = 5;

struct AffineSetting {
  double input_stddev = 1, function_stddev = 1, first_input_stddev = 1;
  double bound = 0;  ///< of clipped answers
};

/// What happens at one prefix of a quantifier sequence: how often something is so, or an answer is wrong.
enum class QuantifierAnswer { every, some, last_sign_error, largest_sign_error, no_mean_error, no_sequence_error };
inline constexpr int quantifier_answers = 6;

/// One input of the reasoning task: whether answers are right, and the surprise of one who knows c, d and the rule's
/// chance but not the parities.
enum class ReasoningAnswer { parities_differ, coin, always_c, always_d, plateau };
inline constexpr int reasoning_answers = 5;

/// Means over sequences, in the order of the answers' enum. After Ctrl-C every further simulation answers at once with
/// estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  const RunSummary& summary() const;

  std::vector<statistics::Estimate> affine(const AffineSetting& setting);
  std::vector<statistics::Estimate> quantifier(std::int64_t length);
  std::vector<statistics::Estimate> reasoning(std::int64_t largest_value, double parities_differ);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::tasks
