#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/train/reasoning.hpp"
#include "examples/train/sequences.hpp"
#include "examples/train/simulator.hpp"

/// What incontext-train can be asked.
namespace incontext::examples::train {

/// Classification in context (arXiv 2510.10425), linear regression (2511.01292), reading parities (2310.12956), affine
/// functions and quantifiers (2508.14685), or finding a needle (2501.19399).
enum class TrainTask { classification, regression, reasoning, affine, quantifier, needle };

/// Where training ends, beside the theory; the way there; a temperature that is trained on shifted laws; and figures of
/// arXiv 2510.10425: the models over context lengths (7) and dimensions (16), selection and elimination (17), learning
/// rates (18), and the valley of kappa and gain.
enum class TrainFigure { ends, curves, temperature, models, widths, strategies, learning_rates, valley };

/// Which maps are trained.
enum class MapChoice { linear, softmax, both };

struct TrainOptions {
  TrainTask task = TrainTask::classification;
  TrainFigure figure = TrainFigure::ends;
  MapChoice maps = MapChoice::both;
  std::int64_t dimension = 0;  ///< 0: the figure's own
  std::int64_t classes = 5;
  std::int64_t context_length = 100;
  std::int64_t seeds = 5;
  bool full = false;
  std::vector<std::int64_t> dimensions = {};
  std::vector<std::int64_t> context_lengths = {};
  std::vector<std::int64_t> class_counts = {};
  std::vector<double> initial_scales = {};
  std::vector<double> rates = {};
  ContextRun run = {};
  ReasoningOptions reasoning = {};
  SequenceOptions sequences = {};
  std::string checkpoint = {};
  std::string resume = {};
  std::string weights = {};
  SimulationOptions simulation = {.trials = 4096};
  OutputOptions output = {};
};

void add_train_options(CLI::App& app, TrainOptions& o);

/// Writes the edition's values into the report's arguments.
void state_used(const TrainOptions& o, nlohmann::ordered_json& arguments);

/// Sets the defaults of options not given, and refuses those the chosen figure has no use for.
UnusedOptions complete(const CLI::App& app, TrainOptions& o);

}  // namespace incontext::examples::train
