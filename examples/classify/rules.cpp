#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"

namespace incontext::examples::classify {

namespace {

struct Contender {
  std::string name;
  Chosen chosen;
  statistics::Estimate loss;
};

std::vector<Contender> contenders(ClassifyRun& run, const SphereTask& task) {
  std::vector<Contender> all;
  for (const RuleChoice choice : all_rules()) {
    all.push_back({name_of(choice), best_of(run.simulator, task, choice), {}});
  }
  const Chosen away = best_of(run.simulator, task, RuleChoice::adaptive_with_query, {}, {}, Side::elimination);
  all.push_back({"elimination", away, {}});
  std::vector<Classifier> classifiers;
  for (const Contender& one : all) classifiers.push_back(one.chosen.classifier);
  const auto simulated = run.simulator.metrics("losses at the optima", task, classifiers);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].loss = simulated.at(i, ClassificationMetric::loss);
  return all;
}

bool are_reached(const std::vector<Contender>& all) {
  return std::all_of(all.begin(), all.end(), [](const Contender& one) { return one.loss.count > 1; });
}

/// The rules' names in the order of their losses, with "<" between two where the order is certain and "~" where it is
/// not.
std::string order_of(std::vector<Contender> all) {
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.loss.mean < b.loss.mean; });
  std::string words = all.front().name;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double error = std::hypot(all[i].loss.standard_error, all[i - 1].loss.standard_error);
    words += (all[i].loss.mean - all[i - 1].loss.mean > 3 * error ? " < " : " ~ ") + all[i].name;
  }
  return words;
}

/// Whether softmax < kernel < fixed width < linear, each by more than 3 errors.
bool has_order_of_paper(const std::vector<Contender>& all) {
  const auto loss = [&all](RuleChoice choice) {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name_of(choice); })->loss;
  };
  const RuleChoice order[] = {RuleChoice::adaptive_with_query, RuleChoice::kernel, RuleChoice::fixed_width,
                              RuleChoice::linear};
  for (int i = 0; i < 3; ++i) {
    const auto better = loss(order[i]), worse = loss(order[i + 1]);
    if (!(worse.mean - better.mean > 3 * std::hypot(worse.standard_error, better.standard_error))) return false;
  }
  return true;
}

Table least_losses_table(const ClassifyOptions& o) {
  Table table{.title = "Least loss of each rule against dimension: k = " + std::to_string(o.classes) +
                       ", n = " + std::to_string(o.simulation.context_length),
              .columns = {{"d"}}};
  for (const char* name : {"linear", "kernel", "fixed width", "softmax, no key", "softmax", "elimination"}) {
    std::string key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    key.erase(std::remove(key.begin(), key.end(), ','), key.end());
    table.columns.push_back(
        {.name = key, .heading = key == "softmax_no_key" ? "no query key" : name, .digits = 4, .decimals_as = 1});
  }
  table.columns.push_back({.name = "largest_error", .heading = "± at most", .decimals_as = 1});
  return table;
}

/// Adds the losses in one dimension as a row of one table, and the parameters at which they are least to another, one
/// row per rule.
void add_contenders(Table& losses, Table& optima, ClassifyRun& run, const SphereTask& task,
                    const std::vector<Contender>& all) {
  std::vector<Cell> row{task.dimension};
  double largest = 0;
  for (const Contender& one : all) {
    row.push_back(mean_cell(one.loss));
    largest = std::max(largest, one.loss.standard_error);
    add_comparison(optima, run, {task.dimension, one.name, one.chosen.kappa(), one.chosen.gain(), one.chosen.edge},
                   task, one.chosen, ClassificationMetric::loss, one.loss);
  }
  row.push_back(are_reached(all) ? Cell(largest) : Cell());
  losses.add_row(std::move(row));
}

/// One line per dimension with the order of the losses, and in which dimensions it is the paper's.
std::vector<std::string> order_notes(const std::vector<std::string>& orders, const std::string& holds,
                                     const std::string& fails) {
  std::vector<std::string> notes{
      "In order of their losses, < where they differ by more than 3 errors of independent contexts, ~ where not:"};
  notes.insert(notes.end(), orders.begin(), orders.end());
  if (!orders.empty()) {
    notes.push_back("The paper's order, softmax < kernel < fixed width < linear: " +
                    (holds.empty() ? "at none of these d" : "holds at d = " + holds) +
                    (fails.empty() ? "." : "; cannot be seen at d = " + fails + "."));
  }
  notes.push_back(
      "Elimination is softmax at kappa < 0; figure elimination resolves it better. The query is a key of fixed width "
      "and elimination too.");
  return notes;
}

}  // namespace

std::vector<Table> rules_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  Table losses = least_losses_table(o);
  Table optima = comparison_table("Where, and how well it is known", {{"d"},
                                                                      {"rule"},
                                                                      parameter_column("kappa", "kappa"),
                                                                      parameter_column("gain", "rate or gain"),
                                                                      {.name = "edge"}});
  std::vector<std::string> orders;
  std::string holds, fails;
  for (const std::int64_t d : o.dimensions) {
    const SphereTask task{d, o.classes, o.simulation.context_length};
    const auto all = contenders(run, task);
    add_contenders(losses, optima, run, task, all);
    if (!are_reached(all)) continue;
    orders.push_back("d = " + std::to_string(d) + ": " + order_of(all));
    std::string& place = has_order_of_paper(all) ? holds : fails;
    place += (place.empty() ? "" : ", ") + std::to_string(d);
  }
  losses.notes = order_notes(orders, holds, fails);
  optima.notes.push_back(
      "An edge is no optimum: softmax at the lowest kappa is the linear rule, which it tends to along c kappa = "
      "const, and so is elimination at the highest.");
  if (o.classes == 2) optima.notes.push_back(closed_form_note);
  return {std::move(losses), std::move(optima), two_class_table(run, o.dimensions, o.simulation.context_length)};
}

}  // namespace incontext::examples::classify
