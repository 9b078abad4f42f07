#include <incontext/core/contracts.hpp>
#include <incontext/training/checkpoint.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "examples/support/npy.hpp"
#include "examples/support/output.hpp"
#include "examples/support/text.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

/// What a checkpoint belongs to.
std::string settings_of(const ContextRun& run) {
  return std::string(name(run.map)) + " d " + std::to_string(run.task.dimension) + " k " +
         std::to_string(run.task.classes) + " n " + std::to_string(run.task.context_length) + " batch " +
         std::to_string(run.batch) + " rate " + short_text(run.rate, 6) + " decay " +
         std::to_string(run.decay_steps > 0 ? run.decay_steps : run.steps) + " initial " +
         short_text(run.initial_scale, 6) + " weights " + std::to_string(static_cast<int>(run.weights)) + " seed " +
         std::to_string(run.seed);
}

/// Ten evenly spaced steps up to the last one, without those at or before the first.
std::vector<std::int64_t> measured_steps(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (int i = 1; i <= 10; ++i) {
    const std::int64_t step = std::max<std::int64_t>(last * i / 10, 1);
    if (step > first && (steps.empty() || step > steps.back())) steps.push_back(step);
  }
  if (steps.empty()) {
    throw_input_error("--steps", "is not beyond the state of --resume", std::to_string(last),
                      "more than " + std::to_string(first));
  }
  return steps;
}

/// Refuses to go on where the learning rate has already fallen to 0.
void require_rate_left(const ContextRun& run, const std::optional<training::TrainingState>& from) {
  const std::int64_t end = run.decay_steps > 0 ? run.decay_steps : run.steps;
  if (!from || from->adam.steps < end) return;
  throw_input_error(
      "--decay-steps", "the rate is 0 from there on, so that training cannot go on", std::to_string(end),
      "more than the " + std::to_string(from->adam.steps) + " steps of --resume, and the same value in the first run");
}

void write_state(const ClassificationOptions& o, const std::string& settings, const TrainedContext& last) {
  if (!o.checkpoint.empty()) training::save_checkpoint(o.checkpoint, settings, last.state);
  if (o.weights.empty()) return;
  const std::string key_query = npy_bytes(last.head.key_query), output = npy_bytes(last.head.output);
  write_files({{key_query_file(o.weights), key_query}, {output_file(o.weights), output}}, "--weights");
}

}  // namespace

std::vector<Table> curve_tables(ClassificationParts& parts, ContextRun run) {
  const ClassificationOptions& o = parts.options;
  run.seed = o.simulation.seed;
  const std::string settings = settings_of(run);
  std::optional<training::TrainingState> from;
  if (!o.resume.empty()) from = training::load_checkpoint(o.resume, settings);
  require_rate_left(run, from);
  const auto states =
      parts.simulator.train("training", run, measured_steps(from ? from->adam.steps : 0, run.steps), from);
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
  write_state(o, settings, last);
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
                   at.sensitivity_difference.mean, state.record.gradient_norm});
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
