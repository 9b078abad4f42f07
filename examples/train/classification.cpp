#include "examples/train/classification.hpp"

#include <incontext/classification/context_attention.hpp>
#include <incontext/classification/context_descent.hpp>
#include <incontext/statistics/estimate.hpp>
#include <incontext/statistics/moments.hpp>
#include <incontext/training/checkpoint.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "examples/support/npy.hpp"
#include "examples/support/output.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::train {

namespace {

using classification::Context;
using classification::Prediction;
using simulate::AxisPlace;
using simulate::ClassificationRule;
using simulate::Classifier;
using statistics::Estimate;

/// How far the loss of a trained layer may be from that of the rule, as a share of the rule's: what training has not
/// reached, and what the layer can do beyond the rule.
constexpr double tolerance = 0.02;

double scale_of(const ContextRun& run) {
  return run.map == ContextMap::linear ? 1 : 1 / std::sqrt(static_cast<double>(run.task.dimension + run.task.classes));
}

/// A held-out context, its query's label, and what both parties make of it.
struct HeldOut {
  Context<double> context;
  std::int64_t label;
};

std::vector<HeldOut> held_out_contexts(const Simulator& simulator, const SphereTask& task, std::int64_t count) {
  std::vector<HeldOut> contexts;
  for (std::int64_t i = 0; i < count && !simulator.stopped(); ++i) {
    const auto drawn = simulator.held_out(task, static_cast<std::uint64_t>(i));
    const auto n = static_cast<Eigen::Index>(drawn.labels.size()), d = static_cast<Eigen::Index>(drawn.query.size());
    using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    contexts.push_back({{Eigen::Map<const ByRows>(drawn.inputs.data(), n, d), drawn.labels,
                         Eigen::Map<const Eigen::VectorXd>(drawn.query.data(), d), task.classes},
                        drawn.query_label});
  }
  return contexts;
}

/// The numbers that the layer's weights stand for: the mean of M's diagonal as a kernel's concentration, and the mean of
/// P's diagonal relative to the rest of its column.
struct Extracted {
  double kappa, gain;
};

Extracted extract(const ContextRun& run, const ContextHead& head) {
  const Eigen::Index d = run.task.dimension, k = run.task.classes;
  const Eigen::MatrixXd labels = head.output.bottomRightCorner(k, k);
  return {scale_of(run) * head.key_query.topLeftCorner(d, d).diagonal().mean(),
          (labels.trace() - labels.sum() / static_cast<double>(k)) / static_cast<double>(k - 1)};
}

/// The rule's learning rate, or the trained linear layer's: the product of both numbers, times n over the keys.
double rate_of(const ContextRun& run, const Extracted& at) {
  const auto n = static_cast<double>(run.task.context_length);
  return at.kappa * at.gain * n / (n + 1);
}

Prediction<double> rule_prediction(const Classifier& rule, const Context<double>& context) {
  if (rule.rule == ClassificationRule::linear) return classification::linear_descent(context, rule.gain);
  return classification::adaptive_descent(context, rule.kappa, rule.gain, classification::SelfTerm::dot);
}

Prediction<double> trained_prediction(const ContextRun& run, const ContextHead& head, const HeldOut& at) {
  const bool is_linear = run.map == ContextMap::linear;
  const double share = is_linear ? 1 / static_cast<double>(run.task.context_length + 1) : 1;
  return classification::context_attention<double>(
             {head.key_query, share * head.output},
             is_linear ? classification::AttentionKind::linear : classification::AttentionKind::softmax, scale_of(run),
             at.context, at.label, QueryToken::included)
      .prediction;
}

/// A trained layer and a rule on the same contexts.
struct Comparison {
  Estimate trained, rule, gap, prediction_difference, cosine, sensitivity_difference;
};

Estimate estimate_of(const std::vector<double>& values) {
  return Estimate(statistics::moments_of(values.data(), std::ssize(values)));
}

/// The mean over classes of the cosine between two rows of derivatives; classes that do not react count as 1.
double mean_cosine(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  double sum = 0;
  for (Eigen::Index c = 0; c < a.rows(); ++c) {
    const double norms = a.row(c).norm() * b.row(c).norm();
    sum += norms > 1e-24 ? a.row(c).dot(b.row(c)) / norms : 1.0;
  }
  return sum / static_cast<double>(a.rows());
}

Comparison compare(const ContextRun& run, const ContextHead& head, const Classifier& rule,
                   const std::vector<HeldOut>& contexts) {
  std::vector<double> trained, ruled, gap, apart, cosine, sensitivity;
  for (const HeldOut& at : contexts) {
    const auto own = trained_prediction(run, head, at), other = rule_prediction(rule, at.context);
    trained.push_back(classification::cross_entropy(own, at.label));
    ruled.push_back(classification::cross_entropy(other, at.label));
    gap.push_back(trained.back() - ruled.back());
    apart.push_back((own.probabilities - other.probabilities).norm());
    cosine.push_back(mean_cosine(own.sensitivity, other.sensitivity));
    sensitivity.push_back((own.sensitivity - other.sensitivity).norm());
  }
  return {estimate_of(trained), estimate_of(ruled),  estimate_of(gap),
          estimate_of(apart),   estimate_of(cosine), estimate_of(sensitivity)};
}

/// The trained layer's loss with the error of its paired difference from the rule's.
Estimate paired(const Comparison& at) {
  Estimate estimate = at.gap;
  estimate.mean += at.rule.mean;
  return estimate;
}

enum class Strategy { selection, elimination };
Strategy strategy_of(const Extracted& at) { return at.kappa < 0 ? Strategy::elimination : Strategy::selection; }
const char* name(Strategy strategy) { return strategy == Strategy::elimination ? "elimination" : "selection"; }

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first * std::pow(last / first, i / (count - 1.0)));
  return values;
}

