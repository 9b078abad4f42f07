#include <incontext/statistics/moments.hpp>

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

constexpr int columns = 60, fine = 300;
constexpr std::int64_t averaged_contexts = 512;

std::vector<double> direction(double turn) {
  const double angle = boost::math::constants::two_pi<double>() * turn;
  return {std::cos(angle), std::sin(angle)};
}

char letter(std::int64_t c, bool is_right) {
  return c < 26 ? static_cast<char>((is_right ? 'a' : 'A') + c) : is_right ? '+' : '-';
}

/// What a rule makes of every direction of a context: lower case where it is right.
std::string strip(const SphereContext<double>& context, const SphereTask& task, const Classifier& by) {
  std::string line;
  for (int i = 0; i < columns; ++i) {
    const auto at = direction((i + 0.5) / columns);
    const std::int64_t predicted = predicted_class(context, task, by, at);
    line += letter(predicted, predicted == class_of(context, at));
  }
  return line;
}

std::string cells_strip(const SphereContext<double>& context) {
  std::string line;
  for (int i = 0; i < columns; ++i) line += letter(class_of(context, direction((i + 0.5) / columns)), true);
  return line;
}

/// How many points of the context are in each direction.
std::string points_strip(const SphereContext<double>& context) {
  std::vector<int> counts(columns);
  for (std::size_t j = 0; j < context.inputs.size(); j += 2) {
    const double turn = std::atan2(context.inputs[j + 1], context.inputs[j]) / boost::math::constants::two_pi<double>();
    counts[static_cast<std::size_t>((turn - std::floor(turn)) * columns) % columns] += 1;
  }
  std::string line;
  for (const int count : counts) line += count == 0 ? '.' : count < 10 ? static_cast<char>('0' + count) : '*';
  return line;
}

/// The share of the circle on which a rule is right, every class counted alike: an average over directions from `first`
/// on, each weighed by the share of its class.
double share_right(const SphereContext<double>& context, const SphereTask& task, const Classifier& by, double first,
                   int directions) {
  const std::vector<double> shares = circle_shares(context);
  double sum = 0;
  for (int i = 0; i < directions; ++i) {
    const auto at = direction((i + first) / directions);
    const std::int64_t label = class_of(context, at);
    if (predicted_class(context, task, by, at) != label) continue;
    sum += 1 / (shares[static_cast<std::size_t>(label)] * static_cast<double>(task.classes) * directions);
  }
  return sum;
}

/// How many of a context's own points a rule gets wrong, if they are asked for.
std::int64_t wrong_points(const SphereContext<double>& context, const SphereTask& task, const Classifier& by) {
  std::int64_t wrong = 0;
  for (std::size_t j = 0; j < context.labels.size(); ++j) {
    const std::vector<double> point{context.inputs[2 * j], context.inputs[2 * j + 1]};
    wrong += predicted_class(context, task, by, point) != context.labels[j] ? 1 : 0;
  }
  return wrong;
}

/// The numbers behind the strips.
Table directions_table(const SphereContext<double>& context, const SphereTask& task, const std::vector<Chosen>& rules) {
  Table table{.title = "The boundaries' numbers", .columns = {{"angle"}, {"label"}}};
  for (const char* name : {"linear", "kernel", "fixed_width", "softmax"}) table.columns.push_back({name});
  for (int i = 0; i < fine; ++i) {
    const auto at = direction((i + 0.5) / fine);
    std::vector<Cell> cells{boost::math::constants::two_pi<double>() * (i + 0.5) / fine, class_of(context, at)};
    for (const Chosen& one : rules) cells.push_back(predicted_class(context, task, one.classifier, at));
    table.add_row(std::move(cells));
  }
  return table;
}

/// The share right over many contexts by directions, beside the accuracy at one random query of other contexts.
Table shares_table(ClassifyRun& run, const SphereTask& task, const std::vector<Chosen>& rules) {
  Table table =
      comparison_table("The share that is right over contexts: at one query each, and all around others", {{"rule"}});
  table.columns[1].heading = "one query";
  table.columns[3].heading = "all around";
  std::vector<Classifier> classifiers;
  for (const Chosen& one : rules) classifiers.push_back(one.classifier);
  const auto accuracies = run.simulator.metrics("accuracies", task, classifiers);
  std::vector<std::vector<double>> shares(rules.size());
  for (std::int64_t i = 0; i < averaged_contexts && !run.simulator.stopped(); ++i) {
    const auto context = run.simulator.context(task, static_cast<std::uint64_t>(i));
    const double golden = 0.6180339887498949 * static_cast<double>(i);
    for (std::size_t r = 0; r < rules.size(); ++r) {
      shares[r].push_back(share_right(context, task, classifiers[r], golden - std::floor(golden), columns));
    }
  }
  run.simulator.count(static_cast<std::int64_t>(shares.front().size()), averaged_contexts);
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const auto& one = accuracies.at(r, ClassificationMetric::accuracy);
    statistics::Estimate all(statistics::moments_of(shares[r].data(), static_cast<std::int64_t>(shares[r].size())));
    all.standard_error = std::hypot(all.standard_error, one.standard_error);
    std::vector<Cell> cells{name_of(rules[r].choice)};
    const bool is_reached = one.count > 1 && all.count > 1;
    const auto comparison = is_reached ? run.judgment.judged({one.mean, one.rounding}, all) : unreached_comparison();
    table.add_row(std::move(cells), comparison);
    if (r == 0 && is_reached) {
      const auto& softmax = accuracies.at(rules.size() - 1, ClassificationMetric::accuracy);
      run.controls.add("softmax' accuracy", "linear, all around", softmax.mean, all.mean, all);
    }
  }
  table.notes = {
      "± error of the difference; every class counts alike. Simulated votes and the boundaries drawn above "
      "are different code."};
  return table;
}

}  // namespace

std::vector<Table> boundaries_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const SphereTask task = o.task();
  const auto context = run.simulator.context(task, static_cast<std::uint64_t>(o.context));
  std::vector<Chosen> rules;
  for (const RuleChoice choice :
       {RuleChoice::linear, RuleChoice::kernel, RuleChoice::fixed_width, RuleChoice::adaptive_with_query}) {
    rules.push_back(best_of(run.simulator, task, choice));
  }
  Table table{.title = "Decision boundaries around the circle, one context: " + in_words(task),
              .columns = {{"rule"},
                          {.name = "map", .heading = "angle 0 to 360 degrees, counterclockwise"},
                          {.name = "share", .heading = "right", .digits = 3},
                          {.name = "wrong_points", .heading = "wrong points"}}};
  table.add_row({std::string("the cells"), cells_strip(context), Cell(), Cell()});
  table.add_row({std::string("points"), points_strip(context), Cell(), Cell()});
  for (const Chosen& one : rules) {
    if (!one.reached) continue;
    table.add_row({name_of(one.choice), strip(context, task, one.classifier),
                   share_right(context, task, one.classifier, 0.5, fine), wrong_points(context, task, one.classifier)});
  }
  table.notes = {
      "A letter is the class predicted in that direction: small where it is right, capital where it is wrong. points: "
      "how many of the context are there.",
      "right: share of the circle, every class counted alike; wrong points: of the context's own " +
          std::to_string(task.context_length) +
          ", if the query is one of them. Each rule at its best parameters; --context N draws another."};
  std::vector<Table> tables{std::move(table)};
  if (o.output.format != Format::table) tables.push_back(directions_table(context, task, rules));
  tables.push_back(shares_table(run, task, rules));
  tables.push_back(referee_table(run, {2}));
  return tables;
}

}  // namespace incontext::examples::classify
