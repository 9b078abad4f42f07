#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/classify/simulator.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"

/// The options of incontext classify, and the check of their combinations.
namespace incontext::examples::classify {

enum class ClassifyFigure {
  metrics,
  laws,
  linear_alignment,
  softmax_alignment,
  boundaries,
  lengths,
  variation,
  neighborhoods,
  optima,
  map,
  trend,
  elimination,
  onset
};

/// The four rules, and attention with the fixed width sigma = 1, that is kappa = 1.
enum class RuleChoice { all, linear, kernel, fixed_width, adaptive, adaptive_with_query };

/// The default kappa of figures that do not search for one.
inline constexpr double trend_kappa = 1;

struct ClassifyOptions {
  ClassifyFigure figure = ClassifyFigure::metrics;
  RuleChoice rule = RuleChoice::all;
  std::optional<double> kappa = {};  ///< searched for where absent
  std::optional<double> gain = {};   ///< likewise; the rate of linear and kernel
  std::vector<std::int64_t> dimensions = {};
  std::vector<std::int64_t> context_lengths = {};
  std::vector<std::int64_t> class_counts = {};
  double crowding = 0.4;      ///< neighborhoods: length of a context's mean point
  double near_cosine = 0.95;  ///< neighborhoods: what counts as near

  std::int64_t classes = 5;
  std::int64_t prototype_sets = 0;
  std::int64_t search_trials = 4096;
  SimulationOptions simulation = {.dimension = 5, .context_length = 100, .trials = 32768};
  OutputOptions output = {};

  std::int64_t context = 0;  ///< which context the boundaries are drawn for

  std::string contexts_file = {};
  std::int64_t contexts = 64;

  SphereTask task() const {
    return {simulation.dimension, classes, simulation.context_length, simulate::ContextLaw::balanced, prototype_sets};
  }
};

void add_classify_options(CLI::App& app, ClassifyOptions& o);

/// Checks options that depend on each other, sets the defaults of those not given, and finds those without effect.
UnusedOptions complete(const CLI::App& app, ClassifyOptions& o);

/// Writes the values that the run used for options not given into the report's arguments.
void state_used(const ClassifyOptions& o, nlohmann::ordered_json& arguments);

}  // namespace incontext::examples::classify
