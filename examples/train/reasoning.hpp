#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/table.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/train/reasoning_simulator.hpp"
#include "examples/train/task.hpp"

/// A transformer of one block trained on the reasoning task of arXiv 2310.12956: when it learns to read the parities,
/// and what it knows before.
namespace incontext::examples::train {

/// The step of the Eureka moment, or the course of a training.
enum class ReasoningFigure { ends, curves };

/// What is trained. Empty lists are the run's own: the quick one has two methods and one learning rate, the full one
/// all methods and three learning rates.
struct ReasoningOptions : TaskOptions {
  ReasoningFigure figure = ReasoningFigure::ends;
  std::vector<std::string> methods = {};
  std::vector<double> rates = {};
  std::vector<std::int64_t> widths = {32};
  std::vector<std::int64_t> warm_ups = {100};
  std::int64_t seeds = 3;
  std::int64_t steps = 800;
  std::int64_t every = 20;
  std::int64_t batch = 0;
  double training_share = 0.3;
  std::vector<double> weight_decays = {1};
  double initial_stddev = 0.125;
  double low_temperature = 1.0 / 3;
};

void add_options(CLI::App& app, ReasoningOptions& o);

/// Fills in the run's values, collects given options without effect, and refuses sizes that do not fit.
void complete(const CLI::App& app, ReasoningOptions& o, UnusedOptions& unused);

/// Writes the run's lists into the report's arguments.
void state_used(const ReasoningOptions& o, nlohmann::ordered_json& arguments);

using ReasoningParts = TaskParts<ReasoningOptions, ReasoningSimulator>;

/// Eureka moments over seeds, methods and settings, and the plateau, where coins answer in place of the parities; or one
/// run per method and setting through training: losses, accuracies, entropies and gradients (Figs. 5, 7a and 8).
std::vector<Table> reasoning_tables(ReasoningParts& parts);

}  // namespace incontext::examples::train
