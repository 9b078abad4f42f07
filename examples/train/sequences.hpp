#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"
#include "examples/train/sequence_simulator.hpp"

/// Transformers with several attention maps, trained on the tasks of arXiv 2508.14685 (affine functions, quantifiers),
/// and inverse temperatures trained to find needles (2501.19399).
namespace incontext::examples::train {

/// What is trained. Values of 0 and empty lists are the edition's own.
struct SequenceOptions {
  bool full = false;
  std::vector<std::string> maps = {};
  std::int64_t width = 0;
  std::int64_t seeds = 0;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t tested = 0;  ///< sequences per test
  std::int64_t needle_seeds = 0;
  std::int64_t needle_steps = 0;
  std::int64_t needle_batch = 64;
  std::uint64_t first_seed = 1;
};

/// The options of these tasks alone; --full, --width, --seeds, --steps and --batch are other tasks', too.
void add_sequence_options(CLI::App& app, SequenceOptions& o);

/// Their names, for tasks without use for them.
std::vector<std::string> sequence_option_names();

/// Fills in the edition's values, and refuses maps that do not exist.
void complete(SequenceOptions& o);

/// Writes the edition's values into the report's arguments.
void state_used(const SequenceOptions& o, nlohmann::ordered_json& arguments);

/// What the tables read and fill in.
struct SequenceParts {
  const SequenceOptions& options;
  SequenceSimulator& simulator;
  Judgment& judgment;
  Controls& controls;  ///< with the keys statement and at
};

/// One more run of a map with a seed, of the edition's size.
SequenceRun run_of(const SequenceOptions& o, const std::string& map, std::int64_t seed);

/// The mean over runs and its standard error.
statistics::Estimate estimate_of_runs(const std::vector<double>& values);

/// A number as a cell of a table; an empty cell for NaN.
Cell finite_cell(double value);

/// Errors by shift, boundary values beside those of the weights and of the clip model, and deviant inputs.
std::vector<Table> affine_tables(SequenceParts& parts);

/// Right answers by length and map, with binomial intervals, also where SSMax replaces softmax after or in training.
std::vector<Table> quantifier_tables(SequenceParts& parts);

/// The inverse temperature that is learned at every length, beside the population's optimum, and Scalable-Softmax's s.
std::vector<Table> needle_tables(SequenceParts& parts);

}  // namespace incontext::examples::train