/// The rule that a layer is said to become, at the parameters of least loss.
std::optional<Classifier> best_rule(TrainRun& parts, const SphereTask& task, ContextMap map, Strategy strategy) {
  const double rate = std::sqrt(static_cast<double>(task.context_length * task.classes * task.dimension)) * 1.3;
  ClassificationGrid grid{ClassificationRule::linear, {0}, log_spaced(rate / 10, rate * 10, 13)};
  if (map == ContextMap::softmax) {
    grid.rule = ClassificationRule::adaptive_with_query;
    grid.chart = simulate::GridChart::slope;
    grid.gains = log_spaced(rate / 10, rate * 100, 15);
    grid.kappas = log_spaced(0.02, strategy == Strategy::selection ? 500 : 20, 15);
    if (strategy == Strategy::elimination) {
      std::reverse(grid.kappas.begin(), grid.kappas.end());
      for (double& kappa : grid.kappas) kappa = -kappa;
    }
  }
  const auto found = parts.simulator.search("best rule", task, grid);
  if (!found) return {};
  return found->best;
}

/// The maps that were asked for, each with its task.
std::vector<ContextRun> runs_of(const TrainOptions& o) {
  std::vector<ContextRun> runs;
  for (const ContextMap map : {ContextMap::linear, ContextMap::softmax}) {
    if (o.maps == MapChoice::linear && map != ContextMap::linear) continue;
    if (o.maps == MapChoice::softmax && map != ContextMap::softmax) continue;
    ContextRun run = o.run;
    run.map = map;
    const std::int64_t own = map == ContextMap::linear ? 5 : 3;
    run.task = {o.dimension > 0 ? o.dimension : own, o.classes, o.context_length};
    runs.push_back(run);
  }
  return runs;
}

const char* name(ContextMap map) { return map == ContextMap::linear ? "linear" : "softmax"; }

std::vector<Column> comparison_after(std::vector<Column> columns) {
  for (Column& column : comparison_columns()) columns.push_back(std::move(column));
  return columns;
}

std::string described(const ContextRun& run) {
  return short_text(run.rate, 6) + ", batch " + std::to_string(run.batch) + ", " + std::to_string(run.steps) + " steps";
}

/// Where every seed's training ends, beside the best rule on the same contexts.
Table ends_table(TrainRun& parts, const ContextRun& usual) {
  const TrainOptions& o = parts.options;
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
                                           {.name = "cosine", .digits = 4},
                                           {.name = "prediction_difference", .heading = "|p - p'|", .digits = 3}})};
  const bool is_linear = usual.map == ContextMap::linear;
  const auto contexts = held_out_contexts(parts.simulator, usual.task, o.simulation.trials);
  std::optional<Classifier> rules[2];
  for (std::int64_t i = 0; i < o.seeds; ++i) {
    ContextRun run = usual;
    run.seed = o.simulation.seed + static_cast<std::uint64_t>(i);
    const auto seed = static_cast<std::int64_t>(run.seed);
    const auto states = parts.simulator.train(std::string("seed ") + std::to_string(seed), run, {run.steps});
    std::vector<Cell> row{seed};
    if (states.empty()) {
      row.resize(8);
      for (Cell& cell : unreached_comparison()) row.push_back(std::move(cell));
      table.add_row(std::move(row));
      continue;
    }
    Extracted own = extract(run, states.back().head);
    const Strategy strategy = is_linear ? Strategy::selection : strategy_of(own);
    auto& rule = rules[static_cast<int>(strategy)];
    if (!rule) rule = best_rule(parts, run.task, run.map, strategy);
    if (!rule) continue;
    const Comparison at = compare(run, states.back().head, *rule, contexts);
    if (is_linear) own = {0, rate_of(run, own)};
    row.insert(row.end(),
               {std::string(is_linear ? "" : name(strategy)), is_linear ? Cell{} : Cell{own.kappa}, own.gain,
                is_linear ? Cell{} : Cell{rule->kappa}, rule->gain, at.cosine.mean, at.prediction_difference.mean});
    const bool judged = strategy == Strategy::selection;
    for (Cell& cell : judged ? parts.judgment.judged_within(at.rule.mean, tolerance * at.rule.mean, paired(at))
                             : Judgment::shown(at.rule.mean, paired(at))) {
      row.push_back(std::move(cell));
    }
    table.add_row(std::move(row));
    if (!judged || i > 1) continue;
    Classifier wrong = *rule;
    is_linear ? wrong.gain *= 1.5 : wrong.kappa *= 2;
    const Comparison miss = compare(run, states.back().head, wrong, contexts);
    parts.controls.add({std::string(is_linear ? "a step 1.5 times as long" : "twice the best kappa"),
                        std::string(name(run.map)) + ", seed " + std::to_string(seed)},
                       miss.rule.mean, at.rule.mean, paired(at));
  }
  table.notes = {"Adam with rate " + described(usual) +
                     ", each context used once; theory: the loss of the best rule on the held-out contexts of the "
                     "simulation, which is the trained layer's, with the error of their paired difference.",
                 "Agreement is to " + short_text(100 * tolerance, 3) +
                     "% of the loss. cosine: of dp/dx, averaged over classes; |p - p'|: distance of the predictions."};
  if (is_linear) {
    table.notes.push_back("gain is the learning rate of gradient descent, of a layer kappa x gain x n / (n + 1).");
  } else {
    table.notes.push_back(
        "Elimination (kappa < 0, gain < 0) is not judged: its loss falls along a valley towards kappa = 0 and gain = "
        "-infinity, in which every run is still on its way.");
  }
  return table;
}

