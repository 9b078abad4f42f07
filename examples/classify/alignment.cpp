#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// As many as the paper's sets for evaluation have.
constexpr std::int64_t evaluated_contexts = 512;

/// A pair to compare: attention with weights constructed for one classifier, and the step of another.
struct Pair {
  std::string name;
  Classifier attention, step;
};

std::vector<Pair> pairs_of(ClassifyRun& run, const SphereTask& task) {
  const bool is_linear = run.options.figure == ClassifyFigure::linear_alignment;
  const RuleChoice choice = is_linear ? RuleChoice::linear : RuleChoice::adaptive_with_query;
  const Classifier best = best_of(run.simulator, task, choice).classifier;
  std::vector<Pair> pairs{{"as constructed", best, best}};
  Classifier louder = best;
  louder.gain *= 1.1;
  pairs.push_back({is_linear ? "rate 10% larger" : "gain 10% larger", louder, best});
  if (is_linear) return pairs;
  Classifier narrower = best, other = best;
  narrower.kappa *= 1.1;
  other.rule = ClassificationRule::adaptive;
  pairs.push_back({"kappa 10% larger", narrower, best});
  pairs.push_back({"step without query key", best, other});
  return pairs;
}

}  // namespace

std::vector<Table> alignment_figure(ClassifyRun& run) {
  const SphereTask task = run.options.task();
  const bool is_linear = run.options.figure == ClassifyFigure::linear_alignment;
  const std::string what = is_linear ? "Linear attention beside one step of gradient descent"
                                     : "Softmax attention beside one context-adaptive step of kernel gradient descent";
  Table table{
      .title = what + ": " + in_words(task),
      .columns = {{"weights"},
                  parameter_column("kappa", "kappa"),
                  parameter_column("gain", is_linear ? "rate" : "c"),
                  {.name = "predictions_difference", .heading = "|p - p'|", .digits = 3, .style = Style::shortest},
                  {.name = "predictions_error", .heading = "± error", .digits = 2, .style = Style::shortest},
                  {.name = "cosine", .digits = 5, .decimals_as = 2},
                  {.name = "cosine_error", .in_text = InText::hidden},
                  {.name = "sensitivity_difference", .heading = "|J - J'|", .digits = 3, .style = Style::shortest},
                  {.name = "sensitivity_error", .heading = "± error", .digits = 2, .style = Style::shortest},
                  trials_column()}};
  for (const Pair& pair : pairs_of(run, task)) {
    std::vector<double> predictions, cosines, sensitivities;
    for (std::int64_t i = 0; i < evaluated_contexts && !run.simulator.stopped(); ++i) {
      const auto apart = attention_alignment(run.simulator.context(task, static_cast<std::uint64_t>(i)), task,
                                             pair.attention, pair.step);
      predictions.push_back(apart.prediction_distance);
      sensitivities.push_back(apart.sensitivity_distance);
      if (std::isfinite(apart.cosine)) cosines.push_back(apart.cosine);
    }
    run.simulator.count(static_cast<std::int64_t>(predictions.size()), evaluated_contexts);
    const auto distance = estimate_of(predictions), cosine = estimate_of(cosines), slope = estimate_of(sensitivities);
    table.add_row({pair.name, is_linear ? Cell() : Cell(pair.attention.kappa), pair.attention.gain, mean_cell(distance),
                   error_cell(distance), mean_cell(cosine), error_cell(cosine), mean_cell(slope), error_cell(slope),
                   distance.count});
    if (pair.name == "as constructed") continue;
    run.controls.add("no difference of predictions", pair.name, 0, distance.mean, distance);
  }
  table.notes = {
      "Nothing is trained here: the weights are those that the paper constructs, at the parameters of least loss. As "
      "constructed, the layer is the step, and the differences are rounding.",
      "|p - p'|: predictions; cosine: between the two dp_c/dx, mean over the classes; J = dp/dx. Over " +
          std::to_string(evaluated_contexts) + " contexts, as in the paper."};
  return {std::move(table), referee_table(run, {task.dimension})};
}

}  // namespace incontext::examples::classify
