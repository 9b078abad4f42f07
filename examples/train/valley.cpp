#include <incontext/core/contracts.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

/// The gain of least loss at a kappa.
std::optional<Classifier> floor_at(ClassificationParts& parts, const ContextRun& run, double kappa) {
  const auto found =
      parts.simulator.search("the valley's floor", run.task, search_grid(run.task, rule_of(run), {.kappa = kappa}));
  if (!found) return {};
  return found->best;
}

/// A point of the valley, beside the optimum. No weights are needed: the rule alone is evaluated.
void add_floor(ClassificationParts& parts, Table& table, const ContextRun& run, const Classifier& best, double share) {
  const double kappa = best.kappa * share;
  const auto floor = floor_at(parts, run, kappa);
  std::vector<Cell> row{run.task.dimension, std::string("floor"), kappa};
  if (!floor) {
    row.resize(table.columns.size());
    table.add_row(std::move(row));
    return;
  }
  const statistics::Estimate gap = rule_gap(parts, run.task, *floor, best);
  row.insert(row.end(), {floor->gain, floor->kappa * floor->gain, gap.mean, gap.standard_error});
  row.resize(table.columns.size());
  table.add_row(std::move(row));
}

/// Where a seed ends: beside the floor at its own kappa, and beside the optimum.
void add_seed(ClassificationParts& parts, Table& floors, Table& ends, const ContextRun& run, const Classifier& best) {
  const std::string name = "seed " + std::to_string(run.seed);
  const auto states = parts.simulator.train(name, run, {run.steps});
  std::vector<Cell> row{run.task.dimension, name};
  const auto add = [&](std::vector<Cell> keys, std::vector<Cell> cells) {
    row.insert(row.end(), keys.begin(), keys.end());
    row.resize(6);
    for (Cell& cell : cells) row.push_back(std::move(cell));
    ends.add_row(std::move(row));
  };
  if (states.empty()) return add({}, unreached_comparison());
  const ContextHead& head = states.back().head;
  const auto step = step_of(run, head);
  const auto floor = floor_at(parts, run, step.kappa);
  if (!floor) return add({step.kappa, step.gain}, unreached_comparison());
  const Comparison at = compare(parts, run, head, *floor), top = compare(parts, run, head, best);
  floors.add_row(
      {run.task.dimension, name, step.kappa, step.gain, step.kappa * step.gain, top.gap.mean, top.gap.standard_error});
  const bool is_mixed = strategy_of(run, head) == Strategy::mixed;
  add({step.kappa, step.gain, floor->gain, Cell{std::string(train::name(strategy_of(run, head)))}},
      is_mixed ? Judgment::shown(at.rule.mean, at.paired())
               : parts.judgment.judged_within(at.rule.mean, tolerance * at.rule.mean, at.paired()));
  if (is_mixed) return;
  Classifier wrong = *floor;
  wrong.gain /= 2;
  const Comparison miss = compare(parts, run, head, wrong);
  parts.controls.add({std::string("half the floor's gain"), "d = " + std::to_string(run.task.dimension) + ", " + name},
                     miss.rule.mean, miss.trained.mean, miss.paired());
}

}  // namespace

std::vector<Table> valley_tables(ClassificationParts& parts) {
  const ClassificationOptions& o = parts.options;
  Table floors{.title = "The valley of kappa and gain: k = " + std::to_string(o.classes) +
                        ", n = " + std::to_string(o.context_length),
               .columns = {{"d"},
                           {"point"},
                           {.name = "kappa", .digits = 4},
                           {.name = "gain", .digits = 4},
                           {.name = "slope", .heading = "kappa x gain", .digits = 4},
                           {.name = "excess", .heading = "loss above the optimum's", .digits = 3, .decimals_as = 1},
                           {.name = "standard_error", .heading = "± error", .decimals_as = 1}},
               .key_columns = 2};
  Table ends{.title = "Trained layers beside the valley's floor at their own kappa",
             .columns = comparison_after({{"d"},
                                          {"layer"},
                                          {.name = "kappa", .digits = 4},
                                          {.name = "gain", .digits = 4},
                                          {.name = "floor_gain", .heading = "floor's gain", .digits = 4},
                                          {"strategy"}}),
             .key_columns = 2};
  for (const std::int64_t d : o.dimensions) {
    ContextRun run = o.run;
    run.task = {d, o.classes, o.context_length};
    const auto best = best_rule(parts, run);
    if (!best) break;
    for (const double share : {0.125, 0.25, 0.5, 1.0, 2.0, 4.0}) add_floor(parts, floors, run, best->best, share);
    for (std::int64_t i = 0; i < o.seeds; ++i) add_seed(parts, floors, ends, with_seed(run, parts, i), best->best);
  }
  floors.notes = {
      "floor: the gain of least loss at a kappa, from 1/8 to 4 times the best kappa; seed: where its training ends. "
      "Losses on common held-out contexts, less that of the best kappa and gain."};
  ends.notes = {
      "Adam with rate " + described(o.run) +
      ". theory: the loss of the step with the layer's kappa and the best gain there, on the layer's held-out "
      "contexts; agreement is to " +
      short_text(100 * tolerance, 3) + "%."};
  return {floors, ends};
}

}  // namespace incontext::examples::train
