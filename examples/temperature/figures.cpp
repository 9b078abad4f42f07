#include "examples/temperature/figures.hpp"

#include <incontext/regression/optimal_temperature.hpp>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "examples/support/closed_forms.hpp"
#include "examples/temperature/optimum.hpp"

namespace incontext::examples::temperature {

namespace {

/// A quantity of the law, the law with that quantity changed, and the values it takes if --shifts gives none.
struct Shift {
  Column column;
  std::vector<double> values;
  std::function<LinearTask(const LinearTask&, double)> apply;
};

Shift input_shift() {
  return {{.name = "input_covariance_scale", .heading = "input scale", .digits = 4, .style = Style::shortest},
          {0.25, 0.5, 1, 2, 4},
          [](const LinearTask& task, double scale) { return task.with_input_covariance_scaled(scale); }};
}

Shift task_shift() {
  return {{.name = "task_covariance_scale", .heading = "task scale", .digits = 4, .style = Style::shortest},
          {0.25, 0.5, 1, 2, 4},
          [](const LinearTask& task, double scale) { return task.with_task_covariance_scaled(scale); }};
}

Shift noise_shift() {
  return {{.name = "noise_variance", .heading = "noise", .digits = 4, .style = Style::shortest},
          {0.01, 0.1, 0.5, 1, 2, 4},
          [](const LinearTask& task, double variance) { return task.with_noise_variance(variance); }};
}

Shift mean_shift() {
  return {{.name = "input_mean_length", .heading = "input mean", .digits = 4, .style = Style::shortest},
          {0.5, 1, 2, 4},
          [](const LinearTask& task, double length) {
            return task.with_input_mean(mean_of_length(length, task.dimension()));
          }};
}

class Figures {
 public:
  Figures(Run& run, LinearTask training)
      : run_(run), options_(run.options), training_(std::move(training)), test_(shifted(training_, run.options)) {}

  std::vector<Table> make(const std::string& name) {
    run_.simulator.announce("figure " + name);
    const std::map<std::string, std::function<std::vector<Table>()>> makers{
        {"2a", [this] { return by_context_length("Figure 2a: error against context length", test_); }},
        {"2b",
         [this] { return by_shift("Figure 2b: error against the inputs' covariance", input_shift(), {length()}); }},
        {"2c",
         [this] {
           return by_shift("Figure 2c: error against the tasks' covariance", task_shift(), lengths({20, 40, 100, 400}));
         }},
        {"3a",
         [this] { return by_context_length("Figure 3a: error against context length under more noise", noisy()); }},
        {"3b", [this] { return by_shift("Figure 3b: error against noise", noise_shift(), {length()}); }},
        {"3c", [this] { return optimum_by_shift("Figure 3c: optimal temperature against noise", {noise_shift()}); }},
        {"6", [this] { return optimum_by_shift("Figure 6: optimal temperature and heuristics", three_shifts()); }},
        {"7", [this] { return heuristic_errors(); }},
        {"mean-shift", [this] { return mean_shifts(); }}};
    return makers.at(name)();
  }

 private:
  std::int64_t length() const { return options_.simulation.context_length; }
  std::vector<std::int64_t> lengths(const std::vector<std::int64_t>& defaults) const {
    const std::vector<std::int64_t>& used = options_.context_lengths.empty() ? defaults : options_.context_lengths;
    run_.arguments["context-lengths"] = used;
    return used;
  }
  std::vector<double> values(const Shift& shift) const {
    return options_.shifts.empty() ? shift.values : options_.shifts;
  }
  static std::vector<Shift> three_shifts() {
    std::vector<Shift> shifts{input_shift(), task_shift(), noise_shift()};
    shifts[2].values = {0.01, 0.1, 1, 4};
    return shifts;
  }
  /// The test noise of figure 3a: the user's value, or ten times that of pretraining.
  LinearTask noisy() const {
    return options_.has_test_noise ? test_ : test_.with_noise_variance(10 * training_.noise_variance());
  }

  Situation at(const LinearTask& test, std::int64_t context_length) const {
    return {regression::pretrained_attention(training_, context_length), test, context_length};
  }

  std::string setting(bool with_length) const {
    return ": d = " + std::to_string(training_.dimension()) +
           (with_length ? ", l = " + std::to_string(length()) : std::string()) + ", pretrained with noise " +
           in_words(training_.noise_variance()) + unusual_in_words(options_);
  }

  /// τ = 1 and τ*, and below them the Bayes ridge.
  void add_rows(Table& table, const std::vector<Cell>& prefix, const Situation& situation) {
    const Parabola error = error_beside(situation, options_.reading);
    add_attention_rows(table, run_, prefix, situation, named_temperatures({}, error.optimal_temperature()),
                       options_.reading);
    add_bayes_row(table, run_, prefix, situation.task, situation.context_length);
  }

  std::vector<Table> by_context_length(const std::string& title, const LinearTask& test) {
    Table table = comparison_table(title + setting(false) + ", tested with noise " + in_words(test.noise_variance()),
                                   {{.name = "context_length", .heading = "l"}});
    run_.arguments["test-noise-variance"] = test.noise_variance();
    for (const std::int64_t l : lengths({10, 20, 40, 100, 200, 400})) add_rows(table, {l}, at(test, l));
    table.notes = {bayes_note, common_draws_note};
    return {std::move(table)};
  }

