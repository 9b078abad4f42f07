#pragma once

#include <cstdint>
#include <vector>

#include "examples/softmax_error/simulator.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/regression_law.hpp"
#include "examples/support/unused_options.hpp"

/// The options of incontext softmax-error, and the check of their combinations.
namespace incontext::examples::softmax_error {

/// The attention pretrained on the law before its shifts, or scores m x_j . x_q with values v y_j.
enum class AttentionChoice { pretrained, scaled };

enum class Vary { temperature, context_length, dimension, map, heads };

struct SoftmaxErrorOptions {
  Vary vary = Vary::temperature;
  std::vector<double> temperatures = {};
  std::vector<std::int64_t> context_lengths = {10, 20, 50, 100, 200};
  std::vector<std::int64_t> dimensions = {1, 2, 4, 8, 16};
  std::vector<double> scales = {0.43};
  std::vector<double> exponents = {1.5, 3};
  std::vector<std::int64_t> heads = {1, 2};

  bool dimension_given = false;
  RegressionLawOptions law = {};
  AttentionChoice attention = AttentionChoice::pretrained;
  double key_query_scale = 1;
  double label_value = 1;
  regression::QueryToken query = regression::QueryToken::excluded;

  EstimatorChoice estimator = EstimatorChoice::reduced;
  SimulationOptions simulation = {};
  OutputOptions output = {};

  Situation situation(std::int64_t dimension, std::int64_t context_length) const;
  bool has_files() const;
};

void add_softmax_error_options(CLI::App& app, SoftmaxErrorOptions& o);

/// Checks options that depend on each other, sets the defaults of those not given, and finds those without effect.
UnusedOptions complete(const CLI::App& app, SoftmaxErrorOptions& o);

/// Writes the values that the run used for options not given into the report's arguments.
void state_used(const SoftmaxErrorOptions& o, nlohmann::ordered_json& arguments);

}  // namespace incontext::examples::softmax_error
