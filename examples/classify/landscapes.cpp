#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples {

namespace {

// ---- 6 ----

constexpr int map_kappas = 17, map_gains = 33;

/// How far above the least loss of the map, as one character.
char shade_of(double loss, double least) {
  const double excess = loss / least - 1;
  const std::pair<double, char> shades[] = {{0.01, '0'}, {0.03, '1'}, {0.1, '2'}, {0.3, '3'}, {1, '4'}, {3, '5'}};
  for (const auto& [bound, shade] : shades) {
    if (excess < bound) return shade;
  }
  return '.';
}

struct Map {
  Grid grid;
  std::vector<statistics::Estimate> losses;

  const statistics::Estimate& at(std::size_t i, std::size_t j) const { return losses[i * grid.gains.size() + j]; }
  /// Of a row, or of all.
  std::size_t best_of(std::size_t first, std::size_t count) const {
    std::size_t best = first;
    for (std::size_t i = first; i < first + count; ++i) best = losses[i].mean < losses[best].mean ? i : best;
    return best;
  }
};

std::string row_of(const Map& map, std::size_t i, std::size_t best) {
  std::string shades;
  for (std::size_t j = 0; j < map.grid.gains.size(); ++j) {
    const bool is_best = best == i * map.grid.gains.size() + j;
    shades += is_best ? '@' : shade_of(map.at(i, j).mean, map.losses[best].mean);
  }
  return shades;
}

/// The ends and the middle of the gains over the columns of the map.
std::string gains_heading(const std::vector<double>& gains, const std::string& name) {
  std::string heading = name + " = " + in_words(gains.front(), 5);
  const std::string middle = in_words(gains[gains.size() / 2], 5), end = in_words(gains.back(), 6);
  const std::size_t width = gains.size(), at = width / 2;
  heading += std::string(std::max<std::size_t>(at, heading.size() + 1) - heading.size(), ' ') + middle;
  heading += std::string(std::max(width - end.size(), heading.size() + 1) - heading.size(), ' ') + end;
  return heading;
}

Table map_table(const Map& map, const std::string& title, double rate, bool is_kernel) {
  const std::string name = is_kernel ? "rate" : "c";
  Table table{.title = title,
              .columns = {parameter_column("kappa", "kappa"),
                          {.name = "map", .heading = gains_heading(map.grid.gains, name)},
                          parameter_column("best_gain", "best " + name),
                          parameter_column("slope", name + " kappa"),
                          {.name = "loss", .digits = 4, .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1}}};
  const std::size_t width = map.grid.gains.size(), best = map.best_of(0, map.losses.size());
  for (std::size_t i = 0; i < map.grid.kappas.size(); ++i) {
    const std::size_t at = map.best_of(i * width, width);
    const double kappa = map.grid.kappas[i], gain = map.grid.gains[at - i * width];
    table.add_row(
        {kappa, row_of(map, i, best), gain, kappa * gain, map.losses[at].mean, map.losses[at].standard_error});
  }
  table.notes = {
      "Loss over the least of the map, @: 0 to 1 % more, 1 to 3 %, 2 to 10 %, 3 to 30 %, 4 to twice, 5 to four times, "
      ". beyond. The numbers are in --format csv and json."};
  if (!is_kernel) {
    table.notes.push_back("Where kappa is small only c kappa matters, the rate of the linear rule: predicted " +
                          in_words(rate, 3) + ".");
  }
  return table;
}

/// The numbers behind the map, for those who draw it.
Table map_numbers(const Map& map) {
  Table table{.title = "The map's numbers", .columns = {{"kappa"}, {"gain"}, {"loss"}, {"standard_error"}}};
  for (std::size_t i = 0; i < map.grid.kappas.size(); ++i) {
    for (std::size_t j = 0; j < map.grid.gains.size(); ++j) {
      table.add_row({map.grid.kappas[i], map.grid.gains[j], map.at(i, j).mean, map.at(i, j).standard_error});
    }
  }
  return table;
}

RuleChoice softmax_or(RuleChoice choice) {
  return choice == RuleChoice::all ? RuleChoice::adaptive_with_query : choice;
}

// ---- 7 ----

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
  for (std::size_t i = 0; i < all.size(); ++i) all[i].loss = simulated[i][Metric::loss];
  return all;
}

/// The names in order of their losses, "<" where the order is beyond doubt and "~" where it is not.
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

// ---- elimination ----

