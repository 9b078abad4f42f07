#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/regression_law.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/temperature/simulator.hpp"

/// The options of incontext temperature, and the check of their combinations.
namespace incontext::examples::temperature {

struct TemperatureOptions {
  std::string figure = {};

  std::vector<double> temperatures = {0.5, 0.7, 1, 1.4, 2, 4};
  RegressionLawOptions law = {};
  Reading reading = {};

  std::vector<std::int64_t> context_lengths = {};
  std::vector<double> shifts = {};

  std::string data = {};
  std::vector<std::string> columns = {};
  std::vector<std::string> without = {};
  std::string labels = {};
  bool center = false;
  bool standardize = false;
  bool drop_missing = false;
  bool no_header = false;
  std::vector<std::string> missing = {};

  std::string scores = {};
  std::string self_scores = {};
  std::optional<std::int64_t> self_column = {};
  bool causal = false;
  bool no_finite_masks = false;

  SimulationOptions simulation = {};
  OutputOptions output = {};
};

const std::vector<std::string>& figure_names();

void add_temperature_options(CLI::App& app, TemperatureOptions& o);

/// Refuses combinations of options that contradict each other, and finds options without effect.
UnusedOptions check_combination(const CLI::App& app, TemperatureOptions& o);

/// Writes the offset and the estimator that the run used into the report's arguments, where they matter.
void state_reading(const TemperatureOptions& o, nlohmann::ordered_json& arguments);

}  // namespace incontext::examples::temperature
