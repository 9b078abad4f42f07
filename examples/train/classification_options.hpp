#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/unused_options.hpp"
#include "examples/train/simulator.hpp"
#include "examples/train/task.hpp"

/// What incontext train classification can be asked.
namespace incontext::examples::train {

/// Where training ends, beside the rules; the way there; and figures of arXiv 2510.10425: models over context lengths
/// (7), transience (10), widths over dimensions (16), selection and elimination (17), learning rates (18), and the
/// valley of kappa and gain.
enum class ClassificationFigure { ends, curves, models, widths, strategies, learning_rates, valley, transience };

/// Which maps are trained.
enum class MapChoice { linear, softmax, both };

struct ClassificationOptions : TaskOptions {
  ClassificationFigure figure = ClassificationFigure::ends;
  MapChoice maps = MapChoice::both;
  std::int64_t dimension = 0;  ///< 0: the figure's own
  std::int64_t classes = 5;
  std::int64_t context_length = 100;
  std::int64_t seeds = 5;
  std::vector<std::int64_t> dimensions = {};
  std::vector<std::int64_t> context_lengths = {};
  std::vector<std::int64_t> class_counts = {};
  std::vector<std::int64_t> prototype_sets = {};
  std::vector<std::int64_t> hidden_ratios = {};
  std::vector<double> initial_scales = {};
  std::vector<double> rates = {};
  ContextRun run = {};
  std::string weights = {};
};

/// The files of the products of weights, for the value of --weights.
std::string key_query_file(const std::string& weights);
std::string output_file(const std::string& weights);

void add_options(CLI::App& app, ClassificationOptions& o);

/// Sets the defaults of options that are not given, and collects given ones that the chosen figure does not use.
void complete(const CLI::App& app, ClassificationOptions& o, UnusedOptions& unused);

/// Writes the run's values into the report's arguments.
void state_used(const ClassificationOptions& o, nlohmann::ordered_json& arguments);

}  // namespace incontext::examples::train
