#include "examples/temperature/situation.hpp"

#include <incontext/baselines/ridge_risk.hpp>
#include <incontext/regression/centered_ridge_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/linear_attention_error.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/regression/trained_attention.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "examples/support/controls.hpp"
#include "examples/support/render.hpp"

namespace incontext::examples::temperature {

namespace {

statistics::Theory with_estimate(const numerics::Quadrature<double>& error) {
  return {error.value, error.error_estimate};
}

ErrorTheory of_parabola(const Parabola& error) {
  const double optimal = error.optimal_temperature();
  return {.exact = [error](double t) { return theory_at(error, t); },
          .optimal = std::isnan(optimal) ? INFINITY : optimal,
          .limit = error.minimum()};
}

/// A function of the temperature that computes no value twice.
template <class Value>
std::function<Value(double)> remembered(std::function<Value(double)> function) {
  return [function, values = std::make_shared<std::map<double, Value>>()](double temperature) {
    auto found = values->find(temperature);
    if (found == values->end()) found = values->emplace(temperature, function(temperature)).first;
    return found->second;
  };
}

/// What attention errs as the temperature grows, where softmax and its approximation are the same.
double without_scores(const Situation& at, regression::QueryToken query) {
  Attention silent = at.attention;
  silent.key_query.setZero();
  return regression::softmax_error(silent, at.task, at.context_length, scoring::Softmax<double>{1}, query).value;
}

/// The best temperature of `error`, about `guess`; infinity if it is no better than none.
double best_temperature(const std::function<double(double)>& error, double guess, double limit) {
  const double start = std::isfinite(guess) && guess > 0 ? guess : 1;
  const auto best =
      regression::minimize_softmax_error(error, regression::SearchRange<double>{start / 1000, start, start * 1e6});
  return best.error < limit * (1 - 1e-9) && best.parameter < start * 1e5 ? best.parameter : INFINITY;
}

ErrorTheory of_softmax(const Situation& at, regression::QueryToken query) {
  const bool included = query == regression::QueryToken::included;
  const auto exact = [at, query](double t) {
    return with_estimate(
        regression::softmax_error(at.attention, at.task, at.context_length, scoring::Softmax<double>{t}, query));
  };
  ErrorTheory theory;
  bool is_known = true;
  if (included) {
    try {
      exact(1);
      theory.limit = without_scores(at, query);
    } catch (const std::invalid_argument&) {
      is_known = false;
    }
  } else {
    theory.limit = without_scores(at, query);
  }
  double guess = 1;
  try {
    const Parabola approximate =
        regression::generalization_error(at.attention, at.task, at.context_length, {.query = query});
    theory.beside = [approximate](double t) { return approximate(t); };
    guess = theory.approximate_optimal = approximate.optimal_temperature();
    if (!is_known) theory.limit = approximate.constant;
  } catch (const std::invalid_argument&) {  // the query included, with means
  }
  if (theory.beside) theory.optimal = theory.approximate_optimal;
  if (!is_known) return theory;
  theory.exact = exact;
  theory.optimal = best_temperature([&](double t) { return exact(t).value; }, guess, theory.limit);
  return theory;
}

}  // namespace

ErrorTheory parabola_theory(const Parabola& exact, const Parabola& beside) {
  ErrorTheory theory = of_parabola(exact);
  theory.beside = [beside](double t) { return beside(t); };
  return theory;
}

ErrorTheory softmax_theory(std::function<statistics::Theory(double)> exact, std::function<double(double)> beside,
                           const Parabola& approximate, double limit) {
  ErrorTheory theory{.beside = remembered<double>(std::move(beside)), .limit = limit};
  theory.optimal = theory.approximate_optimal = approximate.optimal_temperature();
  if (!exact) return theory;
  exact = remembered<statistics::Theory>(std::move(exact));
  theory.optimal = best_temperature([&](double t) { return exact(t).value; }, theory.approximate_optimal, limit);
  theory.exact = std::move(exact);
  return theory;
}

ErrorTheory theory_of(const Situation& at, const Reading& reading) {
  if (reading.scoring == ScoringChoice::softmax) return of_softmax(at, reading.convention.query);
  if (reading.scoring == ScoringChoice::linear) {
    if (reading.convention.query == regression::QueryToken::included) {
      throw_input_error("--query", "has no exact theory with linear attention", "included", "excluded");
    }
    return of_parabola(regression::linear_attention_error(at.attention, at.task, at.context_length));
  }
  const Parabola exact = regression::generalization_error(at.attention, at.task, at.context_length, reading.convention);
  if (reading.convention.query == regression::QueryToken::included) return of_parabola(exact);
  return parabola_theory(exact, regression::generalization_error_leading_order(at.attention, at.task, at.context_length,
                                                                               reading.convention.offset));
}

double softmax_optimal_temperature(const Situation& at) {
  return of_softmax(at, regression::QueryToken::excluded).optimal;
}

std::vector<NamedTemperature> named_temperatures(std::vector<double> grid, const ErrorTheory& theory) {
  std::vector<NamedTemperature> result;
  for (const double temperature : grid) {
    if (temperature != 1) result.push_back({"attention", temperature});
  }
  result.push_back({"attention, τ = 1", 1});
  if (theory.exact && theory.approximate_optimal > 0 && std::isfinite(theory.approximate_optimal)) {
    result.push_back({"attention, τ* of approx.", theory.approximate_optimal});
  }
  if (!std::isnan(theory.optimal)) {
    result.push_back({theory.exact ? "attention, τ*" : "attention, τ* of approx.", theory.optimal});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.temperature < b.temperature; });
  return result;
}

