#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// With two classes and a query that is not a key, elimination (kappa and gain negative) on a context has the same law
/// as selection (both positive), because mirroring the points at the origin exchanges the two classes' cells.
Table equal_law_table(ClassifyRun& run) {
  const std::int64_t n = 2 * ((run.options.simulation.context_length + 1) / 2);
  Table table =
      comparison_table("Two classes, the query no key: elimination has the law of selection, n = " + std::to_string(n),
                       {{"d"}, parameter_column("kappa", "kappa"), parameter_column("gain", "c"), {"metric"}});
  table.columns[4].heading = "kappa, c";
  table.columns[5].heading = "-kappa, -c";
  for (const std::int64_t d : run.options.dimensions) {
    const SphereTask task{d, 2, n};
    Classifier selects{ClassificationRule::adaptive, 3, 0};
    selects.gain = predicted_gain(task, selects);
    const Classifier eliminates{ClassificationRule::adaptive, -selects.kappa, -selects.gain};
    const auto one = run.simulator.metrics("selection", task, {selects});
    const auto other = run.simulator.metrics("elimination", task, {eliminates});
    for (const auto& [name, metric] : {std::pair{"loss", ClassificationMetric::loss},
                                       {"accuracy", ClassificationMetric::accuracy},
                                       {"entropy", ClassificationMetric::entropy},
                                       {"sensitivity", ClassificationMetric::sensitivity}}) {
      const auto &a = one.at(0, metric), &b = other.at(0, metric);
      statistics::Estimate both = b;
      both.standard_error = std::hypot(a.standard_error, b.standard_error);
      table.add_row({d, selects.kappa, selects.gain, std::string(name)},
                    run.judgment.judged({a.mean, a.rounding}, both));
    }
  }
  table.notes = {
      "An identity of the law, and a check of the simulator; independent contexts, ± error of the difference."};
  return table;
}

/// The grid on which elimination and selection meet at kappa = 0, where the rule is linear: kappas of either sign, and
/// on the second axis the slope kappa c, at values about the linear rule's best rate.
ClassificationGrid sides_grid(double rate) {
  ClassificationGrid grid{ClassificationRule::adaptive_with_query, {}, {}, GridChart::slope};
  const std::vector<double> kappas = log_spaced(0.1, 204.8, 12);
  for (std::size_t i = 7; i-- > 0;) grid.kappas.push_back(-kappas[i]);
  grid.kappas.push_back(0);
  grid.kappas.insert(grid.kappas.end(), kappas.begin(), kappas.end());
  for (const double factor : {0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.6, 2.5, 5.0, 10.0, 20.0, 40.0}) {
    grid.gains.push_back(factor * rate);
  }
  return grid;
}

/// The grid point of least loss among some rows of the grid, and at which ends of the axes it is.
struct Best {
  double kappa, slope;
  std::string edge;
};

Best best_among(const ClassificationGrid& grid, const ClassificationGridSimulation& map, std::size_t first,
                std::size_t count) {
  const std::size_t width = grid.gains.size();
  std::size_t row = first, column = 0;
  for (std::size_t i = first * width; i < (first + count) * width; ++i) {
    if (!(map.loss(i / width, i % width).mean < map.loss(row, column).mean)) continue;
    row = i / width;
    column = i % width;
  }
  std::string edge;
  if (count > 1 && row == first) edge = "lowest kappa";
  if (count > 1 && row + 1 == first + count) edge = "highest kappa";
  if (column == 0) edge += edge.empty() ? "lowest kappa c" : ", kappa c";
  if (column + 1 == width) edge += edge.empty() ? "highest kappa c" : ", kappa c";
  return {grid.kappas[row], grid.gains[column], edge};
}

/// The index of a number on an axis.
std::size_t index_of(double number, const std::vector<double>& axis) {
  return static_cast<std::size_t>(std::find(axis.begin(), axis.end(), number) - axis.begin());
}

