#include <incontext/core/contracts.hpp>

#include <optional>
#include <string>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

/// The learning rate of the layer of fixed width over that of the others: its gain is a weight itself, not a product of
/// two, and has further to go.
constexpr double fixed_width_rate = 10;

/// The layers of the paper's Table 1 that are trained, and softmax attention whose query is no key.
std::vector<ContextRun> models_of(const ClassificationOptions& o, const SphereTask& task) {
  ContextRun linear = o.run;
  linear.task = task;
  ContextRun softmax = linear;
  linear.map = ContextMap::linear;
  ContextRun fixed = softmax, no_key = softmax;
  fixed.weights = ContextWeights::fixed_width;
  fixed.rate *= fixed_width_rate;
  no_key.query = QueryToken::excluded;
  return {linear, fixed, no_key, softmax};
}

/// What the seeds of one model have become, and those that select, beside the rule.
struct Ends {
  std::vector<Comparison> all = {}, selecting = {};
  std::vector<double> kappas = {}, gains = {};
  std::optional<ContextHead> head = {};
};

Ends train_all(ClassificationParts& parts, const ContextRun& usual, const Classifier& rule) {
  Ends ends;
  for (std::int64_t i = 0; i < parts.options.seeds; ++i) {
    const ContextRun run = with_seed(usual, parts, i);
    const auto states = parts.simulator.train(model_name(run) + ", seed " + std::to_string(run.seed), run, {run.steps});
    if (states.empty()) break;
    const ContextHead& head = states.back().head;
    const Comparison at = compare(parts, run, head, rule);
    if (parts.simulator.stopped()) break;
    ends.all.push_back(at);
    if (strategy_of(run, head) != Strategy::selection) continue;
    if (ends.selecting.empty()) add_near_miss(parts, run, head, rule);
    const auto step = step_of(run, head);
    ends.selecting.push_back(at);
    ends.kappas.push_back(step.kappa);
    ends.gains.push_back(step.gain);
    ends.head = head;
  }
  return ends;
}

void add_model(ClassificationParts& parts, Table& table, const ContextRun& run) {
  const auto rule = best_rule(parts, run);
  const Ends ends = rule ? train_all(parts, run, rule->best) : Ends{};
  const bool has_kappa = run.map == ContextMap::softmax;
  std::vector<Cell> row{run.task.dimension, run.task.context_length, model_name(run), std::ssize(ends.all),
                        std::ssize(ends.selecting)};
  if (ends.selecting.empty()) {
    row.resize(10);
  } else {
    row.insert(row.end(),
               {has_kappa ? Cell{estimate_of(ends.kappas).mean} : Cell{}, has_kappa ? Cell{rule->best.kappa} : Cell{},
                estimate_of(ends.gains).mean, rule->best.gain, ends.selecting.front().cosine.mean});
  }
  std::vector<Cell> cells = unreached_comparison();
  if (!ends.selecting.empty()) {
    const double loss = ends.selecting.front().rule.mean;
    const auto trained = over_seeds(ends.selecting);
    cells = rule->is_inside() ? parts.judgment.judged_within(loss, tolerance * loss, trained)
                              : Judgment::shown(loss, trained);
  } else if (!ends.all.empty()) {
    cells = Judgment::shown(ends.all.front().rule.mean, over_seeds(ends.all));
  }
  for (Cell& cell : cells) row.push_back(std::move(cell));
  table.add_row(std::move(row));
}

}  // namespace

Table models_table(ClassificationParts& parts) {
  const ClassificationOptions& o = parts.options;
  Table table{.title = "Trained models beside the best rule of each, k = " + std::to_string(o.classes) + " classes",
              .columns = comparison_after({{"d"},
                                           {"n"},
                                           {"model"},
                                           {"seeds"},
                                           {"selecting"},
                                           {.name = "kappa", .digits = 4},
                                           {.name = "rule_kappa", .heading = "rule's", .digits = 4},
                                           {.name = "gain", .digits = 4},
                                           {.name = "rule_gain", .heading = "rule's", .digits = 4},
                                           {.name = "cosine", .digits = 4}}),
              .key_columns = 3};
  for (const std::int64_t d : o.dimensions) {
    for (const std::int64_t n : o.context_lengths) {
      for (const ContextRun& run : models_of(o, {d, o.classes, n})) add_model(parts, table, run);
    }
  }
  table.notes = {"Adam with rate " + described(o.run) +
                     ". simulation: the mean loss of the seeds that select; ± error has their spread and that of the "
                     "paired difference from the rule's loss on the same held-out contexts. Agreement is to " +
                     short_text(100 * tolerance, 3) + "%.",
                 "The layer of fixed width is trained at " + short_text(fixed_width_rate, 3) +
                     " times the rate. A rule whose best kappa is the lowest searched has no optimum, and "
                     "is not judged: its loss falls along the valley of kappa and gain to the linear rule.",
                 "kappa, gain: means over the selecting seeds. Seeds of other strategies are counted, not judged; rows "
                 "without a selecting seed have the mean loss of all."};
  return table;
}

}  // namespace incontext::examples::train
