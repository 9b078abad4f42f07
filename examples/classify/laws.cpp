#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// The kernel of the checks that do not search for one: about the best of five dimensions.
constexpr double law_kappa = 4;
/// Beyond this standard deviation of 1/Z over its mean, rare contexts carry it: no simulation knows its own error.
constexpr double most_spread = 1;
constexpr std::int64_t circle_contexts = 1024, cell_contexts = 512;

/// Short contexts, where limits of long ones are wrong and many trials are cheap.
constexpr std::int64_t referee_length = 20;

/// A mean whose error is that of its difference from the theory, draw by draw.
class PairedMean {
 public:
  void add(double theory, double simulated) {
    theory_.push_back(theory);
    simulated_.push_back(simulated);
    off_.push_back(simulated - theory);
  }
  double theory() const { return moments(theory_).mean; }
  double theory_of(const std::vector<double>& values) const { return moments(values).mean; }
  statistics::Estimate estimate() const {
    statistics::Estimate estimate(moments(off_));
    estimate.mean = moments(simulated_).mean;
    return estimate;
  }

 private:
  static statistics::Moments moments(const std::vector<double>& values) {
    return statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size()));
  }
  std::vector<double> theory_, simulated_, off_;
};

Table law_table(std::string title) {
  return comparison_table(std::move(title), {{"d"}, parameter_column("kappa", "kappa"), {"quantity"}});
}

void add_law(Table& table, ClassifyRun& run, std::int64_t d, double kappa, const std::string& quantity, double theory,
             const statistics::Estimate& estimate) {
  table.add_row({d, kappa, quantity}, run.judgment.judged({theory, 1e-9 * std::abs(theory)}, estimate));
}

std::string at(std::int64_t d, double kappa) { return "d = " + std::to_string(d) + ", kappa = " + in_words(kappa); }

/// What softmax divides by, and how its weights concentrate.
Table independent_table(ClassifyRun& run) {
  const std::int64_t n = run.options.simulation.context_length;
  Table table = law_table("Independent points: the adaptive rate and the attention, n = " + std::to_string(n));
  for (const auto& [d, kappa] : {std::pair<std::int64_t, double>{2, 10}, {3, 10}, {5, 4}, {10, 2}}) {
    const SphereTask task{d, 2, n, simulate::ContextLaw::independent};
    const auto simulated = run.simulator.partition_function("independent points", task, {kappa});
    const IndependentLaw exact = independent_law(d, kappa, n);
    const auto add = [&, d = d, kappa = kappa](const std::string& quantity, double theory,
                                               PartitionFunctionMetric metric) {
      add_law(table, run, d, kappa, quantity, theory, simulated.at(0, metric));
    };
    add("Var Z / (E Z)^2", exact.relative_variance, PartitionFunctionMetric::squared_deviation);
    const bool is_tame = exact.inverse_spread <= most_spread;
    if (is_tame) add("E 1/Z", exact.inverse, PartitionFunctionMetric::inverse);
    add("E 1/(Z + 1)", exact.inverse_with_query, PartitionFunctionMetric::inverse_with_query);
    add("E sum a^2", exact.ipr, PartitionFunctionMetric::ipr);
    add("E max a", exact.largest_weight, PartitionFunctionMetric::largest_weight);
    if (is_tame)
      run.controls.add("E 1/Z as 1/E Z", at(d, kappa), exact.leading_inverse, exact.inverse,
                       simulated.at(0, PartitionFunctionMetric::inverse));
    run.controls.add("E sum a^2, leading order", at(d, kappa), exact.leading_ipr, exact.ipr,
                     simulated.at(0, PartitionFunctionMetric::ipr));
  }
  table.notes = {
      "Z = sum of e^(kappa (x_j . x - 1)), a = the weights of its terms, the query no key; the adaptive rate "
      "is n c / Z, or n c / (Z + 1) where the query is a key. E 1/Z has no row where rare empty "
      "neighborhoods carry it."};
  return table;
}