std::vector<double> values_of(const std::vector<NamedTemperature>& named) {
  std::vector<double> values;
  for (const NamedTemperature& one : named) {
    if (std::isfinite(one.temperature)) values.push_back(one.temperature);
  }
  return values;
}

std::string no_optimum_reason(double limit) {
  return "no positive temperature is optimal: the error falls to " + in_words(limit) + " as it grows";
}

statistics::Theory theory_at(const Parabola& error, double temperature) {
  const double terms = std::abs(error.constant) + 2 * std::abs(error.linear) / temperature +
                       std::abs(error.quadratic) / temperature / temperature;
  constexpr double each = 16 * std::numeric_limits<double>::epsilon();
  return {error(temperature), each * terms};
}

Table comparison_table(std::string title, std::vector<Column> prefix, const Reading& reading) {
  const bool softmax = reading.scoring == ScoringChoice::softmax;
  Table table{.title = std::move(title), .columns = std::move(prefix)};
  table.columns.push_back({"predictor"});
  table.columns.push_back({.name = "temperature", .digits = 5});
  std::vector<Column> compared = comparison_columns();
  compared[1].heading = "for large d, l";  // the references'
  compared.insert(compared.begin() + 1, {.name = softmax ? "approximate_softmax" : "leading_order",
                                         .heading = softmax ? "approx. softmax" : "leading order",
                                         .decimals_as = 1,
                                         .in_text = InText::audit});
  compared.push_back({.name = softmax ? "approximate_softmax_z" : "leading_order_z",
                      .heading = softmax ? "z approx." : "z leading",
                      .style = Style::two_decimals,
                      .in_text = InText::audit});
  compared.push_back({.name = "excess", .heading = "beyond noise", .decimals_as = 1});
  for (Column& column : compared) table.columns.push_back(std::move(column));
  return table;
}

void add_row(Table& table, std::vector<Cell> prefix, std::vector<Cell> comparison) {
  prefix.insert(prefix.end(), std::make_move_iterator(comparison.begin()), std::make_move_iterator(comparison.end()));
  table.add_row(std::move(prefix));
}

