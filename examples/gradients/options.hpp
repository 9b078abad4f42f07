#pragma once

#include <cstdint>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"

/// The options of incontext gradients, and the check of their combinations.
namespace incontext::examples::gradients {

enum class GradientFigure { temperature, frozen, schedule, normsoftmax, queries, groups, ends };

struct GradientOptions {
  GradientFigure figure = GradientFigure::temperature;
  std::vector<double> temperatures = {};
  std::vector<double> score_stddevs = {};
  std::vector<double> scales = {};
  std::vector<double> gaps = {};                  ///< between two groups of tokens, in temperatures
  std::vector<std::int64_t> key_dimensions = {};  ///< of dot products
  std::int64_t epochs = 100;
  double start_temperature = 1.0 / 3;

  double weight_stddev = 0.02;
  std::int64_t key_dimension = 64;
  SimulationOptions simulation = {.dimension = 256, .context_length = 197, .trials = 2048};
  OutputOptions output = {};

  /// The standard deviation of the raw scores q . k at initialization, for tokens and a query whose d components have
  /// variance 1.
  double score_stddev() const;
  double usual_temperature() const;
};

void add_gradient_options(CLI::App& app, GradientOptions& o);

/// Checks options that depend on each other, sets the defaults of those not given, and finds those without effect.
UnusedOptions complete(const CLI::App& app, GradientOptions& o);

/// Writes the values that the run used for options not given into the report's arguments.
void state_used(const GradientOptions& o, nlohmann::ordered_json& arguments);

}  // namespace incontext::examples::gradients
