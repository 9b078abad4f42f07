#include <incontext/core/contracts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/train/binomial_interval.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

constexpr std::array all_strategies{Strategy::selection, Strategy::elimination, Strategy::mixed};

/// What the seeds of one setting have become: their losses, and the directions that mixed layers select.
struct Strategies {
  std::array<std::vector<Comparison>, all_strategies.size()> of = {};
  std::vector<double> selected_directions = {};

  const std::vector<Comparison>& at(Strategy strategy) const { return of[static_cast<std::size_t>(strategy)]; }
  std::int64_t runs() const {
    std::int64_t sum = 0;
    for (const auto& seeds : of) sum += std::ssize(seeds);
    return sum;
  }
};

Strategies train_seeds(ClassificationParts& parts, const ContextRun& usual, const Classifier& rule) {
  Strategies result;
  for (std::int64_t i = 0; i < parts.options.seeds; ++i) {
    const ContextRun run = with_seed(usual, parts, i);
    const auto states = parts.simulator.train("seed " + std::to_string(run.seed), run, {run.steps});
    if (states.empty()) break;
    const ContextHead& head = states.back().head;
    const Comparison at = compare(parts, run, head, rule);
    if (parts.simulator.stopped()) break;
    const Strategy strategy = strategy_of(run, head);
    if (strategy == Strategy::selection && result.at(strategy).empty()) add_near_miss(parts, run, head, rule);
    result.of[static_cast<std::size_t>(strategy)].push_back(at);
    if (strategy == Strategy::mixed) {
      const auto directions = directions_of(run, head);
      result.selected_directions.push_back(
          static_cast<double>(std::count_if(directions.begin(), directions.end(), [](double x) { return x > 0; })));
    }
  }
  return result;
}

Cell mean_or_none(const std::vector<double>& values) {
  return values.empty() ? Cell{} : Cell{estimate_of(values).mean};
}

Cell mean_loss(const std::vector<Comparison>& seeds) {
  std::vector<double> losses;
  for (const Comparison& at : seeds) losses.push_back(at.trained.mean);
  return mean_or_none(losses);
}

void add_setting(ClassificationParts& parts, Table& table, const ContextRun& run,
                 const std::optional<ClassificationOptimum>& rule) {
  const Strategies ends = rule ? train_seeds(parts, run, rule->best) : Strategies{};
  std::vector<Cell> row{run.task.dimension, run.task.classes, run.task.context_length,
                        run.initial_scale,  run.rate,         ends.runs()};
  for (const Strategy strategy : all_strategies) row.push_back(std::ssize(ends.at(strategy)));
  if (ends.runs() == 0) {
    row.resize(table.columns.size() - comparison_columns().size());
    for (Cell& cell : unreached_comparison()) row.push_back(std::move(cell));
    table.add_row(std::move(row));
    return;
  }
  const auto& selecting = ends.at(Strategy::selection);
  const auto share = binomial_interval(std::ssize(selecting), ends.runs());
  const statistics::Estimate eliminating = share_of(std::ssize(ends.at(Strategy::elimination)), ends.runs());
  row.insert(row.end(),
             {share.lower, share.upper, mean_loss(ends.at(Strategy::elimination)), mean_loss(ends.at(Strategy::mixed)),
              mean_or_none(ends.selected_directions), eliminating.mean, eliminating.standard_error});
  std::vector<Cell> cells = unreached_comparison();
  if (selecting.empty()) {
    cells.back() = std::string("no run selects");
  } else {
    const double loss = selecting.front().rule.mean;
    cells = parts.judgment.judged_within(loss, unfinished * loss, over_seeds(selecting));
  }
  for (Cell& cell : cells) row.push_back(std::move(cell));
  table.add_row(std::move(row));
}

}  // namespace

Table strategies_table(ClassificationParts& parts) {
  const ClassificationOptions& o = parts.options;
  Table table{.title = "Selection and elimination over seeds of trained softmax attention",
              .columns = comparison_after({{"d"},
                                           {"k"},
                                           {"n"},
                                           {.name = "initial_scale", .heading = "initial", .style = Style::shortest},
                                           {.name = "rate", .style = Style::shortest},
                                           {"seeds"},
                                           {"selection"},
                                           {"elimination"},
                                           {"mixed"},
                                           {.name = "share_lower", .heading = "share from", .digits = 3},
                                           {.name = "share_upper", .heading = "to", .digits = 3},
                                           {.name = "elimination_loss", .heading = "elimination's loss", .digits = 4},
                                           {.name = "mixed_loss", .heading = "mixed layers'", .digits = 4},
                                           {.name = "selected_directions", .heading = "directions", .digits = 3},
                                           {.name = "elimination_share", .in_text = InText::hidden},
                                           {.name = "elimination_error", .in_text = InText::hidden}}),
              .key_columns = 5};
  for (const std::int64_t d : o.dimensions) {
    for (const std::int64_t k : o.class_counts) {
      for (const std::int64_t n : o.context_lengths) {
        ContextRun run = o.run;
        run.task = {d, k, n};
        const auto rule = best_rule(parts, run);
        for (const double scale : o.initial_scales) {
          for (const double rate : o.rates) {
            run.initial_scale = scale;
            run.rate = rate;
            add_setting(parts, table, run, rule);
          }
        }
      }
    }
  }
  table.notes = {
      "Adam, batch " + std::to_string(o.run.batch) + ", " + std::to_string(o.run.steps) +
          " steps, the rate falls to 0 along half a cosine. initial: standard deviation of the weights, in units of "
          "1/sqrt(d + k). share: of the seeds that select, Clopper and Pearson, 95%.",
      "selection: gain and all eigenvalues of M_xx (symmetric part) > 0; elimination: all < 0; mixed: neither; "
      "directions: of how many eigenvalues a mixed layer's are positive, on average.",
      "simulation: the mean loss of the seeds that select, theory: the best rule's on the same held-out contexts; "
      "agreement is to " +
          short_text(100 * unfinished, 3) + "%, as these runs are short."};
  return table;
}

}  // namespace incontext::examples::train
