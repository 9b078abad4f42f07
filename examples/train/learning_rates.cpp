#include <incontext/core/contracts.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

/// What counts as near the rule: a loss larger by this share.
constexpr double near = 0.01;

constexpr int measurements = 20;

/// The selecting seeds at one learning rate.
struct AtRate {
  double rate;
  std::int64_t seeds = 0;
  std::vector<Comparison> ends = {};
  std::vector<double> arrivals = {}, kappas = {}, gains = {};

  double loss() const { return ends.empty() ? 1e300 : over_seeds(ends).mean; }
};

std::vector<std::int64_t> evenly(std::int64_t last) {
  std::vector<std::int64_t> steps;
  for (int i = 1; i <= measurements; ++i) {
    const std::int64_t step = std::max<std::int64_t>(last * i / measurements, 1);
    if (steps.empty() || step > steps.back()) steps.push_back(step);
  }
  return steps;
}

AtRate train_at(ClassificationParts& parts, ContextRun run, double rate, const Classifier& rule) {
  AtRate result{.rate = rate};
  run.rate = rate;
  for (std::int64_t i = 0; i < parts.options.seeds; ++i) {
    run = with_seed(run, parts, i);
    const auto states = parts.simulator.train("rate " + short_text(rate, 3) + ", seed " + std::to_string(run.seed), run,
                                              evenly(run.steps));
    if (states.empty() || states.back().step < run.steps) break;
    ++result.seeds;
    const ContextHead& head = states.back().head;
    if (strategy_of(run, head) != Strategy::selection) continue;
    const Comparison end = compare(parts, run, head, rule);
    // by halves: the loss falls, but for noise
    const auto arrival = std::partition_point(states.begin(), states.end(), [&](const TrainedContext& state) {
      const Comparison at = compare(parts, run, state.head, rule);
      return !(at.gap.mean <= near * at.rule.mean);
    });
    if (parts.simulator.stopped()) break;
    if (arrival != states.end()) result.arrivals.push_back(static_cast<double>(arrival->step));
    const auto step = step_of(run, head);
    result.kappas.push_back(step.kappa);
    result.gains.push_back(step.gain);
    result.ends.push_back(end);
  }
  return result;
}

std::vector<Cell> row_of(const ContextRun& run, const AtRate& at) {
  const auto count = std::ssize(at.ends);
  std::vector<Cell> row{run.task.dimension, at.rate, at.seeds, count, std::ssize(at.arrivals)};
  row.push_back(at.arrivals.empty() ? Cell{} : Cell{estimate_of(at.arrivals).mean});
  row.push_back(count == 0 ? Cell{} : Cell{estimate_of(at.kappas).mean});
  row.push_back(count == 0 ? Cell{} : Cell{estimate_of(at.gains).mean});
  return row;
}

void add_rates(ClassificationParts& parts, Table& table, const ContextRun& run) {
  const auto rule = best_rule(parts, run);
  std::vector<AtRate> all;
  for (const double rate : parts.options.rates) {
    all.push_back(rule ? train_at(parts, run, rate, rule->best) : AtRate{.rate = rate});
  }
  const auto best =
      std::min_element(all.begin(), all.end(), [](const AtRate& a, const AtRate& b) { return a.loss() < b.loss(); });
  for (const AtRate& at : all) {
    std::vector<Cell> row = row_of(run, at), cells = unreached_comparison();
    if (at.ends.empty()) {
      if (at.seeds > 0) cells.back() = std::string("no run selects");
    } else {
      const double loss = at.ends.front().rule.mean;
      cells = &at == &*best ? parts.judgment.judged_within(loss, tolerance * loss, over_seeds(at.ends))
                            : Judgment::shown(loss, over_seeds(at.ends));
      if (&at == &*best) {
        parts.controls.add({std::string("a loss 10% above the rule's"),
                            "d = " + std::to_string(run.task.dimension) + ", rate " + short_text(at.rate, 3)},
                           1.1 * loss, over_seeds(at.ends).mean, over_seeds(at.ends));
      }
    }
    for (Cell& cell : cells) row.push_back(std::move(cell));
    table.add_row(std::move(row));
  }
}

}  // namespace

Table learning_rates_table(ClassificationParts& parts) {
  const ClassificationOptions& o = parts.options;
  Table table{.title = "Softmax attention by the learning rate of its training: k = " + std::to_string(o.classes) +
                       ", n = " + std::to_string(o.context_length),
              .columns = comparison_after({{"d"},
                                           {.name = "rate", .style = Style::shortest},
                                           {"seeds"},
                                           {"selecting"},
                                           {"arrived"},
                                           {.name = "step", .digits = 4},
                                           {.name = "kappa", .digits = 4},
                                           {.name = "gain", .digits = 4}}),
              .key_columns = 2};
  for (const std::int64_t d : o.dimensions) {
    ContextRun run = o.run;
    run.task = {d, o.classes, o.context_length};
    add_rates(parts, table, run);
  }
  table.notes = {
      "Adam, batch " + std::to_string(o.run.batch) + ", " + std::to_string(o.run.steps) +
          " steps, the rate falls to 0 along half a cosine; means over the seeds that select. arrived, step: "
          "how many of them come within " +
          short_text(100 * near, 2) + "% of the rule's loss, and when, of " + std::to_string(measurements) +
          " states each.",
      "theory: the best rule's loss on the same held-out contexts. The rate of least loss is judged, to " +
          short_text(100 * tolerance, 3) + "%."};
  return table;
}

}  // namespace incontext::examples::train
