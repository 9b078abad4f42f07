#include "examples/temperature/figures.hpp"

#include <incontext/regression/centered_ridge_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/moment_ratio.hpp>
#include <incontext/regression/optimal_temperature.hpp>
#include <incontext/regression/pretrained_attention.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "examples/temperature/drawn_contexts.hpp"
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
          {0.01, 0.1, 1, 4, 10, 25, 100},
          [](const LinearTask& task, double variance) { return task.with_noise_variance(variance); }};
}

/// A covariance that is not a multiple of the one in pretraining: D^1/2 S D^1/2 with D of eigenvalues i^-decay, mean 1.
Shift decay_shift() {
  return {{.name = "input_eigenvalue_decay", .heading = "decay", .digits = 4, .style = Style::shortest},
          {0.5, 1, 2},
          [](const LinearTask& task, double decay) {
            const auto d = task.dimension();
            const Vector ranks = Vector::LinSpaced(d, 1, static_cast<double>(d));
            const Vector eigenvalues = ranks.array().pow(-decay);
            const Vector root = (eigenvalues / eigenvalues.mean()).cwiseSqrt();
            return task.with_input_covariance(root.asDiagonal() * task.input_covariance() * root.asDiagonal());
          }};
}

Shift task_mean_shift() {
  return {{.name = "task_mean_length", .heading = "task mean", .digits = 4, .style = Style::shortest},
          {0.5, 1, 2},
          [](const LinearTask& task, double length) {
            return task.with_task_mean(task.task_mean() + mean_of_length(length, task.dimension()));
          }};
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
      : run_(run), options_(run.options), training_(std::move(training)), test_(shifted(training_, run.options.law)) {}

  std::vector<Table> make(const std::string& name) {
    run_.simulator.announce("figure " + name);
    const std::map<std::string, std::function<std::vector<Table>()>> makers{
        {"2a",
         [this] { return joined(by_context_length("Figure 2a: error against context length", test_), near_ridge()); }},
        {"2b",
         [this] {
           return joined(
               by_shift("Figure 2b: error against the inputs' covariance", input_shift(), {length()}),
               by_shift("Figure 2b: error against the decay of the inputs' eigenvalues", decay_shift(), {length()}));
         }},
        {"2c",
         [this] {
           const std::vector<std::int64_t> used = lengths({20, 100, 400});
           return joined(by_shift("Figure 2c: error against the tasks' covariance", task_shift(), used),
                         by_shift("Figure 2c: error against the tasks' mean", task_mean_shift(), used));
         }},
        {"3a",
         [this] { return by_context_length("Figure 3a: error against context length under more noise", noisy()); }},
        {"3b", [this] { return by_shift("Figure 3b: error against noise", noise_shift(), {length()}); }},
        {"3c", [this] { return optimum_by_shift("Figure 3c: optimal temperature against noise", {noise_shift()}); }},
        {"6", [this] { return optimum_by_shift("Figure 6: optimal temperature and heuristics", four_shifts()); }},
        {"7", [this] { return heuristic_errors(); }},
        {"mean-shift", [this] { return mean_shifts(); }},
        {"scores", [this] { return joined(ratio_of_scores(input_shift()), ratio_of_scores(decay_shift())); }}};
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
  static std::vector<Shift> four_shifts() {
    std::vector<Shift> shifts{input_shift(), decay_shift(), task_shift(), noise_shift()};
    shifts[3].values = {0.01, 0.1, 1, 10, 100};
    return shifts;
  }
  static std::vector<Table> joined(std::vector<Table> tables, std::vector<Table> more) {
    std::move(more.begin(), more.end(), std::back_inserter(tables));
    return tables;
  }
  /// The test noise of figure 3a: the user's value, or ten times that of pretraining.
  LinearTask noisy() const {
    return options_.law.has_test_noise ? test_ : test_.with_noise_variance(10 * training_.noise_variance());
  }

  Situation at(const LinearTask& test, std::int64_t context_length) const {
    return {regression::pretrained_attention(training_, context_length), test, context_length};
  }

  std::string setting(bool with_length) const {
    return ": d = " + std::to_string(training_.dimension()) +
           (with_length ? ", l = " + std::to_string(length()) : std::string()) + ", pretrained with noise " +
           in_words(training_.noise_variance()) + unusual_in_words(options_);
  }

  /// What the simulation says about the ridge and about the error at a temperature.
  struct AgainstRidge {
    NamedTemperature named;
    double exact;
    statistics::Estimate attention, ridge;
  };

  /// τ = 1 and τ*, and below them what they are compared with. Returns the ridge beside the better of the two, where
  /// the error of that is known.
  std::optional<AgainstRidge> add_rows(Table& table, const std::vector<Cell>& prefix, const Situation& situation) {
    const ErrorTheory error = theory_of(situation, options_.reading);
    const std::vector<NamedTemperature> named = named_temperatures({}, error);
    const Estimates simulated = add_attention_rows(table, run_, prefix, situation, error, named, options_.reading);
    const statistics::Estimate ridge =
        add_reference_rows(table, run_, prefix, situation.task, situation.context_length, options_.reading).ridge;
    if (!error.exact || !std::isfinite(error.optimal) || ridge.count < 2) return std::nullopt;
    std::size_t best = 0;
    while (best + 1 < simulated.size() && named[best].temperature != error.optimal) ++best;
    return AgainstRidge{named[best], error.exact(named[best].temperature).value, simulated[best], ridge};
  }

  /// The paper says of Figure 2b that the optimal temperature restores alignment with the Bayes-optimal solution.
  void add_ridge_control(const std::string& place, const AgainstRidge& at) {
    run_.controls.add({"attention at τ* errs as much as the ridge (11)", place}, at.ridge.mean, at.exact, at.attention);
  }

  void add_notes(Table& table) const {
    table.notes.push_back(references_note(table));
    const std::string rejections = rejections_note(table, options_.reading);
    if (!rejections.empty()) table.audit_notes.push_back(rejections);
    table.draw_notes.push_back(common_draws_note);
    if (options_.reading.estimator == simulate::Estimator::sufficient_statistics) {
      table.draw_notes.push_back(estimator_note);
    }
  }

  /// What the least error exceeds the noise by, over what the ridge (11) exceeds it by.
  std::string excess_note(const LinearTask& test, std::int64_t longest) const {
    const double noise = test.noise_variance();
    const ErrorTheory theory = theory_of(at(test, longest), options_.reading);
    const double best = std::isfinite(theory.optimal) ? theory.exact(theory.optimal).value : theory.limit;
    const double ridge = regression::centered_ridge_risk_equivalent(test, longest).risk;
    const double signal = (test.input_covariance() * test.task_second_moment()).trace();
    return "Both tend to the noise; at l = " + std::to_string(longest) + " attention at τ* exceeds it by " +
           in_words((best - noise) / (ridge - noise)) +
           " times as much as the ridge (11). Without a shift and with the offset removed the limit of that is 1 + (1 "
           "+ 1/d) tr(R Σ)/σ² = " +
           in_words(1 + (1 + 1 / static_cast<double>(test.dimension())) * signal / noise) + ".";
  }

  std::vector<Table> by_context_length(const std::string& title, const LinearTask& test) {
    Table table = comparison_table(title + setting(false) + ", tested with noise " + in_words(test.noise_variance()),
                                   {{.name = "context_length", .heading = "l"}}, options_.reading);
    run_.arguments["test-noise-variance"] = test.noise_variance();
    const std::vector<std::int64_t> used = lengths({10, 20, 40, 100, 200, 400});
    for (const std::int64_t l : used) add_rows(table, {l}, at(test, l));
    add_notes(table);
    const bool shifted =
        !examples::unusual_in_words(options_.law).empty();  // then the error need not tend to the noise
    if (!shifted && test.noise_variance() > 0 && options_.reading.scoring == ScoringChoice::approximate_softmax) {
      table.notes.push_back(excess_note(test, *std::max_element(used.begin(), used.end())));
    }
    return {std::move(table)};
  }

  /// The ridge (11) and the posterior mean on drawn labels, beside their averages over labels; and Corollary 4.6, how
  /// fast attention comes near them. Nothing under a shift, to which neither applies.
  std::vector<Table> near_ridge() {
    const bool is_shifted = !examples::unusual_in_words(options_.law).empty();
    const bool is_usual = options_.reading.scoring == ScoringChoice::approximate_softmax &&
                          options_.reading.convention.query == regression::QueryToken::excluded &&
                          options_.reading.convention.offset == regression::Offset::removed;
    if (is_shifted || !is_usual || !(test_.noise_variance() > 0)) return {};
    Table table{.title = "The ridge (11), Lemma G.1, and the rate of Corollary 4.6" + setting(false),
                .columns = {{.name = "context_length", .heading = "l"}, {"quantity"}, {.name = "limit", .digits = 4}},
                .key_columns = 2};
    for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
    for (const std::int64_t l : {training_.dimension() + 1, 5 * training_.dimension()}) add_ridge_row(table, l);
    for (const std::int64_t l : {100 * training_.dimension(), 1000 * training_.dimension()}) add_rate_row(table, l);
    table.notes = {
        "C: a context's covariance over l examples, R = E w w^T; l C has l - 1 degrees of freedom.",
        "Ridge and posterior mean: the squared error on drawn tasks and labels, averaged over the query; theory: the "
        "mean of σ² + tr(Σ P) in contexts of their own, P the covariance given the context. ± error of the difference.",
        "Limit: what l (G(1) - σ²) tends to as l grows. That of the ridge tends to d σ² = " +
            in_words(static_cast<double>(test_.dimension()) * test_.noise_variance()) + "."};
    return {std::move(table)};
  }

  void add_ridge_row(Table& table, std::int64_t l) {
    const statistics::Estimate ridge = run_.simulator.centered_ridge_risk(test_, l);
    const DrawnContexts contexts = drawn_contexts(run_, test_, l);
    const auto add_drawn = [&](const char* name, statistics::Estimate drawn, const statistics::Estimate& averaged) {
      drawn.standard_error = std::hypot(drawn.standard_error, averaged.standard_error);
      const bool is_reached = averaged.count > 1 && drawn.count > 1;
      add_row(table, {l, name, Cell()},
              is_reached ? run_.judgment.judged({averaged.mean, averaged.rounding}, drawn) : unreached_comparison());
    };
    add_drawn(ridge_name, contexts.ridge_error, ridge);
    add_drawn("posterior mean", contexts.posterior_error, run_.simulator.posterior_risk(test_, l));
    const auto wishart = [&](double degrees) {  // tr E[C R C] if l C has that many degrees of freedom
      const Matrix &s = test_.input_covariance(), r = test_.task_second_moment();
      const double length = static_cast<double>(l);
      return degrees * ((degrees + 1) * (s * r * s).trace() + (r * s).trace() * s.trace()) / (length * length);
    };
    const auto length = static_cast<double>(l);
    const double second_moment = wishart(length - 1);
    add_row(table, {l, "E tr(C R C), Lemma G.1", Cell()},
            run_.judgment.judged({second_moment, 1e-9 * second_moment}, contexts.second_moment));
    run_.controls.add({"E tr(C R C) of inputs that are not centered", "l = " + std::to_string(l)}, wishart(length),
                      second_moment, contexts.second_moment);
    const double limit = regression::centered_ridge_risk_equivalent(test_, l).risk;
    run_.controls.add({"ridge (11): its limit of many dimensions", "l = " + std::to_string(l)}, limit, ridge.mean,
                      ridge);
  }

  void add_rate_row(Table& table, std::int64_t l) {
    const auto d = static_cast<double>(test_.dimension()), length = static_cast<double>(l);
    const double noise = test_.noise_variance();
    const Vector& mean = test_.input_mean();
    const Matrix &covariance = test_.input_covariance(), second = test_.task_second_moment();
    const double signal = (second * covariance).trace();
    const double limit =
        (d + mean.dot(covariance.llt().solve(mean))) * (signal + noise) + signal + mean.dot(second * mean);
    const Situation situation = at(test_, l);
    const auto rate = [&](double error) { return length * (error - noise); };
    const ErrorTheory theory = theory_of(situation, options_.reading);
    const double exact = rate(theory.exact(1).value), leading = rate(theory.beside(1));
    Reading reading = options_.reading;
    reading.estimator = simulate::Estimator::sufficient_statistics;  // takes no longer for long contexts
    statistics::Estimate simulated =
        run_.simulator.errors(situation.attention, situation.task, l, {1}, reading).front();
    simulated.mean = rate(simulated.mean);
    simulated.standard_error *= length;
    simulated.rounding *= length;
    add_row(table, {l, "l (G(1) - σ²)", limit}, run_.judgment.judged({exact, 1e-9 * exact}, simulated));
    run_.controls.add({"l (G(1) - σ²) of the leading order", "l = " + std::to_string(l)}, leading, exact, simulated);
  }

  std::vector<Table> by_shift(const std::string& title, const Shift& shift,
                              const std::vector<std::int64_t>& context_lengths) {
    const bool several = context_lengths.size() > 1;
    std::vector<Column> prefix{shift.column};
    if (several) prefix.insert(prefix.begin(), {.name = "context_length", .heading = "l"});
    Table table = comparison_table(title + setting(!several), std::move(prefix), options_.reading);
    for (const std::int64_t l : context_lengths) {
      for (const double value : values(shift)) {
        std::vector<Cell> cells{value};
        if (several) cells.insert(cells.begin(), l);
        const auto against_ridge = add_rows(table, cells, at(shift.apply(test_, value), l));
        const std::string length_text = several ? "l = " + std::to_string(l) + ", " : "";
        if (against_ridge) {
          add_ridge_control(length_text + shift.column.heading + " = " + in_words(value), *against_ridge);
        }
      }
    }
    add_notes(table);
    return {std::move(table)};
  }

  bool is_pretraining(const LinearTask& task) const {
    return task.input_covariance() == training_.input_covariance() && task.input_mean() == training_.input_mean() &&
           task.task_second_moment() == training_.task_second_moment() &&
           task.noise_variance() == training_.noise_variance();
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

  /// A rule's temperature and how far the simulated optimum is from it, in standard errors.
  static std::vector<Cell> rule_cells(double rule, const SimulatedOptimum* simulated) {
    if (simulated == nullptr) return {rule, Cell()};
    const double z = (simulated->temperature.mean - rule) / simulated->temperature.standard_error;
    return {rule, std::isfinite(z) ? Cell(z) : Cell()};
  }

  /// The heuristic, and the optimum of contexts a tenth shorter for the same attention: near misses of the optimum.
  void add_optimum_controls(const Shift& shift, double value, const Situation& situation, double ratio,
                            const SimulatedOptimum& found) {
    const auto optimum = [&](std::int64_t context_length) {
      return regression::generalization_error(situation.attention, situation.task, context_length,
                                              options_.reading.convention)
          .optimal_temperature();
    };
    const std::int64_t shorter = situation.context_length * 9 / 10;
    const double exact = optimum(situation.context_length);
    const std::string place = shift.column.heading + " = " + in_words(value);
    run_.controls.add({"the heuristic (20) is optimal", place}, ratio, exact, found.temperature);
    run_.controls.add({"τ* of the law of pretraining", place},
                      regression::generalization_error(situation.attention, training_, situation.context_length,
                                                       options_.reading.convention)
                          .optimal_temperature(),
                      exact, found.temperature);
    if (shorter < 2) return;
    run_.controls.add({"τ* of l = " + std::to_string(shorter), place}, optimum(shorter), exact, found.temperature);
  }

  std::vector<Table> optimum_by_shift(const std::string& title, const std::vector<Shift>& shifts) {
    std::vector<Table> tables;
    for (const Shift& shift : shifts) {
      Table table{.title = title + setting(true), .columns = {shift.column}, .key_columns = 1};
      for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
      for (const std::string rule : {"heuristic", "corrected"}) {
        table.columns.push_back(
            {.name = rule == "corrected" ? "corrected_heuristic" : rule, .heading = rule, .digits = 5});
        table.columns.push_back({.name = rule + "_z", .heading = "z " + rule, .style = Style::two_decimals});
      }
      table.columns.push_back({.name = "softmax", .heading = "softmax", .digits = 5});
      for (const double value : values(shift)) {
        const Situation situation = at(shift.apply(test_, value), length());
        const Parabola error = regression::generalization_error(situation.attention, situation.task,
                                                                situation.context_length, options_.reading.convention);
        const double optimal = error.optimal_temperature();
        const double ratio = regression::moment_ratio(situation.attention, situation.task).ratio;
        std::optional<SimulatedOptimum> simulated;
        if (std::isfinite(optimal)) simulated = simulated_optimum(run_, situation, optimal);
        const SimulatedOptimum* found = simulated ? &*simulated : nullptr;
        std::vector<Cell> cells{value};
        std::vector<Cell> comparison = simulated
                                           ? run_.judgment.judged(optimal, simulated->temperature, simulated->trials)
                                           : run_.judgment.not_judged(optimal, {}, no_optimum_reason(error.minimum()));
        for (const double rule : {ratio, corrected(situation, ratio)}) {
          for (Cell& cell : rule_cells(rule, found)) comparison.push_back(std::move(cell));
        }
        if (simulated && value == values(shift).back())
          add_optimum_controls(shift, value, situation, ratio, *simulated);
        if (simulated && is_pretraining(situation.task)) {
          run_.controls.add({"τ = 1 is optimal without a shift", shift.column.heading + " = " + in_words(value)}, 1,
                            optimal, simulated->temperature);
        }
        const double softmax = softmax_optimal_temperature(situation);
        comparison.push_back(std::isfinite(softmax) ? Cell(softmax) : Cell());
        add_row(table, std::move(cells), std::move(comparison));
      }
      table.notes.push_back(
          "Theory: τ* of the exact error. Heuristic: moment ratio of the scores, (20); corrected: (22), which is τ* "
          "itself where all covariances are multiples of I.");
      table.draw_notes.push_back("Simulation: vertex of the simulated errors, jackknife over " +
                                 std::to_string(optimum_batches) + " batches. |z| > 5 rejects a rule.");
      table.notes.push_back("Softmax: τ* of true softmax, exact, the query not among the keys.");
      tables.push_back(std::move(table));
    }
    return tables;
  }

  std::vector<Table> heuristic_errors() {
    std::vector<Table> tables;
    for (const Shift& shift : four_shifts()) {
      Table table = comparison_table("Figure 7: error at the heuristic temperatures" + setting(true), {shift.column},
                                     options_.reading);
      for (const double value : values(shift)) {
        const Situation situation = at(shift.apply(test_, value), length());
        const ErrorTheory error = theory_of(situation, options_.reading);
        const double ratio = regression::moment_ratio(situation.attention, situation.task).ratio;
        const double by_hand = corrected(situation, ratio);
        std::vector<NamedTemperature> named{{"τ = 1", 1}, {"heuristic", ratio}};
        const bool same = std::abs(by_hand / error.optimal - 1) < 1e-12;
        if (!same) named.push_back({"corrected heuristic", by_hand});
        named.push_back({same ? "τ*, corrected heuristic" : "τ*", error.optimal});
        add_attention_rows(table, run_, {value}, situation, error, named, options_.reading);
        constexpr std::int64_t largest_dimension = 128;  // these rows are many, and a trial takes d^3 operations
        add_reference_rows(table, run_, {value}, situation.task, situation.context_length, options_.reading,
                           situation.task.dimension() <= largest_dimension);
      }
      add_notes(table);
      tables.push_back(std::move(table));
    }
    return tables;
  }

  /// Appendix J: the moment ratio is estimated from scores that are measured.
  std::vector<Table> ratio_of_scores(const Shift& shift) {
    Table table{.title = "Appendix J: the moment ratio of drawn scores: d = " + std::to_string(training_.dimension()) +
                         ", l = " + std::to_string(length()) + ", pretrained with noise " +
                         in_words(training_.noise_variance()) + examples::unusual_in_words(options_.law),
                .columns = {shift.column},
                .key_columns = 1};
    for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
    for (const double value : values(shift)) {
      const Situation situation = at(shift.apply(test_, value), length());
      const DrawnScores drawn = drawn_scores(run_, situation, run_.judgment.size());
      const auto theory = regression::moment_ratio(situation.attention, situation.task);
      statistics::Estimate estimate;
      estimate.count = std::ssize(drawn.self_scores);
      if (estimate.count > 1) {
        const auto measured = regression::moment_ratio_of_queries(drawn.mean_squares, drawn.self_scores);
        estimate.mean = measured.ratio;
        estimate.standard_error = measured.standard_error;
      }
      add_row(table, {value},
              estimate.count > 1 ? run_.judgment.judged({theory.ratio, 1e-12 * theory.ratio}, estimate)
                                 : unreached_comparison());
      const Matrix ms = situation.attention.key_query * situation.task.input_covariance();
      const double self_square =
          theory.first_moment * theory.first_moment + (ms * ms).trace() + theory.second_moment;  // E z_q^2
      const auto l = static_cast<double>(length());
      run_.controls.add({"moment ratio with the query among the keys", shift.column.heading + " = " + in_words(value)},
                        (l * theory.second_moment + self_square) / (l + 1) / theory.first_moment, theory.ratio,
                        estimate);
    }
    table.draw_notes = {
        "Simulation: the mean over queries of the squared scores on the examples, over the mean score of a query on "
        "itself, as measured with --scores; every query has a context of its own, and ± is the jackknife's."};
    return {std::move(table)};
  }

  /// That a shift of the mean changes nothing, which the paper says of approximate softmax.
  void add_invariance(double& unshifted, ScoringChoice scoring, double value, const ErrorTheory& theory,
                      const Estimates& simulated, const std::vector<NamedTemperature>& named) {
    std::size_t one = 0;
    while (one + 1 < simulated.size() && named[one].temperature != 1) ++one;
    if (!theory.exact || simulated.empty()) return;
    const double exact = theory.exact(named[one].temperature).value;
    if (value == 0) unshifted = exact;
    if (value == 0 || !(unshifted > 0)) return;
    const std::string place = scoring_in_words(scoring) + ", input mean = " + in_words(value);
    run_.controls.add({"invariant: the error without a shift, τ = 1", place}, unshifted, exact, simulated[one]);
  }

  std::vector<Table> mean_shifts() {
    const Shift shift = mean_shift();
    Table table =
        comparison_table("Mean shift (Remark 3.4): error against the length of the inputs' mean" + setting(true),
                         {shift.column, {"scoring"}}, options_.reading);
    std::vector<double> lengths_of_mean = values(shift);
    std::map<ScoringChoice, double> unshifted;
    if (options_.shifts.empty()) lengths_of_mean.insert(lengths_of_mean.begin(), 0);
    for (const double value : lengths_of_mean) {
      const Situation situation = at(shift.apply(test_, value), length());
      for (const ScoringChoice scoring :
           {ScoringChoice::approximate_softmax, ScoringChoice::linear, ScoringChoice::softmax}) {
        Reading reading = options_.reading;
        reading.scoring = scoring;
        if (scoring == ScoringChoice::softmax) {
          reading.estimator = simulate::Estimator::literal;
          reading.convention.offset = regression::Offset::kept;
        }
        ErrorTheory theory = theory_of(situation, reading);
        theory.approximate_optimal = 0;
        if (scoring == ScoringChoice::softmax) theory.beside = {};  // a table of several maps has no column for it
        const std::vector<NamedTemperature> named = named_temperatures({}, theory);
        const Estimates simulated =
            add_attention_rows(table, run_, {value, scoring_in_words(scoring)}, situation, theory, named, reading);
        if (scoring != ScoringChoice::softmax)
          add_invariance(unshifted[scoring], scoring, value, theory, simulated, named);
      }
      add_reference_rows(table, run_, {value, Cell()}, situation.task, situation.context_length, options_.reading);
    }
    add_notes(table);
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