  std::vector<Table> by_shift(const std::string& title, const Shift& shift,
                              const std::vector<std::int64_t>& context_lengths) {
    const bool several = context_lengths.size() > 1;
    std::vector<Column> prefix{shift.column};
    if (several) prefix.insert(prefix.begin(), {.name = "context_length", .heading = "l"});
    Table table = comparison_table(title + setting(!several), std::move(prefix));
    for (const std::int64_t l : context_lengths) {
      for (const double value : values(shift)) {
        std::vector<Cell> cells{value};
        if (several) cells.insert(cells.begin(), l);
        add_rows(table, cells, at(shift.apply(test_, value), l));
      }
    }
    table.notes = {bayes_note, common_draws_note};
    return {std::move(table)};
  }

  /// Equation (22) for a law that need not be isotropic: m and b are means over directions, as they are in the
  /// isotropic case.
  double corrected(const Situation& situation, double ratio) const {
    const auto d = static_cast<double>(situation.task.dimension());
    return regression::corrected_moment_ratio<double>(
        ratio,
        {.key_query_scale = situation.attention.key_query.trace() / d, .label_value = situation.attention.label_value},
        {.dimension = situation.task.dimension(),
         .task_variance = situation.task.task_covariance().trace() / d,
         .noise_variance = situation.task.noise_variance()},
        situation.context_length);
  }

  std::vector<Table> optimum_by_shift(const std::string& title, const std::vector<Shift>& shifts) {
    std::vector<Table> tables;
    for (const Shift& shift : shifts) {
      Table table{.title = title + setting(true), .columns = {shift.column}, .key_columns = 1};
      table.columns.push_back({.name = "heuristic", .digits = 5});
      table.columns.push_back({.name = "corrected_heuristic", .heading = "corrected", .digits = 5});
      for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
      for (const double value : values(shift)) {
        const Situation situation = at(shift.apply(test_, value), length());
        const Parabola error = error_beside(situation, options_.reading);
        const double optimal = error.optimal_temperature();
        const double ratio = regression::moment_ratio(situation.attention, situation.task).ratio;
        std::vector<Cell> cells{value, ratio, corrected(situation, ratio)};
        if (std::isfinite(optimal)) {
          const SimulatedOptimum simulated = simulated_optimum(run_, situation, optimal);
          add_row(table, std::move(cells), run_.judgment.judged(optimal, simulated.temperature, simulated.trials));
        } else {
          add_row(table, std::move(cells), run_.judgment.not_judged(optimal, {}, no_optimum_reason(error)));
        }
      }
      table.notes.push_back(
          "Theory: τ* of the exact error. Simulation: vertex of the simulated errors, jackknife over " +
          std::to_string(optimum_batches) + " batches. Heuristic: moment ratio of the scores.");
      tables.push_back(std::move(table));
    }
    return tables;
  }

  std::vector<Table> heuristic_errors() {
    std::vector<Table> tables;
    for (const Shift& shift : three_shifts()) {
      Table table = comparison_table("Figure 7: error at the heuristic temperatures" + setting(true), {shift.column});
      for (const double value : values(shift)) {
        const Situation situation = at(shift.apply(test_, value), length());
        const double optimal = error_beside(situation, options_.reading).optimal_temperature();
        const double ratio = regression::moment_ratio(situation.attention, situation.task).ratio;
        std::vector<NamedTemperature> named{
            {"τ = 1", 1}, {"heuristic", ratio}, {"corrected heuristic", corrected(situation, ratio)}};
        named.push_back({"τ*", optimal});
        add_attention_rows(table, run_, {value}, situation, named, options_.reading);
      }
      table.notes = {common_draws_note};
      tables.push_back(std::move(table));
    }
    return tables;
  }

  std::vector<Table> mean_shifts() {
    const Shift shift = mean_shift();
    Table table =
        comparison_table("Mean shift (Remark 3.4): error against the length of the inputs' mean" + setting(true),
                         {shift.column, {"scoring"}});
    const std::vector<std::pair<std::string, ScoringChoice>> scorings{
        {"approximate", ScoringChoice::approximate_softmax}, {"linear", ScoringChoice::linear}};
    std::vector<double> lengths_of_mean = values(shift);
    if (options_.shifts.empty()) lengths_of_mean.insert(lengths_of_mean.begin(), 0);
    for (const double value : lengths_of_mean) {
      const Situation situation = at(shift.apply(test_, value), length());
      for (const auto& [name, scoring] : scorings) {
        Reading reading = options_.reading;
        reading.scoring = scoring;
        const double optimal = error_beside(situation, reading).optimal_temperature();
        add_attention_rows(table, run_, {value, name}, situation, named_temperatures({}, optimal), reading);
      }
    }
    table.notes = {common_draws_note};
    return {std::move(table)};
  }

  Run& run_;
  const TemperatureOptions& options_;
  LinearTask training_;
  LinearTask test_;
};

}  // namespace

std::vector<Table> figure_tables(Run& run, const LinearTask& training) {
  return Figures(run, training).make(run.options.figure);
}

}  // namespace incontext::examples::temperature
