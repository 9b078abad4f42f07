#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// The number of prototypes and queries over which limits of long contexts are averaged. It is lower where there are
/// many cells, because each needs many draws.
std::int64_t limit_contexts(const SphereTask& task) {
  const std::int64_t usual = task.dimension == 2 ? 1024 : 256;
  return std::max<std::int64_t>(32, usual * 32 / std::max<std::int64_t>(32, task.classes));
}

const std::vector<std::pair<std::string, ClassificationMetric>>& metric_names() {
  static const std::vector<std::pair<std::string, ClassificationMetric>> names{
      {"loss", ClassificationMetric::loss},
      {"accuracy", ClassificationMetric::accuracy},
      {"entropy", ClassificationMetric::entropy},
      {"probability", ClassificationMetric::probability},
      {"sensitivity", ClassificationMetric::sensitivity},
      {"confidence", ClassificationMetric::confidence},
      {"confident error", ClassificationMetric::confident_error}};
  return names;
}

std::vector<Chosen> chosen_rules(ClassifyRun& run, const SphereTask& task) {
  const ClassifyOptions& o = run.options;
  std::vector<Chosen> chosen;
  for (const RuleChoice choice : o.rule == RuleChoice::all ? all_rules() : std::vector<RuleChoice>{o.rule}) {
    chosen.push_back(best_of(run.simulator, task, choice, o.kappa, o.gain));
  }
  return chosen;
}

Table parameters_table(const SphereTask& task, const std::vector<Chosen>& rules) {
  Table table{.title = "Rules of " + in_words(task),
              .columns = {{"rule"},
                          parameter_column("kappa", "kappa"),
                          parameter_column("sigma", "sigma"),
                          parameter_column("gain", "rate or gain"),
                          {.name = "edge", .heading = "searched for"}}};
  for (const Chosen& one : rules) {
    const double kappa = one.classifier.kappa;
    const bool has_width = one.reached && one.choice != RuleChoice::linear && kappa > 0;
    const std::string found = !one.searched ? "given" : one.edge.empty() ? "inside its range" : one.edge;
    table.add_row(
        {name_of(one.choice), one.kappa(), has_width ? Cell(1 / std::sqrt(kappa)) : Cell(), one.gain(), found});
  }
  return table;
}

Table metrics_table(ClassifyRun& run, const SphereTask& task, const std::vector<Chosen>& rules,
                    std::vector<ByVotes>& by_votes) {
  Table table = comparison_table("What they make of a query after " + std::to_string(task.context_length) +
                                     " examples, and as contexts grow: d = " + std::to_string(task.dimension) +
                                     ", k = " + std::to_string(task.classes) + " classes",
                                 {{"rule"},
                                  {"metric"},
                                  {.name = "limit", .heading = "n -> inf", .digits = 4, .decimals_as = 2},
                                  {.name = "limit_error", .heading = "± error", .decimals_as = 2}});
  std::vector<Classifier> classifiers;
  for (const Chosen& one : rules) classifiers.push_back(one.classifier);
  const auto simulated = run.simulator.metrics("metrics", task, classifiers);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const bool has_limit = rules[i].reached && classifiers[i].kappa >= 0 && !run.simulator.stopped();
    by_votes.push_back({task, rules[i], simulated.at(i, ClassificationMetric::loss),
                        simulated.at(i, ClassificationMetric::accuracy),
                        simulated.at(i, ClassificationMetric::entropy)});
    LongContextMetrics limit;
    if (has_limit) limit = long_context_metrics(run.simulator, task, classifiers[i], limit_contexts(task));
    for (const auto& [name, metric] : metric_names()) {
      std::vector<Cell> cells{name_of(rules[i].choice), name};
      cells.insert(cells.end(), {mean_cell(limit[metric]), error_cell(limit[metric])});
      add_comparison(table, run, std::move(cells), task, rules[i], metric, simulated.at(i, metric));
    }
  }
  std::string parameters;
  for (const Chosen& one : rules) {
    parameters += (parameters.empty() ? "Rules: " : "; ") + name_of(one.choice);
    if (!one.reached) continue;
    if (one.choice != RuleChoice::linear) parameters += ", kappa = " + in_words(one.classifier.kappa, 4);
    const bool adapts = one.choice == RuleChoice::adaptive || one.choice == RuleChoice::adaptive_with_query;
    parameters += (adapts ? ", gain " : ", rate ") + in_words(one.classifier.gain, 4);
  }
  table.notes = {parameters + ".",
                 "loss -log p_y and entropy in nats; sensitivity: Frobenius norm of dp/dx. confidence: share of "
                 "predictions whose largest p is above 0.9; confident error: of those that are wrong as well.",
                 "n -> inf: the same parameters in ever longer contexts, over " + std::to_string(limit_contexts(task)) +
                     " prototypes and queries."};
  if (task.classes == 2) table.notes.push_back(closed_form_note);
  return table;
}

Table alignment_table(ClassifyRun& run, const SphereTask& task, const std::vector<Chosen>& rules) {
  Table table{.title = "How far two of them are apart on the same contexts",
              .columns = {{"rules"},
                          {.name = "predictions_difference", .heading = "|p - p'|", .digits = 4, .decimals_as = 1},
                          {.name = "predictions_error", .heading = "± error", .decimals_as = 1},
                          {.name = "cosine_similarity", .heading = "cosine", .digits = 4, .decimals_as = 2},
                          {.name = "cosine_error", .heading = "± error", .decimals_as = 2},
                          {.name = "sensitivity_difference", .heading = "|J - J'|", .digits = 4, .decimals_as = 3},
                          {.name = "sensitivity_error", .heading = "± error", .decimals_as = 3},
                          trials_column()}};
  const std::pair<std::size_t, std::size_t> compared[] = {{0, 1}, {0, 4}, {1, 4}, {2, 4}, {3, 4}};
  std::vector<ClassifierPair> pairs;
  for (const auto& [a, b] : compared) pairs.push_back({rules[a].classifier, rules[b].classifier});
  const auto simulated = run.simulator.alignment("alignment", task, pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [a, b] = compared[i];
    std::vector<Cell> cells{name_of(rules[a].choice) + " | " + name_of(rules[b].choice)};
    for (const AlignmentMetric metric : {AlignmentMetric::predictions_difference, AlignmentMetric::cosine_similarity,
                                         AlignmentMetric::sensitivity_difference}) {
      const auto& estimate = simulated.at(i, metric);
      cells.insert(cells.end(), {mean_cell(estimate), error_cell(estimate)});
    }
    cells.push_back(simulated.at(i, AlignmentMetric::cosine_similarity).count);
    table.add_row(std::move(cells));
  }
  table.notes = {"cosine: between the two dp_c/dx, mean over the classes, 0 where one vanishes; J = dp/dx."};
  return table;
}

}  // namespace

std::vector<Table> metrics_figure(ClassifyRun& run) {
  const SphereTask task = run.options.task();
  const std::vector<Chosen> rules = chosen_rules(run, task);
  std::vector<ByVotes> by_votes;
  std::vector<Table> tables{parameters_table(task, rules), metrics_table(run, task, rules, by_votes)};
  if (run.options.rule == RuleChoice::all) tables.push_back(alignment_table(run, task, rules));
  Table attention = attention_table(run, by_votes);
  if (!attention.rows.empty()) tables.push_back(std::move(attention));
  tables.push_back(referee_table(run, {task.dimension}));
  for (Table& table : tables) table.audit = &table != &tables[1];
  return tables;
}

}  // namespace incontext::examples::classify
