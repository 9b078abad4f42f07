#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "examples/support/text.hpp"
#include "examples/train/layers.hpp"

namespace incontext::examples::train {

namespace {

using statistics::Estimate;

/// The saving in nats, by knowing the fewest sets by heart, that a simulation must resolve for the control to count.
constexpr double least_saved = 0.1;

/// How many standard errors the rise of the loss must be above that without shared sets to be called transience.
constexpr double transient_beyond = 3;

/// The courses of all seeds at one setting.
struct Courses {
  std::int64_t sets, hidden_ratio;
  std::vector<std::vector<TransiencePoint>> seeds;

  /// A number of every seed.
  template <class Number>
  Estimate over(const Number& number) const {
    std::vector<double> values;
    for (const auto& course : seeds) values.push_back(number(course));
    return estimate_of_runs(values);
  }

  std::string words() const {
    return (sets == 0 ? std::string("no shared sets") : std::to_string(sets) + " sets") + ", perceptron " +
           std::to_string(hidden_ratio) + " x";
  }
};

/// The measurement at which the loss on fresh contexts is least. It is chosen by `chosen_by`, and the loss there is read
/// from `fresh`, which are other contexts: a minimum over the noise of its own contexts would be too low.
std::size_t peak_of(const std::vector<TransiencePoint>& course) {
  const auto less = [](const TransiencePoint& a, const TransiencePoint& b) {
    return a.chosen_by.loss.mean < b.chosen_by.loss.mean;
  };
  return static_cast<std::size_t>(std::min_element(course.begin(), course.end(), less) - course.begin());
}

double best_of(const std::vector<TransiencePoint>& course) { return course[peak_of(course)].fresh.loss.mean; }

double rise_of(const std::vector<TransiencePoint>& course) { return course.back().fresh.loss.mean - best_of(course); }

/// What knowing the shared prototypes saves at the end.
double saved_of(const std::vector<TransiencePoint>& course) {
  return course.back().fresh.loss.mean - course.back().shared.loss.mean;
}

Courses courses_of(ClassificationParts& parts, std::int64_t dimension, std::int64_t sets, std::int64_t hidden_ratio) {
  const ClassificationOptions& o = parts.options;
  Courses all{sets, hidden_ratio, {}};
  for (std::int64_t i = 0; i < o.seeds && !parts.simulator.stopped(); ++i) {
    TransienceRun run{.task = {dimension, o.classes, o.context_length, simulate::ContextLaw::balanced, sets},
                      .hidden_ratio = hidden_ratio,
                      .batch = o.run.batch,
                      .steps = o.run.steps,
                      .rate = o.run.rate,
                      .seed = o.simulation.seed + static_cast<std::uint64_t>(i)};
    run.tested = o.simulation.trials;
    auto course = parts.simulator.train_transience(all.words() + ", seed " + std::to_string(run.seed), run);
    if (std::ssize(course) == run.measurements) all.seeds.push_back(std::move(course));
  }
  return all;
}

Table course_table(const ClassificationOptions& o, std::int64_t dimension) {
  return {
      .title =
          "Softmax attention and a perceptron, trained on shared sets of prototypes: d = " + std::to_string(dimension) +
          ", k = " + std::to_string(o.classes) + ", n = " + std::to_string(o.context_length),
      .columns = {{.name = "sets"},
                  {.name = "hidden_ratio", .heading = "perceptron"},
                  {.name = "step", .style = Style::shortest},
                  {.name = "fresh_loss", .heading = "loss, fresh", .digits = 4, .decimals_as = 1},
                  {.name = "fresh_loss_error", .heading = "± error", .decimals_as = 1},
                  {.name = "fresh_accuracy", .heading = "accuracy", .digits = 3, .decimals_as = 2},
                  {.name = "shared_loss", .heading = "loss, shared", .digits = 4, .decimals_as = 1},
                  {.name = "shared_loss_error", .heading = "± error", .decimals_as = 1},
                  {.name = "shared_accuracy", .heading = "accuracy", .digits = 3, .decimals_as = 2}},
      .notes =
          {"sets: how many sets of prototypes the contexts share; 0: every context has its own. fresh: contexts with "
           "prototypes of their own, which only the context tells; shared: held-out contexts with the shared sets.",
           "perceptron: its hidden width in units of d + k. Adam at the constant rate " + short_text(o.run.rate, 4) +
               ", batch " + std::to_string(o.run.batch) + ", means over " + std::to_string(o.seeds) + " seeds."},
      .key_columns = 3};
}

void add_course(Table& table, const Courses& all) {
  if (all.seeds.empty()) return;
  for (std::size_t i = 0; i < all.seeds.front().size(); ++i) {
    const auto at = [&](auto score, auto of) {
      return all.over([&](const auto& course) { return (course[i].*score.*of).mean; });
    };
    const Estimate fresh = at(&TransiencePoint::fresh, &ContextScore::loss);
    const Estimate shared = at(&TransiencePoint::shared, &ContextScore::loss);
    table.add_row({all.sets, all.hidden_ratio, all.seeds.front()[i].step, fresh.mean, finite_cell(fresh.standard_error),
                   at(&TransiencePoint::fresh, &ContextScore::accuracy).mean, shared.mean,
                   finite_cell(shared.standard_error), at(&TransiencePoint::shared, &ContextScore::accuracy).mean});
  }
}

/// The rises of a setting, each minus that of the same seed without shared sets.
struct Rise {
  std::int64_t sets;
  std::string at;
  bool learned;  ///< whether the loss on fresh contexts was ever below that of a guess
  std::vector<double> beyond;
};

Rise rise_beyond(const ClassificationOptions& o, std::int64_t dimension, const Courses& all, const Courses& own) {
  Rise rise{all.sets,
            "d = " + std::to_string(dimension) + ", " + all.words(),
            all.over(best_of).mean < std::log(static_cast<double>(o.classes)),
            {}};
  for (std::size_t i = 0; i < std::min(all.seeds.size(), own.seeds.size()); ++i) {
    rise.beyond.push_back(rise_of(all.seeds[i]) - rise_of(own.seeds[i]));
  }
  return rise;
}

/// What is claimed of the rise: it is no less than without shared sets.
void add_rise(ClassificationParts& parts, Table& table, std::int64_t dimension, std::int64_t hidden_ratio,
              const Rise& rise) {
  const Estimate beyond = estimate_of_runs(rise.beyond);
  const bool rises = beyond.mean > transient_beyond * beyond.standard_error;
  const bool is_judged = rise.learned && beyond.count >= fewest_values;
  const std::int64_t contexts = beyond.count * parts.options.simulation.trials;
  std::vector<Cell> row{dimension, rise.sets, hidden_ratio, is_judged ? Cell(std::string(">=")) : Cell()};
  for (Cell& cell : is_judged ? parts.judgment.judged_bound(">=", 0, beyond, contexts) : Judgment::shown({}, beyond)) {
    row.push_back(std::move(cell));
  }
  row.emplace_back(std::string(!rise.learned ? "never learned" : rises ? "yes" : "not seen"));
  table.add_row(std::move(row));
  // a shorter training need not reject it
  if (is_judged) parts.controls.add({"nothing is lost of learning in context", rise.at}, 0, beyond.mean, beyond);
}

/// Control: the largest number of sets is claimed to lose as much as the setting that loses most, seed by seed.
void add_control_of_many(ClassificationParts& parts, std::vector<Rise> rises) {
  std::erase_if(rises, [](const Rise& one) { return !one.learned || std::ssize(one.beyond) < fewest_values; });
  if (rises.size() < 2) return;
  const auto less = [](const Rise& a, const Rise& b) {
    return estimate_of_runs(a.beyond).mean < estimate_of_runs(b.beyond).mean;
  };
  const Rise& most = *std::max_element(rises.begin(), rises.end(), less);
  const Rise& many =
      *std::max_element(rises.begin(), rises.end(), [](const Rise& a, const Rise& b) { return a.sets < b.sets; });
  if (many.sets == most.sets) return;
  std::vector<double> differences;
  for (std::size_t i = 0; i < std::min(many.beyond.size(), most.beyond.size()); ++i) {
    differences.push_back(many.beyond[i] - most.beyond[i]);
  }
  const Estimate difference = estimate_of_runs(differences);
  parts.controls.add({"as much is lost as with " + std::to_string(most.sets) + " sets", many.at}, 0, difference.mean,
                     difference);
}

void add_end(ClassificationParts& parts, Table& table, std::int64_t dimension, const Courses& all, const Courses& own) {
  const auto step_of_peak = [](const auto& course) { return static_cast<double>(course[peak_of(course)].step); };
  const Estimate rise = all.over(rise_of), saved = all.over(saved_of);
  std::vector<Cell> row{dimension,
                        all.sets,
                        all.hidden_ratio,
                        finite_cell(all.over(step_of_peak).mean),
                        finite_cell(rise.mean),
                        finite_cell(rise.standard_error)};
  for (Cell& cell : all.sets == 0 ? parts.judgment.judged(0.0, saved) : Judgment::shown(0.0, saved)) {
    row.push_back(std::move(cell));
  }
  table.add_row(std::move(row));
  const std::vector<std::int64_t>& sets = parts.options.prototype_sets;
  if (all.sets != *std::min_element(sets.begin(), sets.end())) return;
  const std::string at = "d = " + std::to_string(dimension) + ", " + all.words();
  parts.controls.add({"shared prototypes are not known by heart", at}, 0, least_saved, saved);
  parts.controls.add({"a context's own prototypes are known as well", at}, saved.mean, 0, own.over(saved_of));
}

}  // namespace

std::vector<Table> transience_tables(ClassificationParts& parts) {
  const ClassificationOptions& o = parts.options;
  std::vector<Table> tables;
  Table ends{.title = "What is lost of learning in context, and what is known by heart",
             .columns = comparison_after({{"d"},
                                          {.name = "sets"},
                                          {.name = "hidden_ratio", .heading = "perceptron"},
                                          {.name = "peak_step", .heading = "best at step", .digits = 4},
                                          {.name = "rise", .heading = "loss above best", .digits = 3, .decimals_as = 1},
                                          {.name = "rise_error", .heading = "± error", .decimals_as = 1}}),
             .key_columns = 3};
  Table beyond{.title = "Rise of the loss above its least, minus that of the same seed without shared sets",
               .columns = comparison_after({{"d"},
                                            {.name = "sets"},
                                            {.name = "hidden_ratio", .heading = "perceptron"},
                                            {.name = "relation", .heading = " "}}),
               .key_columns = 3};
  beyond.columns.push_back({.name = "transient"});
  for (const std::int64_t d : o.dimensions) {
    Table course = course_table(o, d);
    for (const std::int64_t hidden_ratio : o.hidden_ratios) {
      const Courses own = courses_of(parts, d, 0, hidden_ratio);
      add_course(course, own);
      add_end(parts, ends, d, own, own);
      std::vector<Rise> rises;
      for (const std::int64_t sets : o.prototype_sets) {
        const Courses all = courses_of(parts, d, sets, hidden_ratio);
        add_course(course, all);
        add_end(parts, ends, d, all, own);
        rises.push_back(rise_beyond(o, d, all, own));
        add_rise(parts, beyond, d, hidden_ratio, rises.back());
      }
      add_control_of_many(parts, rises);
    }
    tables.push_back(std::move(course));
  }
  ends.notes = {
      "best at step: where the loss on fresh contexts is least, chosen by other contexts than those of the loss. loss "
      "above best: how much larger the loss is at the end.",
      "theory and simulation: the loss on fresh contexts less that on shared ones at the end. It is 0 where no sets "
      "are shared, and otherwise what is known by heart."};
  beyond.notes = {bounds_note,
                  "transient: yes if the difference exceeds " + short_text(transient_beyond, 2) +
                      " standard errors; never learned if the loss is never below log k, that of a guess."};
  tables.push_back(std::move(ends));
  tables.push_back(std::move(beyond));
  return tables;
}

}  // namespace incontext::examples::train