/// Two classes, the query no key: elimination sees the mirrored context as selection sees the context.
Table equal_law_table(ClassifyRun& run) {
  const std::int64_t n = 2 * ((run.options.simulation.context_length + 1) / 2);
  Table table =
      comparison_table("Two classes, the query no key: elimination has the law of selection, n = " + std::to_string(n),
                       {{"d"}, parameter_column("kappa", "kappa"), parameter_column("gain", "c"), {"metric"}});
  table.columns[4].heading = "kappa, c";
  table.columns[5].heading = "-kappa, -c";
  for (const std::int64_t d : run.options.dimensions) {
    const SphereTask task{d, 2, n};
    Classifier selects{Rule::adaptive, 3, 0};
    selects.gain = predicted_gain(task, selects);
    const Classifier eliminates{Rule::adaptive, -selects.kappa, -selects.gain};
    const auto one = run.simulator.metrics("selection", task, {selects});
    const auto other = run.simulator.metrics("elimination", task, {eliminates});
    for (const auto& [name, metric] : {std::pair{"loss", Metric::loss},
                                       {"accuracy", Metric::accuracy},
                                       {"entropy", Metric::entropy},
                                       {"sensitivity", Metric::sensitivity}}) {
      const auto &a = one[0][metric], &b = other[0][metric];
      if (a.count < 2 || b.count < 2) continue;
      statistics::Estimate both = b;
      both.standard_error = std::hypot(a.standard_error, b.standard_error);
      std::vector<Cell> cells{d, selects.kappa, selects.gain, std::string(name)};
      const auto comparison = run.judgement.judged(a.mean, both);
      cells.insert(cells.end(), comparison.begin(), comparison.end());
      table.add_row(std::move(cells));
    }
  }
  table.notes = {"Independent contexts; ± error of the difference."};
  return table;
}

/// Losses of selection and of elimination less the linear rule's, on common contexts.
std::vector<statistics::Estimate> differences(ClassifyRun& run, const SphereTask& task, const Chosen& away,
                                              const Chosen& linear, const Chosen& toward) {
  Grid grid{Rule::adaptive_with_query, {away.classifier.kappa, 0, toward.classifier.kappa}, {}, true};
  grid.gains = {away.slope, linear.slope, toward.slope};
  std::sort(grid.gains.begin(), grid.gains.end());
  grid.gains.erase(std::unique(grid.gains.begin(), grid.gains.end()), grid.gains.end());
  const auto at = [&](std::size_t row, double slope) {
    const auto found = std::find(grid.gains.begin(), grid.gains.end(), slope);
    return row * grid.gains.size() + static_cast<std::size_t>(found - grid.gains.begin());
  };
  const auto all =
      run.simulator.losses("differences", task, grid, static_cast<int>(at(1, linear.slope)), Effort::fourfold);
  if (all.differences.empty()) return {};
  return {all.differences[at(0, away.slope)], all.differences[at(2, toward.slope)], all.losses[at(1, linear.slope)]};
}

std::string better_of(const statistics::Estimate& away, const statistics::Estimate& toward) {
  const auto gains = [](const statistics::Estimate& e) { return e.mean < -3 * e.standard_error; };
  if (gains(away) && (!gains(toward) || away.mean < toward.mean)) return "elimination";
  return gains(toward) ? "selection" : "linear, to the error";
}

Table strategies_table(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  Table table{.title = "Softmax attention on both sides of linear, k = " + std::to_string(o.classes) +
                       ", n = " + std::to_string(o.simulation.context_length) + ": loss less linear's",
              .columns = {{"d"},
                          {.name = "linear", .digits = 4},
                          parameter_column("elimination_kappa", "kappa < 0"),
                          parameter_column("elimination_slope", "kappa c"),
                          {.name = "elimination", .heading = "elimination", .digits = 3, .decimals_as = 1},
                          {.name = "elimination_error", .heading = "± error", .decimals_as = 1},
                          parameter_column("selection_kappa", "kappa > 0"),
                          parameter_column("selection_slope", "kappa c"),
                          {.name = "selection", .heading = "selection", .digits = 3, .decimals_as = 1},
                          {.name = "selection_error", .heading = "± error", .decimals_as = 1},
                          {.name = "better"}}};
  std::string edges;
  for (const std::int64_t d : o.dimensions) {
    if (run.simulator.stopped()) break;
    const SphereTask task{d, o.classes, o.simulation.context_length};
    const Chosen linear = best_of(run.simulator, task, RuleChoice::linear);
    const Chosen away = best_of(run.simulator, task, RuleChoice::adaptive_with_query, {}, {}, Side::elimination);
    const Chosen toward = best_of(run.simulator, task, RuleChoice::adaptive_with_query);
    const auto less = differences(run, task, away, linear, toward);
    if (less.empty() || less[0].count < 2) continue;
    table.add_row({d, less[2].mean, away.classifier.kappa, away.slope, less[0].mean, less[0].standard_error,
                   toward.classifier.kappa, toward.slope, less[1].mean, less[1].standard_error,
                   better_of(less[0], less[1])});
    for (const Chosen& one : {away, toward}) {
      if (!one.edge.empty()) {
        edges += (edges.empty() ? "" : "; ") + std::string("d = ") + std::to_string(d) +
                 ", kappa = " + in_words(one.classifier.kappa, 3) + ": " + one.edge;
      }
    }
  }
  table.notes = {
      "The query is a key. At kappa = 0 and fixed kappa c attention is the linear rule: both sides meet there.",
      "Differences on the same contexts, four times --trials; better: by more than 3 standard errors."};
  if (!edges.empty()) table.notes.push_back("Optima on the edge of what was searched, so none: " + edges + ".");
  return table;
}

}  // namespace