namespace {

/// A comparison with the cells of the theory beside it, and what the simulation exceeds the noise by.
std::vector<Cell> with_beside(std::vector<Cell> comparison, Cell beside, Cell beside_z, Cell excess) {
  comparison.insert(comparison.begin() + 1, std::move(beside));
  comparison.push_back(std::move(beside_z));
  comparison.push_back(std::move(excess));
  return comparison;
}

/// What an error exceeds the noise by: the simulated one, or without it the theory's.
Cell excess_of(const statistics::Estimate& estimate, const std::optional<double>& theory, const LinearTask& task) {
  if (estimate.count > 0) return estimate.mean - task.noise_variance();
  return theory ? Cell(*theory - task.noise_variance()) : Cell();
}

/// Whether a covariance is a multiple of the identity.
bool is_isotropic(const Matrix& covariance) {
  return covariance == covariance(0, 0) * Matrix::Identity(covariance.rows(), covariance.cols());
}

/// The exact risk of the posterior mean after so many examples, where it is known.
std::optional<statistics::Theory> exact_posterior_risk(const LinearTask& task, std::int64_t examples) {
  constexpr std::int64_t most_examples = 1'000'000;
  if (!task.input_mean().isZero(0) || !is_isotropic(task.input_covariance()) || !is_isotropic(task.task_covariance()) ||
      examples > most_examples) {
    return std::nullopt;
  }
  const double variance = task.input_covariance()(0, 0) * task.task_covariance()(0, 0);
  const double risk = baselines::bayes_risk(baselines::WishartSpectrum<double>(examples, task.dimension()),
                                            baselines::TaskVariances<double>{task.noise_variance(), variance});
  return statistics::Theory{risk, 1e-11 * risk};
}

}  // namespace

std::string rejections_note(const Table& table, const Reading& reading) {
  if (reading.scoring == ScoringChoice::softmax) {
    return examples::rejections_note(table, "Approximate softmax taken for softmax");
  }
  const bool removed = reading.convention.offset == regression::Offset::removed;
  return examples::rejections_note(
      table, removed ? "Leading order (Theorem 4.2 as the paper states it, offset removed: an \"asymptotic "
                       "characterization\", which drops a factor (l - 1)/l)"
                     : "Leading order, as Theorem 4.2 but with the offset kept");
}

Estimates add_attention_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const Situation& at,
                             const ErrorTheory& theory, const std::vector<NamedTemperature>& named,
                             const Reading& reading) {
  const Estimates simulated = run.simulator.errors(at.attention, at.task, at.context_length, values_of(named), reading);
  std::size_t next = 0;
  for (const NamedTemperature& one : named) {
    std::vector<Cell> cells = prefix;
    const bool exists = std::isfinite(one.temperature);
    cells.insert(cells.end(), {one.name, exists ? Cell(one.temperature) : Cell()});
    if (!exists) {
      add_row(table, std::move(cells),
              with_beside(run.judgment.not_judged(one.temperature, {}, no_optimum_reason(theory.limit)), Cell(), Cell(),
                          Cell()));
      continue;
    }
    const statistics::Estimate& estimate = simulated[next++];
    const auto exact = theory.exact ? std::optional(theory.exact(one.temperature).value) : std::nullopt;
    std::vector<Cell> comparison =
        theory.exact ? run.judgment.judged(theory.exact(one.temperature), estimate) : Judgment::shown({}, estimate);
    Cell beside, beside_z;
    if (theory.beside) {
      const double value = theory.beside(one.temperature), z = (estimate.mean - value) / estimate.standard_error;
      beside = value;
      if (estimate.count > 1 && std::isfinite(z)) beside_z = z;
    }
    add_row(table, std::move(cells),
            with_beside(std::move(comparison), std::move(beside), std::move(beside_z),
                        excess_of(estimate, exact, at.task)));
  }
  return simulated;
}

std::string references_note(const Table& table) {
  const auto is_best_layer = [](const std::vector<Cell>& row) {
    return std::any_of(row.begin(), row.end(), [](const Cell& cell) {
      const auto* name = std::get_if<std::string>(&cell);
      return name != nullptr && *name == best_layer_name;
    });
  };
  const bool has_best_layer = std::any_of(table.rows.begin(), table.rows.end(), is_best_layer);
  return "ridge (11): ridge regression on the centered context, with the true prior and noise. posterior mean: of the "
         "whole context; no predictor errs less. Both have 1/64 of the trials, at least 16. " +
         std::string(has_best_layer ? "best layer: the layer that errs least on this law at τ = 1. " : "") +
         "answer 0: the answer 0 to every query. Beyond noise: the simulated error less the noise; without a "
         "simulation, the theory "
         "less the noise.";
}

