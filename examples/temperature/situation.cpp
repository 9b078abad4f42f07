#include "examples/temperature/situation.hpp"

#include <incontext/regression/bayes_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/linear_attention_error.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_optimum.hpp>
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
  compared[1].heading = "for large d, l";  // the Bayes ridge's
  compared.insert(compared.begin() + 1, {.name = softmax ? "approximate_softmax" : "leading_order",
                                         .heading = softmax ? "approx. softmax" : "leading order",
                                         .decimals_as = 1,
                                         .in_text = InText::audit});
  compared.push_back({.name = softmax ? "approximate_softmax_z" : "leading_order_z",
                      .heading = softmax ? "z approx." : "z leading",
                      .style = Style::two_decimals,
                      .in_text = InText::audit});
  for (Column& column : compared) table.columns.push_back(std::move(column));
  return table;
}

void add_row(Table& table, std::vector<Cell> prefix, std::vector<Cell> comparison) {
  prefix.insert(prefix.end(), std::make_move_iterator(comparison.begin()), std::make_move_iterator(comparison.end()));
  table.add_row(std::move(prefix));
}

namespace {

/// A comparison with the cells of the theory beside it.
std::vector<Cell> with_beside(std::vector<Cell> comparison, Cell beside, Cell beside_z) {
  comparison.insert(comparison.begin() + 1, std::move(beside));
  comparison.push_back(std::move(beside_z));
  return comparison;
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
      add_row(
          table, std::move(cells),
          with_beside(run.judgment.not_judged(one.temperature, {}, no_optimum_reason(theory.limit)), Cell(), Cell()));
      continue;
    }
    const statistics::Estimate& estimate = simulated[next++];
    std::vector<Cell> comparison =
        theory.exact ? run.judgment.judged(theory.exact(one.temperature), estimate) : Judgment::shown({}, estimate);
    Cell beside, beside_z;
    if (theory.beside) {
      const double value = theory.beside(one.temperature), z = (estimate.mean - value) / estimate.standard_error;
      beside = value;
      if (estimate.count > 1 && std::isfinite(z)) beside_z = z;
    }
    add_row(table, std::move(cells), with_beside(std::move(comparison), std::move(beside), std::move(beside_z)));
  }
  return simulated;
}

statistics::Estimate add_bayes_row(Table& table, Run& run, const std::vector<Cell>& prefix, const LinearTask& task,
                                   std::int64_t context_length) {
  if (!(task.noise_variance() > 0)) return {};
  const auto equivalent = regression::bayes_risk_deterministic_equivalent(task, context_length);
  const auto simulated = run.simulator.bayes_risk(task, context_length);
  std::vector<Cell> cells = prefix;
  cells.insert(cells.end(), {"Bayes ridge", std::monostate{}});
  add_row(table, std::move(cells),
          with_beside(Judgment::shown(equivalent.risk + equivalent.mean_excess, simulated), Cell(), Cell()));
  return simulated;
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
