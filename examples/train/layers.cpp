#include "examples/train/layers.hpp"

#include <incontext/classification/context_attention.hpp>
#include <incontext/classification/context_descent.hpp>
#include <incontext/core/contracts.hpp>
#include <incontext/statistics/moments.hpp>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "examples/support/judgment.hpp"

namespace incontext::examples::train {

namespace {

using classification::Context;
using classification::Prediction;
using statistics::Estimate;

double keys_of(const ContextRun& run) {
  return static_cast<double>(run.task.context_length + (run.query == QueryToken::included ? 1 : 0));
}

double covariance(const std::vector<double>& a, const std::vector<double>& b) {
  const double mean_a = estimate_of(a).mean, mean_b = estimate_of(b).mean;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / static_cast<double>(a.size());
}

Prediction<double> prediction_of(const Classifier& rule, const Context<double>& context) {
  using classification::SelfTerm;
  if (rule.rule == ClassificationRule::linear) return classification::linear_descent(context, rule.gain);
  if (rule.rule == ClassificationRule::kernel) {
    return classification::kernel_descent(context, rule.kappa, rule.gain);
  }
  return classification::adaptive_descent(context, rule.kappa, rule.gain,
                                          rule.rule == ClassificationRule::adaptive ? SelfTerm::none : SelfTerm::dot);
}

Prediction<double> prediction_of(const ContextRun& run, const ContextHead& head, const Context<double>& context,
                                 std::int64_t label) {
  using classification::AttentionKind;
  const bool is_linear = run.map == ContextMap::linear;
  const double share = is_linear ? 1 / keys_of(run) : 1;
  return classification::context_attention<double>({head.key_query, share * head.output},
                                                   is_linear ? AttentionKind::linear : AttentionKind::softmax,
                                                   scale_of(run), context, label, run.query)
      .prediction;
}

}  // namespace

const char* name(ContextMap map) { return map == ContextMap::linear ? "linear" : "softmax"; }

const char* name(Strategy strategy) {
  if (strategy == Strategy::mixed) return "mixed";
  return strategy == Strategy::elimination ? "elimination" : "selection";
}

std::string model_name(const ContextRun& run) {
  if (run.map == ContextMap::linear) return "linear";
  if (run.weights == ContextWeights::fixed_width) return "softmax, fixed width";
  return run.query == QueryToken::included ? "softmax" : "softmax, no key";
}

std::string described(const ContextRun& run) {
  return short_text(run.rate, 6) + ", batch " + std::to_string(run.batch) + ", " + std::to_string(run.steps) + " steps";
}

ContextRun with_seed(ContextRun run, const ClassificationParts& parts, std::int64_t number) {
  run.seed = parts.options.simulation.seed + static_cast<std::uint64_t>(number);
  return run;
}

double scale_of(const ContextRun& run) {
  return run.map == ContextMap::linear ? 1 : 1 / std::sqrt(static_cast<double>(run.task.dimension + run.task.classes));
}

classification::EffectiveStep<double> step_of(const ContextRun& run, const ContextHead& head) {
  auto step = classification::effective_step<double>({head.key_query, head.output}, scale_of(run), run.task.classes);
  if (run.map == ContextMap::linear) {
    step.gain *= step.kappa * static_cast<double>(run.task.context_length) / keys_of(run);
    step.kappa = 0;
  }
  return step;
}

std::vector<double> directions_of(const ContextRun& run, const ContextHead& head) {
  const Eigen::Index d = run.task.dimension;
  const Eigen::MatrixXd inputs = scale_of(run) * head.key_query.topLeftCorner(d, d);
  const Eigen::VectorXd values =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>((inputs + inputs.transpose()) / 2, Eigen::EigenvaluesOnly)
          .eigenvalues();
  return {values.begin(), values.end()};
}

Strategy strategy_of(const ContextRun& run, const ContextHead& head) {
  if (run.map == ContextMap::linear) return Strategy::selection;
  const std::vector<double> directions = directions_of(run, head);
  const double gain = step_of(run, head).gain;
  if (directions.front() > 0 && gain > 0) return Strategy::selection;
  return directions.back() < 0 && gain < 0 ? Strategy::elimination : Strategy::mixed;
}

ClassificationRule rule_of(const ContextRun& run) {
  if (run.map == ContextMap::linear) return ClassificationRule::linear;
  return run.query == QueryToken::included ? ClassificationRule::adaptive_with_query : ClassificationRule::adaptive;
}

std::optional<ClassificationOptimum> best_rule(ClassificationParts& parts, const ContextRun& run, Side side) {
  const bool has_width = run.weights == ContextWeights::fixed_width && run.map == ContextMap::softmax;
  const auto kappa = has_width ? std::optional<double>(1) : std::nullopt;
  return parts.simulator.search("best rule", run.task, search_grid(run.task, rule_of(run), {.kappa = kappa}, side));
}

Estimate estimate_of(const std::vector<double>& values) {
  return Estimate(statistics::moments_of(values.data(), std::ssize(values)));
}

Estimate Comparison::paired() const {
  Estimate estimate = gap;
  estimate.mean += rule.mean;
  return estimate;
}

Comparison compare(ClassificationParts& parts, const ContextRun& run, const ContextHead& head, const Classifier& rule) {
  std::vector<double> trained, ruled, gap, apart, cosine, sensitivity;
  for (std::int64_t i = 0; i < parts.options.simulation.trials && !parts.simulator.stopped(); ++i) {
    const auto drawn = parts.simulator.held_out(run.task, static_cast<std::uint64_t>(i));
    const auto context = context_of(drawn, run.task);
    const auto own = prediction_of(run, head, context, drawn.query_label), other = prediction_of(rule, context);
    const auto between = classification::alignment(own, other);
    trained.push_back(classification::cross_entropy(own, drawn.query_label));
    ruled.push_back(classification::cross_entropy(other, drawn.query_label));
    gap.push_back(trained.back() - ruled.back());
    apart.push_back(between.prediction_distance);
    sensitivity.push_back(between.sensitivity_distance);
    if (std::isfinite(between.cosine)) cosine.push_back(between.cosine);
  }
  const double common = covariance(trained, ruled), ruled_variance = covariance(ruled, ruled);
  return {.trained = estimate_of(trained),
          .rule = estimate_of(ruled),
          .gap = estimate_of(gap),
          .prediction_difference = estimate_of(apart),
          .cosine = estimate_of(cosine),
          .sensitivity_difference = estimate_of(sensitivity),
          .correlation = common / std::sqrt(covariance(trained, trained) * ruled_variance),
          .slope = common / ruled_variance};
}

std::vector<std::vector<double>> prediction_distances(ClassificationParts& parts, const ContextRun& run,
                                                      const ContextHead& head, const std::vector<Classifier>& rules) {
  std::vector<std::vector<double>> distances(rules.size());
  for (std::int64_t i = 0; 8 * i < parts.options.simulation.trials && !parts.simulator.stopped(); ++i) {
    const auto drawn = parts.simulator.held_out(run.task, static_cast<std::uint64_t>(i));
    const auto context = context_of(drawn, run.task);
    const auto own = prediction_of(run, head, context, drawn.query_label);
    for (std::size_t rule = 0; rule < rules.size(); ++rule) {
      distances[rule].push_back(
          classification::alignment(own, prediction_of(rules[rule], context)).prediction_distance);
    }
  }
  return distances;
}

Estimate rule_gap(ClassificationParts& parts, const SphereTask& task, const Classifier& one, const Classifier& other) {
  std::vector<double> gaps;
  for (std::int64_t i = 0; i < parts.options.simulation.trials && !parts.simulator.stopped(); ++i) {
    const auto drawn = parts.simulator.held_out(task, static_cast<std::uint64_t>(i));
    const auto context = context_of(drawn, task);
    gaps.push_back(classification::cross_entropy(prediction_of(one, context), drawn.query_label) -
                   classification::cross_entropy(prediction_of(other, context), drawn.query_label));
  }
  return estimate_of(gaps);
}

Estimate over_seeds(const std::vector<Comparison>& seeds) {
  std::vector<double> gaps;
  double of_contexts = 0;
  for (const Comparison& at : seeds) {
    gaps.push_back(at.gap.mean);
    of_contexts += at.gap.standard_error / static_cast<double>(seeds.size());
  }
  if (seeds.empty()) return {};
  const Estimate between = estimate_of(gaps);
  Estimate result = seeds.front().paired();
  result.mean = seeds.front().rule.mean + between.mean;
  result.standard_error = std::hypot(of_contexts, seeds.size() > 1 ? between.standard_error : 0);
  return result;
}

void add_near_miss(ClassificationParts& parts, const ContextRun& run, const ContextHead& head, const Classifier& rule) {
  const bool has_rate = run.map == ContextMap::linear || run.weights == ContextWeights::fixed_width;
  Classifier wrong = rule;
  has_rate ? wrong.gain *= 2 : wrong.kappa *= 4;
  const Comparison miss = compare(parts, run, head, wrong);
  const std::string what = run.map == ContextMap::linear ? "a step twice as long"
                           : has_rate                    ? "twice the best gain"
                                                         : "four times the best kappa";
  parts.controls.add({what, model_name(run) + ", d = " + std::to_string(run.task.dimension) + ", n = " +
                                std::to_string(run.task.context_length) + ", seed " + std::to_string(run.seed)},
                     miss.rule.mean, miss.trained.mean, miss.paired());
}

std::vector<Cell> judged_end(ClassificationParts& parts, Strategy strategy, const Comparison& at) {
  if (strategy != Strategy::selection) return Judgment::shown(at.rule.mean, at.paired());
  return parts.judgment.judged_within(at.rule.mean, tolerance * at.rule.mean, at.paired());
}

std::vector<Column> comparison_after(std::vector<Column> columns) {
  for (Column& column : comparison_columns()) columns.push_back(std::move(column));
  return columns;
}

}  // namespace incontext::examples::train
