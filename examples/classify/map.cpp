#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

constexpr int map_kappas = 17, map_gains = 33;

/// One character that shows how far a loss is above the least loss of the map.
char shade_of(double loss, double least) {
  const double excess = loss / least - 1;
  const std::pair<double, char> shades[] = {{0.01, '0'}, {0.03, '1'}, {0.1, '2'}, {0.3, '3'}, {1, '4'}, {3, '5'}};
  for (const auto& [bound, shade] : shades) {
    if (excess < bound) return shade;
  }
  return '.';
}

struct Map {
  ClassificationGrid grid;
  ClassificationGridSimulation simulated;

  std::size_t width() const { return grid.gains.size(); }
  bool reached() const { return loss(0).count > 1; }
  /// The losses of the grid, row by row.
  const statistics::Estimate& loss(std::size_t i) const { return simulated.loss(i / width(), i % width()); }
  /// The index of the least loss among `count` losses from `first` on.
  std::size_t best_of(std::size_t first, std::size_t count) const {
    std::size_t best = first;
    for (std::size_t i = first; i < first + count; ++i) best = loss(i).mean < loss(best).mean ? i : best;
    return best;
  }
};

std::string row_of(const Map& map, std::size_t i, std::size_t best) {
  std::string shades;
  for (std::size_t j = i * map.width(); j < (i + 1) * map.width(); ++j) {
    shades += j == best ? '@' : shade_of(map.loss(j).mean, map.loss(best).mean);
  }
  return shades;
}

/// A line with the first, the middle and the last gain, placed under their columns of the map.
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
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          trials_column()}};
  const std::size_t width = map.width(), best = map.best_of(0, width * map.grid.kappas.size());
  for (std::size_t i = 0; i < map.grid.kappas.size(); ++i) {
    const std::size_t at = map.best_of(i * width, width);
    const double kappa = map.grid.kappas[i], gain = map.grid.gains[at - i * width];
    std::vector<Cell> cells{kappa, row_of(map, i, best), gain, kappa * gain};
    if (!map.reached()) cells = {kappa, Cell(), Cell(), Cell()};
    cells.insert(cells.end(), {mean_cell(map.loss(at)), error_cell(map.loss(at)), map.loss(at).count});
    table.add_row(std::move(cells));
  }
  table.notes = {
      "Loss over the least of the map, @: 0 to 1% more, 1 to 3%, 2 to 10%, 3 to 30%, 4 to twice, 5 to four times, "
      ". beyond. The numbers are in --format csv and json."};
  if (!is_kernel) {
    table.notes.push_back("Where kappa is small only c kappa matters, the rate of the linear rule: predicted " +
                          in_words(rate, 3) + ".");
  }
  return table;
}

/// A table of the map's numbers, for readers who draw it themselves.
Table map_numbers(const Map& map) {
  Table table{.title = "The map's numbers",
              .columns = {{"kappa"}, {"gain"}, {"loss"}, {"standard_error"}, trials_column()}};
  for (std::size_t i = 0; i < map.grid.kappas.size(); ++i) {
    for (std::size_t j = 0; j < map.grid.gains.size(); ++j) {
      const statistics::Estimate& loss = map.simulated.loss(i, j);
      table.add_row({map.grid.kappas[i], map.grid.gains[j], mean_cell(loss), error_cell(loss), loss.count});
    }
  }
  return table;
}

RuleChoice softmax_or(RuleChoice choice) {
  return choice == RuleChoice::all ? RuleChoice::adaptive_with_query : choice;
}

}  // namespace

std::vector<Table> map_figure(ClassifyRun& run) {
  const SphereTask task = run.options.task();
  const RuleChoice choice = softmax_or(run.options.rule);
  const bool is_kernel = choice == RuleChoice::kernel;
  const double rate = predicted_rate(task);
  Map map;
  map.grid.rule = is_kernel                        ? ClassificationRule::kernel
                  : choice == RuleChoice::adaptive ? ClassificationRule::adaptive
                                                   : ClassificationRule::adaptive_with_query;
  map.grid.kappas = log_spaced(0.03, 100, map_kappas);
  map.grid.gains = log_spaced(1, is_kernel ? 1e5 : 1e4, map_gains);
  map.simulated = run.simulator.losses("map", task, map.grid, simulate::no_reference, Effort::search);
  const Chosen best = best_of(run.simulator, task, choice);
  Table table = map_table(
      map, "Loss of " + name_of(choice) + " over kappa and " + (is_kernel ? "rate" : "gain") + ": " + in_words(task),
      rate, is_kernel);
  if (best.reached) {
    table.notes.push_back("Searched for: kappa = " + in_words(best.classifier.kappa, 3) +
                          (is_kernel ? ", rate = " : ", c = ") + in_words(best.classifier.gain, 3) +
                          (best.edge.empty() ? ", inside its range."
                                             : "; not an optimum, but at the edge of the range: " + best.edge + "."));
  }
  std::vector<Table> tables{std::move(table)};
  if (run.options.output.format != Format::table) tables.push_back(map_numbers(map));
  tables.push_back(referee_table(run, {task.dimension}));
  return tables;
}

}  // namespace incontext::examples::classify
