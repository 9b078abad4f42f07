#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

/// Factors on the concentration kappa and on the gain that a layer's weights stand for. The last two keep their product.
constexpr std::pair<double, double> extracted_factors[] = {{1, 1},   {1.1, 1},    {0.9, 1},   {1, 1.1},
                                                           {1, 0.9}, {1.25, 0.8}, {0.8, 1.25}};

Table extracted_table(const ContextRun& run) {
  return {.title = "The step of the kappa and gain that softmax layers' weights stand for: d = " +
                   std::to_string(run.task.dimension),
          .columns = {{.name = "seed"},
                      {.name = "strategy"},
                      {.name = "kappa_factor", .heading = "kappa times", .style = Style::shortest},
                      {.name = "gain_factor", .heading = "gain times", .style = Style::shortest},
                      {.name = "prediction_difference", .heading = "|p - p'|", .digits = 3},
                      {.name = "error", .heading = "± error", .digits = 2},
                      {.name = "excess", .heading = "less the first", .digits = 3},
                      {.name = "excess_error", .heading = "± error", .digits = 2}},
          .notes = {"kappa and gain are extracted from the weights (App. J of arXiv 2510.10425) and are not fitted; "
                    "beside them a tenth more and less of either, and a fourth more and a fifth less kappa at the same "
                    "product. |p - p'| is the distance of the layer's predictions "
                    "from the step's, on an eighth of the held-out contexts."},
          .key_columns = 4,
          .audit = true};
}

void add_extracted(ClassificationParts& parts, const ContextRun& run, const ContextHead& head, Table& table) {
  const auto own = step_of(run, head);
  std::vector<Classifier> steps;
  for (const auto& [kappa, gain] : extracted_factors) {
    steps.push_back({.rule = rule_of(run), .kappa = kappa * own.kappa, .gain = gain * own.gain});
  }
  const auto distances = prediction_distances(parts, run, head, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<double> excess = distances[i];
    std::transform(excess.begin(), excess.end(), distances[0].begin(), excess.begin(), std::minus<>());
    const auto distance = estimate_of(distances[i]), beyond = estimate_of(excess);
    const bool is_first = i == 0;
    table.add_row({static_cast<std::int64_t>(run.seed), std::string(name(strategy_of(run, head))),
                   extracted_factors[i].first, extracted_factors[i].second, distance.mean, distance.standard_error,
                   is_first ? Cell{} : Cell{beyond.mean}, is_first ? Cell{} : Cell{beyond.standard_error}});
  }
}

}  // namespace

std::vector<Table> ends_tables(ClassificationParts& parts, const ContextRun& usual) {
  const ClassificationOptions& o = parts.options;
  const bool is_linear = usual.map == ContextMap::linear;
  Table table{.title = std::string("Trained ") + name(usual.map) +
                       " attention beside the rule it is said to become: d = " + std::to_string(usual.task.dimension) +
                       ", k = " + std::to_string(usual.task.classes) +
                       ", n = " + std::to_string(usual.task.context_length),
              .columns = comparison_after({{.name = "seed"},
                                           {.name = "strategy"},
                                           {.name = "kappa", .digits = 4},
                                           {.name = "gain", .digits = 4},
                                           {.name = "rule_kappa", .heading = "rule's kappa", .digits = 4},
                                           {.name = "rule_gain", .heading = "rule's gain", .digits = 4},
                                           {.name = "correlation", .digits = 4},
                                           {.name = "slope", .digits = 4},
                                           {.name = "cosine", .digits = 4},
                                           {.name = "prediction_difference", .heading = "|p - p'|", .digits = 3},
                                           {.name = "sensitivity_difference", .heading = "|J - J'|", .digits = 3}}),
              .key_columns = 2};
  constexpr std::size_t keys = 11;
  Table extracted = extracted_table(usual);
  std::array<std::optional<ClassificationOptimum>, 2> rules;
  int controls = 0;
  for (std::int64_t i = 0; i < o.seeds; ++i) {
    const ContextRun run = with_seed(usual, parts, i);
    const auto seed = static_cast<std::int64_t>(run.seed);
    std::vector<Cell> row{seed};
    const auto states = parts.simulator.train("seed " + std::to_string(seed), run, {run.steps});
    const Side side = !states.empty() && !is_linear && step_of(run, states.back().head).kappa < 0 ? Side::elimination
                                                                                                  : Side::selection;
    auto& rule = rules[static_cast<std::size_t>(side)];
    if (!states.empty() && !rule) rule = best_rule(parts, run, side);
    if (states.empty() || !rule) {
      row.resize(keys);
      for (Cell& cell : unreached_comparison()) row.push_back(std::move(cell));
      table.add_row(std::move(row));
      continue;
    }
    const ContextHead& head = states.back().head;
    const Classifier& best = rule->best;
    const auto own = step_of(run, head);
    const Strategy strategy = strategy_of(run, head);
    const Comparison at = compare(parts, run, head, best);
    row.insert(row.end(), {is_linear ? Cell{} : Cell{std::string(name(strategy))}, is_linear ? Cell{} : Cell{own.kappa},
                           own.gain, is_linear ? Cell{} : Cell{best.kappa}, best.gain, at.correlation, at.slope,
                           at.cosine.mean, at.prediction_difference.mean, at.sensitivity_difference.mean});
    for (Cell& cell : judged_end(parts, strategy, at)) row.push_back(std::move(cell));
    table.add_row(std::move(row));
    if (!is_linear) add_extracted(parts, run, head, extracted);
    if (strategy != Strategy::selection || controls == 2) continue;
    add_near_miss(parts, run, head, best);
    ++controls;
  }
  table.notes = {"Adam with rate " + described(usual) +
                     ", each context used once; theory: the loss of the best rule on the held-out contexts of the "
                     "simulation, which is the trained layer's, with the error of their paired difference.",
                 "Agreement is to " + short_text(100 * tolerance, 3) +
                     "% of the loss. cosine: of dp/dx, averaged over classes; |p - p'| and |J - J'|: distances of the "
                     "predictions and of dp/dx; correlation and slope: of the losses with the rule's, context by "
                     "context."};
  if (is_linear) {
    table.notes.push_back("gain is the learning rate of gradient descent, of a layer kappa x gain x n / (n + 1).");
  } else {
    table.notes.push_back(
        "Elimination (kappa < 0, gain < 0) is not judged: its loss falls along a valley toward kappa = 0 and gain = "
        "-infinity, in which every run is still on its way. Nor is a mixed layer, which selects in some directions and "
        "eliminates in others.");
  }
  if (is_linear) return {table};
  return {table, extracted};
}

}  // namespace incontext::examples::train
