#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"
#include "examples/train/reasoning_simulator.hpp"

/// A transformer of one block trained on the reasoning task of arXiv 2310.12956: when it learns to read the parities,
/// and what it knows before.
namespace incontext::examples::train {

/// What is trained. Values of 0 and empty lists are the edition's own: the quick one has two methods, three seeds and
/// one learning rate, the full one all methods, five seeds and three learning rates.
struct ReasoningOptions {
  bool full = false;
  std::vector<std::string> methods = {};
  std::vector<double> rates = {};
  std::int64_t width = 32;
  std::int64_t seeds = 0;
  std::int64_t steps = 0;
  std::int64_t every = 20;
  std::int64_t batch = 0;
  double training_share = 0.3;
  double weight_decay = 1;
  double initial_stddev = 0.125;
  double low_temperature = 1.0 / 3;
  std::uint64_t first_seed = 1;
};

/// The options that only these figures have; seeds, steps and batch belong to other figures, too.
void add_reasoning_options(CLI::App& app, ReasoningOptions& o);

/// The names of these options, for the other figures, which refuse them.
std::vector<std::string> reasoning_option_names();

/// Fills in the edition's values, and refuses methods that do not exist.
void complete(ReasoningOptions& o);

/// Writes the edition's values into the report's arguments.
void state_used(const ReasoningOptions& o, nlohmann::ordered_json& arguments);

/// What the figures read and fill in.
struct ReasoningParts {
  const ReasoningOptions& options;
  ReasoningSimulator& simulator;
  Judgment& judgment;
  Controls& controls;  ///< with the keys statement and at
};

/// Eureka moments over seeds, methods and rates; and the plateau, where coins answer in place of the parities.
std::vector<Table> eureka_tables(ReasoningParts& parts);

/// One run per method and rate through training: losses, accuracies, entropies and gradients (Figs. 5, 7a and 8).
std::vector<Table> reasoning_course_tables(ReasoningParts& parts);

}  // namespace incontext::examples::train
