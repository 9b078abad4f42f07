#include <incontext/core/contracts.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "examples/support/npy.hpp"
#include "examples/support/output.hpp"
#include "examples/support/text.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

/// Ten evenly spaced steps up to the last one.
std::vector<std::int64_t> measured_steps(std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (int i = 1; i <= 10; ++i) {
    const std::int64_t step = std::max<std::int64_t>(last * i / 10, 1);
    if (steps.empty() || step > steps.back()) steps.push_back(step);
  }
  return steps;
}

}  // namespace

void write_more(const ClassificationParts& parts) {
  const std::string& file = parts.options.weights;
  if (file.empty() || !parts.trained) return;
  const std::string key_query = npy_bytes(parts.trained->key_query), output = npy_bytes(parts.trained->output);
  write_files({{key_query_file(file), key_query}, {output_file(file), output}}, "--weights");
}

std::vector<Table> curve_tables(ClassificationParts& parts, ContextRun run) {
  const ClassificationOptions& o = parts.options;
  run.seed = o.simulation.seed;
  const auto states = parts.simulator.train("training", run, measured_steps(run.steps));
  Table table{.title = std::string("The way of ") + name(run.map) + " attention to its rule",
              .columns = {{.name = "step"},
                          {.name = "kappa", .digits = 4, .in_text = InText::where_filled},
                          {.name = "gain", .digits = 4},
                          {.name = "loss", .digits = 5},
                          {.name = "rule_loss", .heading = "rule's loss", .digits = 5},
                          {.name = "gap", .digits = 3},
                          {.name = "gap_error", .heading = "± error", .digits = 2},
                          {.name = "prediction_difference", .heading = "|p - p'|", .digits = 4},
                          {.name = "cosine", .digits = 5},
                          {.name = "sensitivity_difference", .heading = "|J - J'|", .digits = 4},
                          {.name = "gradient_norm", .heading = "|gradient|", .digits = 3}}};
  if (states.empty()) return {table};
  const TrainedContext& last = states.back();
  parts.trained = last.head;
  const Side side = step_of(run, last.head).kappa < 0 ? Side::elimination : Side::selection;
  const auto rule = best_rule(parts, run, side);
  if (!rule) return {table};
  const bool is_linear = run.map == ContextMap::linear;
  Comparison at;
  for (const TrainedContext& state : states) {
    const auto own = step_of(run, state.head);
    at = compare(parts, run, state.head, rule->best);
    table.add_row({state.step, is_linear ? Cell{} : Cell{own.kappa}, own.gain, at.trained.mean, at.rule.mean,
                   at.gap.mean, at.gap.standard_error, at.prediction_difference.mean, at.cosine.mean,
                   at.sensitivity_difference.mean, state.gradient_norm});
  }
  table.notes = {is_linear ? "The rule is fixed at its best learning rate, " + short_text(rule->best.gain, 4) +
                                 "; gain: the layer's."
                           : "The rule is fixed at its best parameters: kappa " + short_text(rule->best.kappa, 4) +
                                 ", gain " + short_text(rule->best.gain, 4) + "."};
  Table end{.title = "Where the way ended",
            .columns = comparison_after({{.name = "step"}, {.name = "strategy"}}),
            .key_columns = 2};
  const Strategy strategy = strategy_of(run, last.head);
  std::vector<Cell> row{last.step, is_linear ? Cell{} : Cell{std::string(name(strategy))}};
  for (Cell& cell : judged_end(parts, strategy, at)) row.push_back(std::move(cell));
  end.add_row(std::move(row));
  return {table, end};
}

}  // namespace incontext::examples::train