/// The same in higher dimension, where cells are known from draws.
void add_cells(Table& table, ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const std::int64_t d = std::max<std::int64_t>(3, o.simulation.dimension);
  const SphereTask task{d, o.classes, o.simulation.context_length};
  const double points = static_cast<double>(task.context_length / task.classes);
  PairedMean kernel, cosine;
  std::int64_t drawn = 0;
  for (; drawn < cell_contexts && !run.simulator.stopped(); ++drawn) {
    const auto context = run.simulator.context(task, static_cast<std::uint64_t>(drawn));
    const CellLaw exact = cell_law(context, task, law_kappa, static_cast<std::uint64_t>(drawn));
    const auto own = static_cast<std::size_t>(context.query_label);
    kernel.add(exact.kernel, kernel_votes(context, task, context.query, law_kappa).by_class[own] / points);
    double sum = 0;
    for (std::size_t j = 0; j < context.labels.size(); ++j) {
      if (context.labels[j] != context.query_label) continue;
      for (std::size_t i = 0; i < context.query.size(); ++i) {
        sum += context.inputs[j * context.query.size() + i] * context.query[i];
      }
    }
    cosine.add(exact.cosine, sum / points);
  }
  run.simulator.count(drawn, cell_contexts);
  add_law(table, run, d, law_kappa, "kernel's mean over the cell of y", kernel.theory(), kernel.estimate());
  add_law(table, run, d, law_kappa, "cosine's mean over the cell of y", cosine.theory(), cosine.estimate());
}

/// A kernel that is not radial: Proposition 3.2 for (1 + u . v)^2, two routes to it on contexts of their own.
Table polynomial_table(ClassifyRun& run) {
  const SphereTask task{run.options.simulation.dimension, 2, run.options.simulation.context_length,
                        simulate::ContextLaw::independent};
  const PolynomialLaw exact = polynomial_law(task.dimension, task.context_length);
  Table table = comparison_table("A kernel of one's own, (1 + u . v)^2: the sum of its votes over independent points",
                                 {{"d"}, {"n"}, {"attention"}, {"quantity"}});
  constexpr std::int64_t most_features_of = 64;  // dimensions: there are d^2 + d + 1 features
  const double each = static_cast<double>(task.context_length) * std::pow(static_cast<double>(task.dimension), 2);
  const auto contexts = static_cast<std::int64_t>(std::clamp(1e9 / each, 64.0, 4096.0));
  std::uint64_t first = 0;
  for (const auto& [name, route] :
       {std::pair{"kernel as activation", KernelRoute::activation}, {"linear, over features", KernelRoute::features}}) {
    if (route == KernelRoute::features && task.dimension > most_features_of) continue;
    std::vector<double> sums, deviations;
    for (std::int64_t i = 0; i < contexts && !run.simulator.stopped(); ++i) {
      const auto context = run.simulator.context(task, first + static_cast<std::uint64_t>(i));
      sums.push_back(polynomial_votes(context, task, route));
      deviations.push_back((sums.back() - exact.mean) * (sums.back() - exact.mean));
    }
    first += static_cast<std::uint64_t>(contexts);
    run.simulator.count(static_cast<std::int64_t>(sums.size()), contexts);
    const auto sum = estimate_of(sums), variance = estimate_of(deviations);
    const auto add = [&, name = name](const std::string& quantity, double theory,
                                      const statistics::Estimate& estimate) {
      table.add_row({task.dimension, task.context_length, name, quantity},
                    run.judgment.judged({theory, 1e-9 * theory}, estimate));
    };
    add("mean", exact.mean, sum);
    add("variance", exact.variance, variance);
    run.controls.add("votes of (1 + u . v)^2 with E (u . v)^2 = 1/(d + 1)", name,
                     exact.mean * (1 + 1.0 / (static_cast<double>(task.dimension) + 1)) /
                         (1 + 1.0 / static_cast<double>(task.dimension)),
                     exact.mean, sum);
  }
  table.notes = {"Proposition 3.2; features: (1, sqrt 2 u, u u^T). The user's kernel in code: any_kernel.hpp."};
  return table;
}

/// Four rules at short contexts, beside attention.
Table short_contexts_table(ClassifyRun& run) {
  const std::int64_t k = run.options.classes, points = std::max<std::int64_t>(1, referee_length / k);
  const SphereTask task{run.options.simulation.dimension, k, points * k};
  const double rate = predicted_rate(task);
  const std::vector<Chosen> rules{
      given(RuleChoice::linear, {ClassificationRule::linear, 0, rate}),
      given(RuleChoice::kernel, {ClassificationRule::kernel, law_kappa, 4 * rate}),
      given(RuleChoice::adaptive, {ClassificationRule::adaptive, law_kappa, rate / law_kappa}),
      given(RuleChoice::adaptive_with_query, {ClassificationRule::adaptive_with_query, law_kappa, rate / law_kappa})};
  std::vector<Classifier> classifiers;
  for (const Chosen& one : rules) classifiers.push_back(one.classifier);
  const auto votes = run.simulator.metrics("rules", task, classifiers, Effort::manifold);
  std::vector<ByVotes> all;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    all.push_back({task, rules[i], votes.at(i, ClassificationMetric::loss), votes.at(i, ClassificationMetric::accuracy),
                   votes.at(i, ClassificationMetric::entropy)});
  }
  return attention_table(run, all, Effort::manifold);
}

