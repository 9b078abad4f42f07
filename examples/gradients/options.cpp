#include "examples/gradients/options.hpp"

#include <algorithm>
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
                              {"normsoftmax", GradientFigure::normsoftmax},
                              {"queries", GradientFigure::queries},
                              {"groups", GradientFigure::groups},
                              {"ends", GradientFigure::ends}});
  add_positive_numbers(app, "--temperatures", o.temperatures, "temperature, queries: its values");
  add_positive_numbers(app, "--score-stddevs", o.score_stddevs,
                       "frozen, ends: standard deviations of the scores over the temperature");
  add_count<std::int64_t>(app, "--epochs", o.epochs, "schedule: epochs of the training", 2, 1000000000);
  add_number(app, "--start-temperature", o.start_temperature, "schedule: temperature of the first epoch", positive,
             "0 < value");
  add_positive_numbers(app, "--scales", o.scales, "normsoftmax: what the raw scores are multiplied with");
  add_positive_numbers(app, "--gaps", o.gaps, "groups: how much lower the first group's scores are, in temperatures");
  add_counts(app, "--key-dimensions", o.key_dimensions, "ends: dimensions of the dot products", 1, 100000);
  head_options(app, "Figures");
  add_number(app, "--weight-stddev", o.weight_stddev, "Standard deviation of the weights W_Q and W_K", positive,
             "0 < value");
  add_count<std::int64_t>(app, "--key-dimension", o.key_dimension,
                          "Dimension of queries and keys; its root is the usual temperature", 1, 1000000);
  head_options(app, "Layer");
  add_simulation_options(app, o.simulation);
  add_run_output_options(app, o.output);
}

UnusedOptions complete(const CLI::App& app, GradientOptions& o) {
  const std::vector<std::pair<GradientFigure, std::vector<std::string>>> of_figures{
      {GradientFigure::temperature, {"--temperatures"}},
      {GradientFigure::frozen, {"--score-stddevs"}},
      {GradientFigure::schedule, {"--epochs", "--start-temperature"}},
      {GradientFigure::normsoftmax, {"--scales"}},
      {GradientFigure::queries, {"--temperatures"}},
      {GradientFigure::groups, {"--gaps"}},
      {GradientFigure::ends, {"--score-stddevs", "--key-dimensions"}}};
  const std::string mode = "--figure " + text_of(app, "--figure");
  UnusedOptions unused(app);
  std::vector<std::string> used, without_effect;
  for (const auto& [figure, own] : of_figures) {
    if (figure == o.figure) used.insert(used.end(), own.begin(), own.end());
  }
  for (const auto& [figure, own] : of_figures) {
    for (const std::string& name : own) {
      if (std::find(used.begin(), used.end(), name) != used.end()) continue;
      if (std::find(without_effect.begin(), without_effect.end(), name) == without_effect.end()) {
        without_effect.push_back(name);
      }
    }
  }
  unused.add(mode, without_effect);
  if (o.figure == GradientFigure::frozen) unused.add(mode, {"--weight-stddev", "--key-dimension"});
  if (o.figure == GradientFigure::groups) unused.add(mode, {"--key-dimension", "--dimension"});
  if (o.figure == GradientFigure::ends) unused.add(mode, {"--weight-stddev", "--key-dimension", "--dimension"});
  // At the default temperature, which depends on the dimensions, x is the weights' variance times the dimension.
  if (o.figure == GradientFigure::normsoftmax) unused.add(mode, {"--key-dimension"});
  add_unused_run_options(unused, o.simulation, o.output);
  if (o.temperatures.empty()) o.temperatures = {1.0 / 3, 0.5, 1, 2, 4, 8, 16};
  const bool ends = o.figure == GradientFigure::ends;
  if (o.score_stddevs.empty() && ends) o.score_stddevs = {0.1, 0.25, 1, 2, 4, 8, 16};
  if (o.score_stddevs.empty()) o.score_stddevs = {1, 3, 8, 16, 32};
  if (o.gaps.empty()) o.gaps = {0.1, 0.5, 1, 2, 4};
  if (o.key_dimensions.empty()) o.key_dimensions = {4, 16, 64};
  if (o.scales.empty()) o.scales = {0.25, 1, 4, 16, 64};
  return unused;
}

void state_used(const GradientOptions& o, nlohmann::ordered_json& arguments) {
  using enum GradientFigure;
  if (o.figure == temperature || o.figure == queries) arguments["temperatures"] = o.temperatures;
  if (o.figure == frozen || o.figure == ends) arguments["score_stddevs"] = o.score_stddevs;
  if (o.figure == normsoftmax) arguments["scales"] = o.scales;
  if (o.figure == groups) arguments["gaps"] = o.gaps;
  if (o.figure == ends) arguments["key_dimensions"] = o.key_dimensions;
}

}  // namespace incontext::examples::gradients
