#include "examples/classify/optimum.hpp"

#include <incontext/statistics/estimate.hpp>
#include <incontext/statistics/moments.hpp>

#include <cmath>

namespace incontext::examples::classify {

namespace {

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
  const ClassificationGrid grid = search_grid(task, rule_of(choice), {kappa, gain}, side);
  const auto found = simulator.search(name_of(choice) + ": best parameters", task, grid);
  if (found) return {choice, found->best, edge_of(*found, grid.chart), true};
  return {choice, grid.classifier(grid.kappas.front(), grid.gains.front()), "not reached", true, false};
}

OptimumError error_of_best(Simulator& simulator, const SphereTask& task, RuleChoice choice,
                           std::optional<double> kappa) {
  constexpr int parts = 4;
  if (choice == RuleChoice::linear) kappa = 0;
  if (choice == RuleChoice::fixed_width) kappa = 1;
  const ClassificationGrid grid = search_grid(task, rule_of(choice), {kappa, {}});
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
