#pragma once

#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// Small transformers trained on the tasks of arXiv 2508.14685 and on retrieval, and an inverse temperature trained on
/// rows with a needle (2501.19399). Only sequence_simulator.cpp sees train and simulate headers.
namespace incontext::examples::train {

/// The names of the maps that can be trained, and what each is.
struct SequenceMap {
  std::string name, words;
};
const std::vector<SequenceMap>& sequence_maps();

/// Numbers of the quantifier task: independent signs, as in the paper; or all of one sign but for one number, which is
/// in every second sequence, so that half of the answers are yes at any length.
enum class NumbersChoice { independent, one_exception };

/// One training of a transformer.
struct SequenceRun {
  std::string map = "softmax";
  std::string last_map = {};   ///< if not empty: the map from step `last_from` on
  std::int64_t last_from = 0;  ///< `steps`: it replaces the map after training
  std::int64_t width = 32;
  std::int64_t layers = 1;
  bool has_mlp = true;
  bool has_norms = true;
  std::int64_t length = 40;
  double input_stddev = 1;  ///< trained on
  NumbersChoice numbers = NumbersChoice::independent;
  std::int64_t steps = 500;
  std::int64_t batch = 32;
  double rate = 3e-3;
  std::uint64_t seed = 1;
};

/// What is known of a trained transformer, whatever its task.
struct TrainedSequence {
  bool reached = false;                     ///< false after Ctrl-C
  double loss = 0;                          ///< of the last batch
  double bound = 0;                         ///< the largest answer that its weights permit; NaN without layer norms
  double query_key_size = 0;                ///< root mean square of the entries of W_Q and W_K
  std::vector<double> map_parameters = {};  ///< each parameter of the map, averaged over heads and layers
};

/// A law of affine functions to be tested on.
struct AffineTest {
  double input_stddev = 1, function_stddev = 1, first_input_stddev = 1;
};

/// What a transformer answers there: the error in the paper's metric, that of the answer 0 on the same sequences, and
/// the largest answer.
struct AffineAnswers {
  statistics::Estimate error, zero;
  double largest = 0;
};

/// Sequences of the quantifier task to be tested on.
struct QuantifierTest {
  std::int64_t length = 40;
  double input_stddev = 1;
  NumbersChoice numbers = NumbersChoice::independent;
};

/// At the last token of the sequences: how often the answer is right, and how often it is that of the sign of the
/// largest number; and how often all answers from the fourth token on are right.
struct QuantifierAnswers {
  std::int64_t sequences = 0, right = 0, as_largest = 0, all_right = 0;
  std::int64_t constant_right =
      0;  ///< sequences on which "no" to every, "yes" to some, is all right from the fourth on
};

enum class QuantifierChoice { every, some };

/// What a guess has right of the values that are recalled, of which there are eight.
inline constexpr double recall_chance = 0.125;

/// Of the values that are asked for at the last token of the sequences: how many a transformer has right, how many are
/// the first of all values, and how many are the value that the token itself shows.
struct RecallAnswers {
  std::int64_t sequences = 0, right = 0, constant_right = 0, own_right = 0;
};

/// One training of an inverse temperature on rows with a needle N(mean, stddev^2) among competitors U(0, 1) or N(0, 1).
struct NeedleRun {
  std::vector<std::int64_t> lengths = {64};
  bool by_log_length = false;  ///< Scalable-Softmax's s, else one number
  bool normal_competitors = false;
  double needle_mean = 1.5, needle_stddev = 0.5;
  std::int64_t steps = 300;
  std::int64_t batch = 64;
  double rate = 1;
  std::uint64_t seed = 1;
};

class SequenceSimulator {
 public:
  SequenceSimulator(const SimulationOptions& options, bool quiet);
  ~SequenceSimulator();

  bool stopped() const;
  const RunSummary& summary() const;

  TrainedSequence affine(const std::string& what, const SequenceRun& run, const std::vector<AffineTest>& tests,
                         std::int64_t sequences, std::vector<AffineAnswers>& answers);
  TrainedSequence quantifier(const std::string& what, const SequenceRun& run, QuantifierChoice quantifier,
                             const std::vector<QuantifierTest>& tests, std::int64_t sequences,
                             std::vector<QuantifierAnswers>& answers);
  TrainedSequence recall(const std::string& what, const SequenceRun& run, const std::vector<std::int64_t>& lengths,
                         std::int64_t sequences, std::vector<RecallAnswers>& answers);
  /// The number that is learned; NaN after Ctrl-C.
  double needle(const std::string& what, const NeedleRun& run);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::train
