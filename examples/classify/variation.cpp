#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

const std::vector<double>& widths() {
  static const std::vector<double> sigmas{0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 2.0};
  return sigmas;
}

/// Beyond this spread rare contexts carry the variance, and a simulation does not know its own error.
constexpr double most_judged = 1;

std::vector<double> kappas() {
  std::vector<double> result;
  for (const double sigma : widths()) result.push_back(1 / (sigma * sigma));
  return result;
}

/// Standard deviation over mean, and its error to first order, from a simulated relative mass.
statistics::Estimate variation_of(const PartitionFunctionSimulation& simulated, std::size_t i) {
  const auto &mass = simulated.at(i, PartitionFunctionMetric::partition_function),
             &square = simulated.at(i, PartitionFunctionMetric::squared_deviation);
  statistics::Estimate result = square;
  const double off = mass.mean - 1, variance = square.mean - off * off;
  result.mean = std::sqrt(variance) / mass.mean;
  result.standard_error = square.standard_error / (2 * std::sqrt(variance) * mass.mean);
  return result;
}

/// Squared variation of a law whose mean is known: the mean of a square, without the bias of a quotient.
void add_judged(Table& table, ClassifyRun& run, std::int64_t d, double sigma, const std::string& points, double theory,
                const statistics::Estimate& square) {
  table.add_row({d, sigma, points}, run.judgment.judged({theory * theory, 1e-9 * theory * theory}, square));
}

}  // namespace

std::vector<Table> variation_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const std::int64_t n = o.simulation.context_length, even = n + n % 2;
  Table table{
      .title = "Spread of the partition function over its mean against the kernel's width: n = " + std::to_string(n),
      .columns = {{"d"},
                  parameter_column("sigma", "sigma"),
                  {.name = "independent", .heading = "independent points", .digits = 4, .decimals_as = 1},
                  {.name = "two_classes", .heading = "two classes", .decimals_as = 1},
                  {.name = "balanced", .heading = std::to_string(o.classes) + " classes", .decimals_as = 1},
                  {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                  {.name = "best", .heading = "softmax' best"},
                  trials_column()}};
  Table judged = comparison_table("The squared spread, where there is a theory",
                                  {{"d"}, parameter_column("sigma", "sigma"), {"points"}});
  for (const std::int64_t d : o.dimensions) {
    const SphereTask task{d, o.classes, n};
    const Chosen best = best_of(run.simulator, task, RuleChoice::adaptive_with_query);
    const double best_sigma = 1 / std::sqrt(std::max(best.classifier.kappa, 1e-9));
    const auto balanced = run.simulator.partition_function("balanced contexts", task, kappas());
    const auto independent =
        run.simulator.partition_function("independent points", {d, 2, n, simulate::ContextLaw::independent}, kappas());
    const auto two = run.simulator.partition_function("two classes", {d, 2, even}, kappas());
    std::size_t nearest = 0;
    for (std::size_t i = 0; i < widths().size(); ++i) {
      const auto off = [&](std::size_t at) { return std::abs(std::log(widths()[at] / best_sigma)); };
      nearest = off(i) < off(nearest) ? i : nearest;
    }
    for (std::size_t i = 0; i < widths().size(); ++i) {
      const double sigma = widths()[i], kappa = kappas()[i];
      const VariationLaw law = variation_law(d, kappa, n), law_of_two = variation_law(d, kappa, even);
      const statistics::Estimate simulated = variation_of(balanced, i);
      const bool is_best = best.reached && i == nearest;
      table.add_row(
          {d, sigma, law.independent, law.two_classes, mean_cell(simulated), error_cell(simulated),
           is_best ? Cell(std::string(best.edge.empty() ? "<- " : "<- edge, ") + in_words(best_sigma, 3)) : Cell(),
           simulated.count});
      if (sigma > 1 || law.independent > most_judged) continue;
      add_judged(judged, run, d, sigma, "independent", law.independent,
                 independent.at(i, PartitionFunctionMetric::squared_deviation));
      add_judged(judged, run, d, sigma, "two classes", law_of_two.two_classes,
                 two.at(i, PartitionFunctionMetric::squared_deviation));
      if (o.classes > 2 && d == o.dimensions.front() && sigma >= 0.4) {
        run.controls.add(
            "independent points",
            std::to_string(o.classes) + " classes, d = " + std::to_string(d) + ", sigma = " + in_words(sigma),
            law.independent, simulated.mean, simulated);
      }
      if (sigma == 1) {
        run.controls.add("independent, squared",
                         "two classes, d = " + std::to_string(d) + ", sigma = " + in_words(sigma),
                         law.independent * law.independent, law_of_two.two_classes * law_of_two.two_classes,
                         two.at(i, PartitionFunctionMetric::squared_deviation));
      }
    }
  }
  table.notes = {"Z = sum of e^(-|x_j - x|^2 / 2 sigma^2) over the context, what the adaptive rate is inverse to.",
                 "independent points, two classes: exact; the paper's balanced contexts of more classes are simulated. "
                 "softmax' best: the width of least loss, by search, at the nearest row."};
  judged.notes = {
      "Where the spread is above 1, rare contexts carry the variance: those rows are shown above, and not "
      "judged; nor are widths above 1, which vary with the last."};
  return {std::move(table), std::move(judged), referee_table(run, {o.dimensions.front()})};
}

}  // namespace incontext::examples::classify