/// Differences between the losses at some points and the loss of the linear rule, and last the linear rule's loss, all
/// on common contexts.
std::vector<statistics::Estimate> differences(ClassifyRun& run, const SphereTask& task, const Best& linear,
                                              const std::vector<Best>& points) {
  ClassificationGrid grid{ClassificationRule::adaptive_with_query, {0}, {linear.slope}, GridChart::slope};
  for (const Best& one : points) {
    grid.kappas.push_back(one.kappa);
    grid.gains.push_back(one.slope);
  }
  for (std::vector<double>* axis : {&grid.kappas, &grid.gains}) {
    std::sort(axis->begin(), axis->end());
    axis->erase(std::unique(axis->begin(), axis->end()), axis->end());
  }
  const std::size_t row = index_of(0, grid.kappas), column = index_of(linear.slope, grid.gains);
  const auto reference = static_cast<std::int64_t>(row * grid.gains.size() + column);
  const auto all = run.simulator.losses("differences", task, grid, reference, Effort::twofold);
  std::vector<statistics::Estimate> result;
  for (const Best& one : points) {
    result.push_back(all.loss_difference(index_of(one.kappa, grid.kappas), index_of(one.slope, grid.gains)));
  }
  result.push_back(all.loss(row, column));
  return result;
}

std::string beside_linear(const statistics::Estimate& difference) {
  if (difference.mean < -3 * difference.standard_error) return "better";
  return difference.mean > 3 * difference.standard_error ? "worse" : "alike";
}

/// The best point of one side (elimination or selection), and its loss minus the linear rule's.
struct SideOfLinear {
  std::string name;
  Best best = {};
  statistics::Estimate difference = {};
};

/// The linear rule's loss and the results of both sides; estimates of no trials if the run was stopped earlier.
std::pair<statistics::Estimate, std::vector<SideOfLinear>> sides_of(ClassifyRun& run, const SphereTask& task) {
  std::vector<SideOfLinear> sides{{"elimination"}, {"selection"}};
  const ClassificationGrid grid = sides_grid(best_of(run.simulator, task, RuleChoice::linear).classifier.gain);
  const auto map = run.simulator.losses("both sides", task, grid, simulate::no_reference, Effort::twofold);
  if (map.loss(0, 0).count < 2) return {{}, sides};
  const std::size_t zero = index_of(0, grid.kappas);
  const Best linear = best_among(grid, map, zero, 1);
  sides[0].best = best_among(grid, map, 0, zero);
  sides[1].best = best_among(grid, map, zero + 1, grid.kappas.size() - zero - 1);
  const auto less = differences(run, task, linear, {sides[0].best, sides[1].best});
  for (std::size_t i = 0; i < sides.size(); ++i) sides[i].difference = less[i];
  return {less.back(), sides};
}

Table strategies_table(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  Table table{.title = "Softmax on both sides of linear: k = " + std::to_string(o.classes) +
                       ", n = " + std::to_string(o.simulation.context_length),
              .columns = {{"d"},
                          {.name = "linear", .digits = 4},
                          {"side"},
                          parameter_column("kappa", "kappa"),
                          parameter_column("slope", "kappa c"),
                          {.name = "difference", .heading = "less linear's", .digits = 3, .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          {"than_linear"},
                          {"edge"},
                          trials_column()}};
  for (const std::int64_t d : o.dimensions) {
    const auto [linear, sides] = sides_of(run, {d, o.classes, o.simulation.context_length});
    for (const SideOfLinear& one : sides) {
      if (one.difference.count < 2) {
        std::vector<Cell> cells(table.columns.size());
        cells[0] = d;
        cells[2] = one.name;
        table.add_row(std::move(cells));
        continue;
      }
      table.add_row({d, linear.mean, one.name, one.best.kappa, one.best.slope, one.difference.mean,
                     one.difference.standard_error, beside_linear(one.difference), one.best.edge,
                     one.difference.count});
    }
  }
  table.notes = {
      "The query is a key. At kappa = 0 and fixed kappa c softmax is the linear rule: both sides meet there, and the "
      "edge nearest to it is no optimum.",
      "Found on a grid of both sides, then compared on common fresh contexts, twice --trials of them; better and "
      "worse: "
      "by more than 3 standard errors."};
  return table;
}

}  // namespace

std::vector<Table> elimination_figure(ClassifyRun& run) {
  return {equal_law_table(run), strategies_table(run), referee_table(run, run.options.dimensions)};
}

}  // namespace incontext::examples::classify