/// The difference of two means of draws of their own, at the second one.
statistics::Estimate apart(const statistics::Estimate& one, const statistics::Estimate& other) {
  statistics::Estimate both = other;
  both.standard_error = std::hypot(one.standard_error, other.standard_error);
  return both;
}

}  // namespace

Table circle_table(ClassifyRun& run, double kappa, CircleRows rows) {
  const ClassifyOptions& o = run.options;
  const SphereTask task{2, o.classes, o.simulation.context_length, simulate::ContextLaw::balanced, o.prototype_sets};
  Table table = law_table("Balanced cells on the circle, given prototypes and query: " + in_words(task));
  PairedMean sum, variance, own_sum, share, with_query;
  std::vector<double> limits;
  std::int64_t drawn = 0;
  for (; drawn < circle_contexts && !run.simulator.stopped(); ++drawn) {
    const auto context = run.simulator.context(task, static_cast<std::uint64_t>(drawn));
    const CircleVotes exact = circle_votes(context, task, kappa);
    const KernelVotes votes = kernel_votes(context, task, context.query, kappa);
    const double own = votes.by_class[static_cast<std::size_t>(context.query_label)];
    sum.add(exact.partition_function, votes.partition_function);
    variance.add(exact.partition_function_variance, (votes.partition_function - exact.partition_function) *
                                                        (votes.partition_function - exact.partition_function));
    own_sum.add(exact.own_share * exact.partition_function, own);
    if (rows == CircleRows::votes) continue;
    const CircleAttention attention = circle_attention(context, task, kappa);
    share.add(attention.own_share, own / votes.partition_function);
    with_query.add(attention.own_share_with_query, own / (votes.partition_function + 1));
    limits.push_back(exact.own_share);
  }
  run.simulator.count(drawn, circle_contexts);
  add_law(table, run, 2, kappa, "E Z", sum.theory(), sum.estimate());
  add_law(table, run, 2, kappa, "Var Z", variance.theory(), variance.estimate());
  add_law(table, run, 2, kappa, "kernel's vote for y", own_sum.theory(), own_sum.estimate());
  const double independent = std::pow(variation_law(2, kappa, task.context_length).independent * sum.theory(), 2);
  run.controls.add("Var Z of independent points", at(2, kappa), independent, variance.theory(), variance.estimate());
  if (rows == CircleRows::attention_too) {
    add_law(table, run, 2, kappa, "attention on y, no key", share.theory(), share.estimate());
    add_law(table, run, 2, kappa, "attention on y, softmax", with_query.theory(), with_query.estimate());
    const double limit = share.theory_of(limits);
    run.controls.add("attention on y, n = inf", at(2, kappa) + ", no key", limit, share.theory(), share.estimate());
    run.controls.add("attention on y, other key", at(2, kappa) + ", softmax", share.theory(), with_query.theory(),
                     with_query.estimate());
  }
  table.notes = {
      "Theory and simulation share prototypes and query: ± error is that of their difference, context by "
      "context."};
  return table;
}