References add_reference_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const LinearTask& task,
                              std::int64_t context_length, const Reading& reading, bool simulates) {
  const auto add = [&](const char* name, std::vector<Cell> comparison, Cell excess) {
    std::vector<Cell> cells = prefix;
    cells.insert(cells.end(), {name, std::monostate{}});
    add_row(table, std::move(cells), with_beside(std::move(comparison), Cell(), Cell(), std::move(excess)));
  };
  // Of n examples without their means: n - 1 degrees of freedom.
  const auto add_simulated = [&](const char* name, const statistics::Estimate& simulated, std::int64_t freedom) {
    const auto exact = exact_posterior_risk(task, freedom);
    const auto limit = regression::centered_ridge_risk_equivalent(task, freedom + 1);
    const bool is_mean_kept = freedom == context_length && !task.input_mean().isZero(0);
    add(name,
        exact          ? run.judgment.judged(*exact, simulated)
        : is_mean_kept ? Judgment::shown({}, simulated)
                       : Judgment::shown(limit.risk + limit.mean_excess, simulated),
        excess_of(simulated, exact ? std::optional(exact->value) : std::nullopt, task));
  };
  References references;
  if (task.noise_variance() > 0 && simulates) {
    references.ridge = run.simulator.centered_ridge_risk(task, context_length);
    references.posterior = run.simulator.posterior_risk(task, context_length);
    add_simulated(ridge_name, references.ridge, context_length - 1);
    add_simulated("posterior mean", references.posterior, context_length);
  }
  const auto add_computed = [&](const char* name, double error) {
    std::vector<Cell> computed(comparison_columns().size());
    computed.front() = error;
    add(name, std::move(computed), error - task.noise_variance());
  };
  for (const auto& [name, freedom] : {std::pair{ridge_name, context_length - 1}, {"posterior mean", context_length}}) {
    if (simulates || !(task.noise_variance() > 0)) continue;
    if (const auto exact = exact_posterior_risk(task, freedom)) add_computed(name, exact->value);
  }
  const bool has_no_means = task.input_mean().isZero(0) && task.task_mean().isZero(0);
  const bool is_usual = reading.scoring == ScoringChoice::approximate_softmax &&
                        reading.convention.query == regression::QueryToken::excluded &&
                        reading.convention.offset == regression::Offset::removed;
  if (is_usual && has_no_means) {
    const auto best = regression::trained_attention(task, context_length);
    add_computed(best_layer_name, regression::generalization_error(best, task, context_length, reading.convention)(1));
  }
  add_computed("answer 0", task.noise_variance() + (task.input_second_moment() * task.task_second_moment()).trace());
  return references;
}

std::string scoring_in_words(ScoringChoice scoring) {
  return scoring == ScoringChoice::softmax  ? "softmax"
         : scoring == ScoringChoice::linear ? "linear attention"
                                            : "approximate softmax";
}

std::string unusual_in_words(const TemperatureOptions& o) {
  std::string words = examples::unusual_in_words(o.law);
  const auto add = [&words](bool unusual, const std::string& what) { words += unusual ? ", " + what : ""; };
  add(o.reading.convention.query == regression::QueryToken::included, "query included");
  add(o.reading.convention.offset == regression::Offset::removed, "offset removed");
  add(o.reading.estimator == simulate::Estimator::conditional, "conditional trials");
  add(o.reading.estimator == simulate::Estimator::sufficient_statistics, "sufficient-statistics trials");
  return words;
}

std::string in_words(double value) {
  return std::isfinite(value) ? detail::number_text(value, std::chars_format::general, 5)
                              : detail::non_finite_word(value);
}

std::string percent(double share) { return detail::number_text(100 * share, std::chars_format::general, 3) + "%"; }

std::string gain_note(const std::string& law, const ErrorTheory& error) {
  const auto value = [&](double t) { return error.exact ? error.exact(t).value : error.beside(t); };
  if (!std::isfinite(error.optimal)) {
    return law + ": no positive temperature helps; the error falls to " + in_words(error.limit) + " as it grows.";
  }
  const double at_one = value(1), best = value(error.optimal);
  return law + ": τ* = " + in_words(error.optimal) + "; error " + in_words(at_one) + " at τ = 1, " + in_words(best) +
         " at τ*, " + percent((at_one - best) / at_one) + " less.";
}

}  // namespace incontext::examples::temperature