/// The way of one run: measures of Figures 4 and 5 after ever more steps.
Table curve_table(TrainRun& parts, ContextRun run) {
  const TrainOptions& o = parts.options;
  run.seed = o.simulation.seed;
  std::vector<std::int64_t> steps;
  std::optional<training::TrainingState> from;
  const std::string settings = std::string(name(run.map)) + " d " + std::to_string(run.task.dimension) + " k " +
                               std::to_string(run.task.classes) + " n " + std::to_string(run.task.context_length) +
                               " batch " + std::to_string(run.batch) + " rate " + short_text(run.rate, 6) +
                               " initial " + short_text(run.initial_scale, 6) + " weights " +
                               std::to_string(static_cast<int>(run.weights)) + " seed " + std::to_string(run.seed);
  if (!o.resume.empty()) from = training::load_checkpoint(o.resume, settings);
  const std::int64_t first = from ? from->adam.steps : 0;
  for (int i = 1; i <= 10; ++i) {
    const std::int64_t step = std::max<std::int64_t>(run.steps * i / 10, 1);
    if (step > first && (steps.empty() || step > steps.back())) steps.push_back(step);
  }
  if (steps.empty()) {
    throw_input_error("--steps", "is not beyond the state of --resume", std::to_string(run.steps),
                      "more than " + std::to_string(first));
  }
  const auto contexts = held_out_contexts(parts.simulator, run.task, o.simulation.trials);
  const auto states = parts.simulator.train("training", run, steps, from);
  Table table{.title = std::string("The way of ") + name(run.map) + " attention to its rule",
              .columns = {{.name = "step"},
                          {.name = "kappa", .digits = 4},
                          {.name = "gain", .digits = 4},
                          {.name = "loss", .digits = 5},
                          {.name = "rule_loss", .heading = "rule's loss", .digits = 5},
                          {.name = "gap", .digits = 3},
                          {.name = "gap_error", .heading = "± error", .digits = 2},
                          {.name = "prediction_difference", .heading = "|p - p'|", .digits = 4},
                          {.name = "cosine", .digits = 5},
                          {.name = "sensitivity_difference", .heading = "|J - J'|", .digits = 4},
                          {.name = "gradient_norm", .heading = "|gradient|", .digits = 3}}};
  if (states.empty()) return table;
  const Strategy strategy =
      run.map == ContextMap::linear ? Strategy::selection : strategy_of(extract(run, states.back().head));
  const auto rule = best_rule(parts, run.task, run.map, strategy);
  for (const TrainedContext& state : states) {
    if (!rule) break;
    const Extracted own = extract(run, state.head);
    const Comparison at = compare(run, state.head, *rule, contexts);
    table.add_row({state.step, own.kappa, own.gain, at.trained.mean, at.rule.mean, at.gap.mean, at.gap.standard_error,
                   at.prediction_difference.mean, at.cosine.mean, at.sensitivity_difference.mean,
                   state.record.gradient_norm});
  }
  if (rule) {
    table.notes = {"The rule is fixed at its best parameters: kappa " + short_text(rule->kappa, 4) + ", gain " +
                   short_text(rule->gain, 4) + "."};
  }
  const TrainedContext& last = states.back();
  if (!o.checkpoint.empty()) training::save_checkpoint(o.checkpoint, settings, last.state);
  if (!o.weights.empty()) {
    write_file(o.weights + ".key_query.npy", npy_bytes(last.head.key_query));
    write_file(o.weights + ".output.npy", npy_bytes(last.head.output));
  }
  return table;
}

}  // namespace

std::vector<Table> classification_tables(TrainRun& parts) {
  std::vector<Table> tables;
  for (const ContextRun& run : runs_of(parts.options)) {
    tables.push_back(parts.options.figure == TrainFigure::curves ? curve_table(parts, run) : ends_table(parts, run));
  }
  return tables;
}

}  // namespace incontext::examples::train