Table attention_table(ClassifyRun& run, const std::vector<ByVotes>& all, Effort effort) {
  constexpr double near_miss = 1.1;       // of the gain: the entropy changes in first order, the least loss does not
  constexpr double largest_kappa = 1000;  // single precision resolves narrower kernels no more
  Table table = comparison_table(
      "Attention, token by token, beside the rules",
      {{"d"}, {"n"}, {"rule"}, parameter_column("kappa", "kappa"), parameter_column("gain", "rate or c"), {"metric"}});
  table.columns[6].heading = "rule";
  table.columns[8].heading = "attention";
  for (const ByVotes& one : all) {
    const Classifier& by = one.rule.classifier;
    if (by.kappa < 0 || largest_kappa < by.kappa || by.gain == 0) continue;  // at 0 every class has 1/k
    const ContextAttentionSimulation attention =
        one.rule.reached ? run.simulator.attention("attention", one.task, by, effort) : ContextAttentionSimulation();
    for (const auto& [name, votes, metric] : {std::tuple{"loss", &one.loss, ContextAttentionMetric::loss},
                                              {"accuracy", &one.accuracy, ContextAttentionMetric::accuracy},
                                              {"entropy", &one.entropy, ContextAttentionMetric::entropy}}) {
      std::vector<Cell> cells{one.task.dimension, one.task.context_length, name_of(one.rule.choice),
                              one.rule.kappa(),   one.rule.gain(),         std::string(name)};
      const bool is_reached = one.rule.reached && votes->count > 1 && attention.at(metric).count > 1;
      const auto comparison =
          is_reached ? run.judgment.judged({votes->mean, votes->rounding}, apart(*votes, attention.at(metric)))
                     : unreached_comparison();
      table.add_row(std::move(cells), comparison);
    }
    if (&one != &all.back() || !one.rule.reached) continue;
    Classifier wrong = by;
    wrong.gain *= near_miss;
    const auto claimed = run.simulator.metrics("near miss", one.task, {wrong}, effort);
    const auto& entropy = claimed.at(0, ClassificationMetric::entropy);
    run.controls.add("entropy at a gain 10% larger",
                     "d = " + std::to_string(one.task.dimension) + ", " + name_of(one.rule.choice), entropy.mean,
                     one.entropy.mean, apart(entropy, attention.at(ContextAttentionMetric::entropy)));
  }
  table.notes = {
      "Weights as the paper constructs them, multiplied with tokens (x; y) on contexts of their own; ± error "
      "of the difference. No row for kappa < 0, which has no such weights, nor above 1000."};
  return table;
}

Table referee_table(ClassifyRun& run, const std::vector<std::int64_t>& dimensions) {
  constexpr std::int64_t n = referee_length;
  Table table = comparison_table(
      "Referee: attention, token by token, on two classes, n = " + std::to_string(n),
      {{"d"}, {"rule"}, parameter_column("kappa", "kappa"), parameter_column("gain", "rate or c"), {"of_margin"}});
  table.columns[4].heading = "of the margin";
  table.audit = true;
  for (const std::int64_t d : dimensions) {
    const SphereTask task{d, 2, n};
    const double rate = two_class_best_rate(d, n).rate;
    for (const RuleChoice choice :
         {RuleChoice::linear, RuleChoice::kernel, RuleChoice::adaptive, RuleChoice::adaptive_with_query}) {
      Classifier by{rule_of(choice), choice == RuleChoice::linear ? 0 : law_kappa, rate};
      if (choice == RuleChoice::kernel) by.gain = 4 * rate;
      if (is_softmax(choice)) by.gain = rate / law_kappa;
      const auto simulated = run.simulator.attention("two classes", task, by, Effort::manifold);
      const MarginLaw exact = two_class_margin(task, by);
      const auto add = [&](const std::string& moment, double theory, ContextAttentionMetric metric) {
        table.add_row({d, name_of(choice), choice == RuleChoice::linear ? Cell() : Cell(by.kappa), by.gain, moment},
                      run.judgment.judged({theory, 1e-9 * std::abs(theory)}, simulated.at(metric)));
      };
      const auto& margin = simulated.at(ContextAttentionMetric::margin);
      const auto& square = simulated.at(ContextAttentionMetric::squared_margin);
      add("mean", exact.mean, ContextAttentionMetric::margin);
      if (exact.mean_square) add("mean square", *exact.mean_square, ContextAttentionMetric::squared_margin);
      const std::string row = "d = " + std::to_string(d) + ", " + name_of(choice);
      if (exact.mean_square) {
        run.controls.add("mean square, n = inf", row, *exact.long_mean_square, *exact.mean_square, square);
      } else {
        run.controls.add("margin, n = inf", row, exact.long_mean, exact.mean, margin);
      }
    }
  }
  table.notes = {
      "Margin: the logit of the query's class less the other's. Exact at this n: the mean for every rule, the "
      "mean square where it is a sum over points."};
  return table;
}

std::vector<Table> laws_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  std::vector<Table> tables{independent_table(run), referee_table(run, {o.simulation.dimension})};
  tables.back().audit = false;  // of this figure it is a part
  Table cells = circle_table(run, law_kappa, CircleRows::attention_too);
  add_cells(cells, run);
  tables.push_back(std::move(cells));
  tables.push_back(polynomial_table(run));
  tables.push_back(short_contexts_table(run));
  return tables;
}

}  // namespace incontext::examples::classify