std::vector<Table> map_figure(ClassifyRun& run) {
  const SphereTask task = run.options.task();
  const RuleChoice choice = softmax_or(run.options.rule);
  const bool is_kernel = choice == RuleChoice::kernel;
  const double rate = predicted_rate(task);
  Map map;
  map.grid.rule = is_kernel                        ? Rule::kernel
                  : choice == RuleChoice::adaptive ? Rule::adaptive
                                                   : Rule::adaptive_with_query;
  map.grid.kappas = log_spaced(0.03, 100, map_kappas);
  map.grid.gains = log_spaced(1, is_kernel ? 1e5 : 1e4, map_gains);
  map.losses = run.simulator.losses("map", task, map.grid, -1, Effort::search).losses;
  if (map.losses.empty() || map.losses.front().count < 2) return {};
  const Chosen best = best_of(run.simulator, task, choice);
  Table table = map_table(
      map, "Loss of " + name_of(choice) + " over kappa and " + (is_kernel ? "rate" : "gain") + ": " + in_words(task),
      rate, is_kernel);
  table.notes.push_back("Searched for: kappa = " + in_words(best.classifier.kappa, 3) +
                        (is_kernel ? ", rate = " : ", c = ") + in_words(best.classifier.gain, 3) +
                        (best.edge.empty() ? ", inside its range."
                                           : "; no optimum, but the edge of what was searched: " + best.edge + "."));
  std::vector<Table> tables{std::move(table)};
  if (run.options.output.format != Format::table) tables.push_back(map_numbers(map));
  tables.push_back(two_class_table(run, {task.dimension}, task.context_length));
  return tables;
}

std::vector<Table> rules_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const std::string setting =
      "k = " + std::to_string(o.classes) + ", n = " + std::to_string(o.simulation.context_length);
  Table losses{.title = "Least loss of each rule against dimension: " + setting, .columns = {{"d"}}};
  for (const char* name : {"linear", "kernel", "fixed width", "softmax, no query key", "softmax", "elimination"}) {
    std::string key = name;
    std::replace(key.begin(), key.end(), ' ', '_');
    key.erase(std::remove(key.begin(), key.end(), ','), key.end());
    losses.columns.push_back(
        {.name = key, .heading = key == "softmax_no_query_key" ? "no query key" : name, .digits = 4, .decimals_as = 1});
  }
  losses.columns.push_back({.name = "largest_error", .heading = "± at most", .decimals_as = 1});
  Table optima = comparison_table("Where, and how well it is known", {{"d"},
                                                                      {"rule"},
                                                                      parameter_column("kappa", "kappa"),
                                                                      parameter_column("gain", "rate or gain"),
                                                                      {.name = "edge"}});
  std::string holds, fails;
  for (const std::int64_t d : o.dimensions) {
    if (run.simulator.stopped()) break;
    const SphereTask task{d, o.classes, o.simulation.context_length};
    const auto all = contenders(run, task);
    if (all.front().loss.count < 2) break;
    std::vector<Cell> row{d};
    double largest = 0;
    for (const Contender& one : all) {
      row.push_back(one.loss.mean);
      largest = std::max(largest, one.loss.standard_error);
      const Classifier& at = one.chosen.classifier;
      add_comparison(optima, run,
                     {d, one.name, at.rule == Rule::linear ? Cell() : Cell(at.kappa), at.gain, one.chosen.edge}, task,
                     at, Metric::loss, one.loss);
    }
    row.push_back(largest);
    losses.add_row(std::move(row));
    losses.notes.push_back("d = " + std::to_string(d) + ": " + order_of(all));
    std::string& place = has_order_of_paper(all) ? holds : fails;
    place += (place.empty() ? "" : ", ") + std::to_string(d);
  }
  losses.notes.insert(losses.notes.begin(),
                      "In order of their losses, < where they differ by more than 3 errors of independent contexts, ~ "
                      "where not:");
  losses.notes.push_back("The paper's order, softmax < kernel < fixed width < linear: " +
                         (holds.empty() ? "at none of these d" : "holds at d = " + holds) +
                         (fails.empty() ? "." : "; cannot be seen at d = " + fails + "."));
  losses.notes.push_back(
      "Elimination is softmax at kappa < 0; figure elimination resolves it better. The query is a key of fixed width "
      "and "
      "elimination too.");
  optima.notes.push_back(
      "An edge is no optimum: softmax with kappa at its lowest is the linear rule, which it tends to along c kappa = "
      "const, and so is elimination with kappa at its highest.");
  if (o.classes == 2) optima.notes.push_back(closed_form_note);
  return {std::move(losses), std::move(optima), two_class_table(run, o.dimensions, o.simulation.context_length)};
}

std::vector<Table> elimination_figure(ClassifyRun& run) { return {equal_law_table(run), strategies_table(run)}; }

}  // namespace incontext::examples
