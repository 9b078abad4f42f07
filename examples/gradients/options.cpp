#include "examples/gradients/options.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace incontext::examples::gradients {

double GradientOptions::score_stddev() const {
  return weight_stddev * weight_stddev * static_cast<double>(simulation.dimension) * usual_temperature();
}

double GradientOptions::usual_temperature() const { return std::sqrt(static_cast<double>(key_dimension)); }

void add_gradient_options(CLI::App& app, GradientOptions& o) {
  const auto positive = [](double value) { return value > 0; };
  add_choice<GradientFigure>(app, "--figure", o.figure, "What to show, see above",
                             {{"temperature", GradientFigure::temperature},
                              {"frozen", GradientFigure::frozen},
                              {"schedule", GradientFigure::schedule},
                              {"normsoftmax", GradientFigure::normsoftmax}});
  add_positive_numbers(app, "--temperatures", o.temperatures, "temperature: its values");
  add_positive_numbers(app, "--score-stddevs", o.score_stddevs,
                       "frozen: standard deviations of the scores over the temperature");
  add_count<std::int64_t>(app, "--epochs", o.epochs, "schedule: epochs of the training", 2, 1000000000);
  add_number(app, "--start-temperature", o.start_temperature, "schedule: temperature of the first epoch", positive,
             "0 < value");
  add_positive_numbers(app, "--scales", o.scales, "normsoftmax: what the raw scores are multiplied with");
  head_options(app, "Figures");
  add_number(app, "--weight-stddev", o.weight_stddev, "Standard deviation of the weights W_Q and W_K", positive,
             "0 < value");
  add_count<std::int64_t>(app, "--key-dimension", o.key_dimension,
                          "Dimension of queries and keys; its root is the usual temperature", 1, 1000000);
  head_options(app, "Layer");
  add_simulation_options(app, o.simulation);
  add_output_options(app, o.output);
  add_partial_option(app, o.output);
}

UnusedOptions complete(const CLI::App& app, GradientOptions& o) {
  const std::vector<std::pair<GradientFigure, std::vector<std::string>>> of_figures{
      {GradientFigure::temperature, {"--temperatures"}},
      {GradientFigure::frozen, {"--score-stddevs"}},
      {GradientFigure::schedule, {"--epochs", "--start-temperature"}},
      {GradientFigure::normsoftmax, {"--scales"}}};
  const std::string mode = "--figure " + text_of(app, "--figure");
  UnusedOptions unused(app);
  for (const auto& [figure, own] : of_figures) {
    if (figure != o.figure) unused.add(mode, own);
  }
  if (o.figure == GradientFigure::frozen) unused.add(mode, {"--weight-stddev", "--key-dimension"});
  // At the default temperature, which depends on the dimensions, x is the weights' variance times the dimension.
  if (o.figure == GradientFigure::normsoftmax) unused.add(mode, {"--key-dimension"});
  add_unused_run_options(unused, o.simulation, o.output);
  if (o.temperatures.empty()) o.temperatures = {1.0 / 3, 0.5, 1, 2, 4, 8, 16};
  if (o.score_stddevs.empty()) o.score_stddevs = {1, 3, 8, 16, 32};
  if (o.scales.empty()) o.scales = {0.25, 1, 4, 16, 64};
  return unused;
}

void state_used(const GradientOptions& o, nlohmann::ordered_json& arguments) {
  if (o.figure == GradientFigure::temperature) arguments["temperatures"] = o.temperatures;
  if (o.figure == GradientFigure::frozen) arguments["score_stddevs"] = o.score_stddevs;
  if (o.figure == GradientFigure::normsoftmax) arguments["scales"] = o.scales;
}

}  // namespace incontext::examples::gradients
