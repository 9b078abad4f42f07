#include "examples/classify/optimum.hpp"

#include <incontext/statistics/estimate.hpp>
#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>

#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

constexpr double least_kappa = 0.02, most_kappa = 500;

std::vector<double> negatives(std::vector<double> values) {
  std::reverse(values.begin(), values.end());
  for (double& value : values) value = -value;
  return values;
}

std::vector<double> kappas_of(RuleChoice choice, const std::optional<double>& kappa, Side side) {
  if (choice == RuleChoice::linear) return {0};
  if (choice == RuleChoice::fixed_width) return {1};
  if (kappa) return {*kappa};
  if (side == Side::elimination) return negatives(log_spaced(least_kappa, 20, 11));
  return log_spaced(least_kappa, most_kappa, 15);
}

/// The gains among which the best one is searched: they surround the linear rule's predicted best rate divided by
/// kappa.
ClassificationGrid grid_of(const SphereTask& task, RuleChoice choice, const std::optional<double>& kappa,
                           const std::optional<double>& gain, Side side) {
  ClassificationGrid grid{rule_of(choice), kappas_of(choice, kappa, gain && *gain < 0 ? Side::elimination : side), {}};
  const double rate = predicted_rate(task);
  if (gain) {
    grid.gains = {std::abs(*gain)};
  } else if (choice == RuleChoice::linear) {
    grid.gains = log_spaced(rate / 30, rate * 30, 13);
  } else if (choice == RuleChoice::kernel) {
    grid.gains = log_spaced(rate / 30, rate * 3000, 19);
  } else if (grid.kappas.size() == 1) {
    const double scale = std::max(std::abs(grid.kappas.front()), 1e-6);
    grid.gains = log_spaced(rate / 30 / scale, 100 * (rate / scale + 1), 21);
  } else {
    grid.chart = GridChart::slope;
    grid.gains = log_spaced(rate / 10, rate * 100, 15);
  }
  return grid;
}

std::string edge_of(const ClassificationOptimum& found, GridChart chart) {
  const auto words = [](const std::string& axis, AxisPlace place) -> std::string {
    if (place == AxisPlace::lowest) return "lowest " + axis;
    if (place == AxisPlace::highest) return "highest " + axis;
    return "";
  };
  const std::string kappa = words("kappa", found.kappa_place);
  const std::string gain = words(chart == GridChart::slope ? "kappa c" : "gain", found.gain_place);
  return kappa + (kappa.empty() || gain.empty() ? "" : ", ") + gain;
}

}  // namespace

ClassificationRule rule_of(RuleChoice choice) {
  switch (choice) {
    case RuleChoice::linear:
      return ClassificationRule::linear;
    case RuleChoice::kernel:
      return ClassificationRule::kernel;
    case RuleChoice::adaptive:
      return ClassificationRule::adaptive;
    case RuleChoice::all:
    case RuleChoice::fixed_width:
    case RuleChoice::adaptive_with_query:
      break;
  }
  return ClassificationRule::adaptive_with_query;
}

bool is_softmax(RuleChoice choice) {
  return choice == RuleChoice::adaptive || choice == RuleChoice::adaptive_with_query;
}

std::vector<double> log_spaced(double low, double high, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low * std::pow(high / low, static_cast<double>(i) / (count - 1)));
  return values;
}

std::string name_of(RuleChoice choice) {
  switch (choice) {
    case RuleChoice::linear:
      return "linear";
    case RuleChoice::kernel:
      return "kernel";
    case RuleChoice::fixed_width:
      return "fixed width";
    case RuleChoice::adaptive:
      return "softmax, no key";
    case RuleChoice::all:
    case RuleChoice::adaptive_with_query:
      break;
  }
  return "softmax";
}

std::vector<RuleChoice> all_rules() {
  return {RuleChoice::linear, RuleChoice::kernel, RuleChoice::fixed_width, RuleChoice::adaptive,
          RuleChoice::adaptive_with_query};
}

Chosen best_of(Simulator& simulator, const SphereTask& task, RuleChoice choice, std::optional<double> kappa,
               std::optional<double> gain, Side side) {
  if (choice == RuleChoice::linear) kappa = 0;
  if (choice == RuleChoice::fixed_width) kappa = 1;
  if (kappa && gain) return given(choice, {rule_of(choice), *kappa, *gain});
  const ClassificationGrid grid = grid_of(task, choice, kappa, gain, side);
  const auto found = simulator.search(name_of(choice) + ": best parameters", task, grid);
  if (found) return {choice, found->best, edge_of(*found, grid.chart), true};
  return {choice, grid.classifier(grid.kappas.front(), grid.gains.front()), "not reached", true, false};
}

OptimumError error_of_best(Simulator& simulator, const SphereTask& task, RuleChoice choice,
                           std::optional<double> kappa) {
  constexpr int parts = 4;
  if (choice == RuleChoice::linear) kappa = 0;
  if (choice == RuleChoice::fixed_width) kappa = 1;
  const ClassificationGrid grid = grid_of(task, choice, kappa, {}, Side::selection);
  std::vector<double> kappas, gains;
  for (int i = 0; i < parts; ++i) {
    const auto found = simulator.search_part("uncertainty of the optimum", task, grid, parts);
    if (!found || !found->is_inside()) return {};
    kappas.push_back(std::log(found->best.kappa));
    gains.push_back(std::log(std::abs(found->best.gain)));
  }
  // the error of all contexts is that of a mean over the parts
  const auto error = [](const std::vector<double>& values) {
    return statistics::Estimate(statistics::moments_of(values.data(), parts)).standard_error;
  };
  return {kappa ? Cell() : Cell(error(kappas)), error(gains)};
}

Chosen given(RuleChoice choice, const Classifier& classifier) { return {choice, classifier, "", false}; }

Cell Chosen::kappa() const { return reached && choice != RuleChoice::linear ? Cell(classifier.kappa) : Cell(); }
Cell Chosen::gain() const { return reached ? Cell(classifier.gain) : Cell(); }

}  // namespace incontext::examples::classify
