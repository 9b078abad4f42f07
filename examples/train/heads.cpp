#include <incontext/regression/multihead_error.hpp>
#include <incontext/statistics/comparison.hpp>
#include <incontext/statistics/estimate.hpp>
#include <incontext/training/regression_parameters.hpp>

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/render.hpp"
#include "examples/train/regression.hpp"

namespace incontext::examples::train {

namespace {

using regression::HeadsOptimum;

/// The part of the best heads' loss by which that of trained ones may differ from it.
constexpr double tolerated = 0.02;

/// What is seen of a layer's heads: the slopes v_y tr(M) / d, the largest first, and whether values v_y have both signs.
struct HeadsSummary {
  std::vector<double> slopes = {};
  bool opposed = false;
};

HeadsSummary summary_of(std::span<const double> layer, std::int64_t dimension) {
  using training::RegressionParameters;
  const std::size_t size = training::parameter_count(RegressionParameters::layer, dimension);
  HeadsSummary found;
  for (const double first = layer[size - 1]; !layer.empty(); layer = layer.subspan(size)) {
    const auto head =
        training::regression_layer(RegressionParameters::layer, {}, dimension, layer.first(size)).attention;
    found.slopes.push_back(head.label_value * head.key_query.trace() / static_cast<double>(dimension));
    found.opposed = found.opposed || head.label_value * first < 0;
  }
  std::sort(found.slopes.begin(), found.slopes.end(), std::greater<>());
  return found;
}

/// The layers that ended with values of both signs, or of one.
struct TrainedHeads {
  std::vector<double> losses = {}, slopes = {};  ///< of every seed; of every head, their sums over seeds
};

/// Those of both signs, then those of one.
std::pair<TrainedHeads, TrainedHeads> train_heads(RegressionParts& parts, RegressionRun run) {
  std::pair<TrainedHeads, TrainedHeads> found;
  for (std::int64_t i = 0; i < parts.options.seeds; ++i) {
    run.seed = parts.next_seed++;
    const std::string what = "heads: " + std::to_string(run.heads) + ", run " + std::to_string(i + 1);
    const auto states = parts.simulator.train_regression(what, run, {run.steps});
    if (states.empty()) break;
    const HeadsSummary heads = summary_of(states.back().parameters, run.task.dimension());
    TrainedHeads& alike = heads.opposed ? found.first : found.second;
    alike.losses.push_back(states.back().loss);
    alike.slopes.resize(heads.slopes.size());
    for (std::size_t h = 0; h < heads.slopes.size(); ++h) alike.slopes[h] += heads.slopes[h];
  }
  return found;
}

template <class Values>
std::string listed(const Values& values, double share = 1) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + short_text(share * value, 3);
  return text;
}

void add_heads(RegressionParts& parts, Table& table, int heads, const TrainedHeads& trained,
               const HeadsOptimum<double>& best, const HeadsOptimum<double>& other) {
  const std::string signs = best.values.size() > 1 ? "both" : "one";
  const statistics::Estimate loss = estimate_of_runs(trained.losses);
  std::vector<Cell> row{heads, signs, loss.count, listed(best.values.cwiseProduct(best.key_query_scales).eval())};
  row.push_back(loss.count > 0 ? Cell(listed(trained.slopes, 1 / static_cast<double>(trained.losses.size()))) : Cell());
  for (Cell& cell : heads > 2 ? Judgment::shown(best.error, loss)
                    : 0 < loss.count && loss.count < statistics::fewest_values
                        ? parts.judgment.left_out(best.error, loss, "too few runs ended so to judge their mean")
                        : parts.judgment.judged_within(best.error, tolerated * best.error, loss)) {
    row.push_back(std::move(cell));
  }
  table.add_row(std::move(row));
  if (heads > 2 || loss.count == 1) return;
  parts.controls.add({"the loss of the best " + std::string(signs == "one" ? "two heads" : "single head"),
                      std::to_string(heads) + (heads > 1 ? " heads, signs: " + signs : " head")},
                     other.error, best.error, loss);
}

}  // namespace

std::vector<Table> heads_tables(RegressionParts& parts) {
  const RegressionOptions& o = parts.options;
  Table table{.title = "Softmax heads trained from random weights beside the best ones: " + sizes_in_words(o),
              .columns = with_training({{"heads"},
                                        {.name = "signs", .heading = "signs of v_y"},
                                        {"seeds"},
                                        {.name = "best_slopes", .heading = "best slopes"},
                                        {.name = "slopes", .heading = "trained slopes"}}),
              .notes = {"theory: the exact error of the best head, and of the best two; trained: the loss on held-out "
                        "contexts. Agreement is to " +
                            short_text(100 * tolerated, 3) + "%.",
                        "Slopes: v_y tr(M) / d of each head. Each layer is in the row of the signs that its values v_y "
                        "have in the end. Heads of one sign cannot "
                        "subtract, and are judged beside one head."},
              .key_columns = 2};
  RegressionRun run{.task = even_law(o),
                    .context_length = o.context_length,
                    .batch = o.batch,
                    .steps = o.steps > 0 ? o.steps : 2000,
                    .held_out = 1 << 16};
  const auto best = [&](std::int64_t heads) {
    return regression::best_softmax_heads<double>(regression::Matrix<double>::Identity(o.dimension, o.dimension),
                                                  run.task, o.context_length, heads);
  };
  const auto one = best(1), two = best(2);
  for (run.heads = 1; run.heads <= o.heads; ++run.heads) {
    const auto [opposed, alike] = train_heads(parts, run);
    if (run.heads > 1) add_heads(parts, table, run.heads, opposed, two, one);
    if (run.heads == 1 || !alike.losses.empty()) add_heads(parts, table, run.heads, alike, one, two);
  }
  if (o.heads > 2) table.notes.push_back("Three heads and more are shown beside the best two, and not judged.");
  return {std::move(table)};
}

}  // namespace incontext::examples::train
