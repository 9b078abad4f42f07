#include "examples/softmax_error/tables.hpp"

#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "examples/support/controls.hpp"
#include "examples/support/render.hpp"

namespace incontext::examples::softmax_error {

namespace {

struct NamedMap {
  std::string name;
  double parameter;
  Map map;
};

std::string in_words(double value) { return detail::number_text(value, std::chars_format::general, 5); }

std::string law_in_words(const SoftmaxErrorOptions& o) {
  const bool scaled = o.attention == AttentionChoice::scaled;
  return "noise " + in_words(o.law.noise_variance) + unusual_in_words(o.law) +
         (o.law.has_test_noise ? ", tested with noise " + in_words(o.law.test_noise_variance) : "") +
         (scaled ? ", m = " + in_words(o.key_query_scale) + ", v = " + in_words(o.label_value) : ", pretrained") +
         (o.query == regression::QueryToken::included ? ", query included" : "") +
         (o.estimator == EstimatorChoice::literal ? ", literal trials" : "");
}

bool is_inside(const Optimum& best) { return best.place == numerics::SearchPlace::inside; }

/// The columns: what varies, the attention and its parameter, and its errors.
Table error_table(std::string title, std::vector<Column> varied, const std::string& parameter) {
  Table table{.name = "errors", .title = std::move(title), .columns = std::move(varied)};
  std::vector<Column> compared = comparison_columns();
  compared[0].heading = "exact";
  table.columns.push_back({"attention"});
  table.columns.push_back({.name = parameter, .digits = 5});
  table.columns.push_back(compared[0]);
  table.columns.push_back({.name = "second_order", .decimals_as = 1, .in_text = InText::audit});
  table.columns.push_back({.name = "approximate_softmax", .heading = "approx. softmax", .decimals_as = 1});
  table.columns.push_back({.name = "bayes", .decimals_as = 1});
  table.columns.insert(table.columns.end(), compared.begin() + 1, compared.end());
  table.columns.push_back(
      {.name = "approximate_z", .heading = "z approx.", .style = Style::two_decimals, .in_text = InText::audit});
  return table;
}

Table optimum_table(std::vector<Column> varied) {
  Table table{.name = "optima",
              .title = "Where softmax errs least, and approximate softmax would have it",
              .columns = std::move(varied)};
  table.columns.insert(table.columns.end(),
                       {{.name = "optimal", .heading = "optimal", .digits = 5},
                        {.name = "error", .decimals_as = 2},
                        {.name = "approximate_temperature", .heading = "τ* of approx.", .digits = 5},
                        {.name = "error_there", .heading = "error there", .decimals_as = 2},
                        {.name = "saving", .unit = "%", .digits = 3}});
  return table;
}

/// By how much the error at the best parameter is below softmax's error at the temperature that is best for approximate
/// softmax.
///
/// At an end of the search there is no best parameter: the error falls on beyond it.
void add_optimum(Table& table, std::vector<Cell> varied, const Situation& at, const Optimum& best) {
  const double approximate = approximate_optimal_temperature(at);
  const double there = exact_error(at, Softmax{approximate}).value;
  varied.insert(varied.end(), {is_inside(best) ? Cell(best.parameter) : Cell("edge of the search"), best.error,
                               approximate, there, 100 * (there - best.error) / there});
  table.add_row(std::move(varied));
  if (is_inside(best)) return;
  const bool highest = best.place == numerics::SearchPlace::highest;
  const std::string note =
      "At " + in_words(best.parameter) + ", the " + (highest ? "highest" : "lowest") +
      " value that was searched, the error is no larger than anywhere before: there is no optimum, and "
      "the limit for " +
      (highest ? "infinity" : "0") + " is not simulated.";
  if (std::find(table.notes.begin(), table.notes.end(), note) == table.notes.end()) table.notes.push_back(note);
}

/// The only row of such a table.
std::string optimum_in_words(const Table& optima) {
  const auto number = [&](const char* name) {
    for (std::size_t j = 0; j < optima.columns.size(); ++j) {
      if (optima.columns[j].name == name) return in_words(std::get<double>(optima.rows.front()[j]));
    }
    return std::string();
  };
  return "Softmax errs least at τ = " + number("optimal") + ": " + number("error") + ". At " +
         number("approximate_temperature") + ", where approximate softmax errs least, it errs " +
         number("error_there") + ".";
}

/// Adds a map at its best parameter, where it has one.
void add_best(std::vector<NamedMap>& named, const std::string& name, const Optimum& best, const Map& map) {
  if (is_inside(best)) named.push_back({name, best.parameter, map});
}

Cell second_order_cell(const Situation& at, double temperature) {
  const auto error = second_order_error(at, temperature);
  return error ? Cell(*error) : Cell();
}

/// One row per map. All maps are of one kind and simulated on the same draws.
void add_errors(Table& table, Run& run, const std::string& what, const std::vector<Cell>& varied, const Situation& at,
                const std::vector<NamedMap>& named) {
  std::vector<Map> maps;
  for (const NamedMap& one : named) maps.push_back(one.map);
  const Estimates simulated = run.simulator.errors(what, at, maps);
  const auto least = bayes_risk(at);
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::vector<Cell> compared = run.judgment.judged(exact_error(at, maps[i]), simulated[i]);
    std::vector<Cell> cells = varied;
    cells.insert(cells.end(), {named[i].name, named[i].parameter, compared[0]});
    Cell control;
    if (const auto temperature = equal_temperature(at, maps[i])) {
      const double approximate = approximate_error(at, *temperature);
      const double z = (simulated[i].mean - approximate) / simulated[i].standard_error;
      if (simulated[i].count > 1 && std::isfinite(z)) control = z;
      cells.insert(cells.end(), {second_order_cell(at, *temperature), approximate});
    } else {
      cells.insert(cells.end(), {std::monostate{}, std::monostate{}});
    }
    cells.push_back(least ? Cell(*least) : Cell());
    cells.insert(cells.end(), compared.begin() + 1, compared.end());
    cells.push_back(std::move(control));
    table.add_row(std::move(cells));
  }
}

std::vector<NamedMap> softmaxes(const SoftmaxErrorOptions& o, const Situation& at, const Optimum& best) {
  std::vector<NamedMap> named;
  for (const double t : o.temperatures) named.push_back({"softmax", t, Softmax{t}});
  const double approximate = approximate_optimal_temperature(at);
  named.push_back({"softmax, τ* of approx.", approximate, Softmax{approximate}});
  add_best(named, "softmax, τ*", best, Softmax{best.parameter});
  std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.parameter < b.parameter; });
  return named;
}

constexpr const char* bayes_note =
    "bayes: the error of the posterior mean, not judged. It is exact if all covariances are multiples of I and l is at "
    "most 1e6. Otherwise it is the limit of large l and d at this d / l.";

/// The lowest temperature at which the remainder falls like 1/l^2 depends neither on l nor on d.
void add_notes(Table& table, const Situation& at) {
  const std::string rejections = rejections_note(table, "Approximate softmax taken for softmax");
  if (const auto lowest = second_order_temperature(at)) {
    table.audit_notes.push_back(
        "Second order in 1/l: absent up to τ = " + in_words(*lowest) +
        ", where its remainder does not fall like 1/l^2, and where its term in 1/l is more than " +
        in_words(100 * largest_correction) + "% of the error of endless contexts.");
  } else {
    table.audit_notes.push_back(
        "No second order in 1/l is shown: it is derived only for centered inputs, values that are labels alone, and a "
        "query that is not among the keys.");
  }
  table.notes.push_back(bayes_note);
  if (!rejections.empty()) table.audit_notes.push_back(rejections);
  table.draw_notes.push_back("Rows of one kind of attention and one law share their draws, so their z are correlated.");
}

/// One law, or one per value of the parameter that varies.
std::vector<Table> temperature_tables(Run& run, const std::string& title, const std::vector<Column>& varied,
                                      const std::vector<std::pair<std::int64_t, Situation>>& situations) {
  Table errors = error_table(title, varied, "temperature");
  Table optima = optimum_table(varied);
  for (const auto& [value, at] : situations) {
    const std::vector<Cell> cells = varied.empty() ? std::vector<Cell>{} : std::vector<Cell>{value};
    const Optimum best = optimal_temperature(at);
    add_errors(errors, run, "temperatures", cells, at, softmaxes(run.options, at, best));
    add_optimum(optima, cells, at, best);
  }
  add_notes(errors, situations.front().second);
  if (varied.empty()) {  // one sentence says it
    optima.audit = true;
    errors.notes.insert(errors.notes.begin(), optima.notes.empty() ? optimum_in_words(optima) : optima.notes.front());
  }
  return {std::move(errors), std::move(optima)};
}

/// Adds a negative control to the rows of SSA: z of their simulated errors from softmax's least error. The column is
/// the last but one; JSON and CSV have it, and text does not.
void add_softmax_control(Table& errors, double least_softmax_error) {
  const auto place = [&errors](const char* name) {
    const auto is_it = [name](const Column& column) { return column.name == name; };
    return std::find_if(errors.columns.begin(), errors.columns.end(), is_it) - errors.columns.begin();
  };
  const auto attention = place("attention"), simulation = place("simulation"), error = place("standard_error");
  errors.columns.insert(errors.columns.end() - 1, {.name = "softmax_z", .in_text = InText::hidden});
  for (std::vector<Cell>& row : errors.rows) {
    const auto cell = [&row](std::ptrdiff_t at) { return &row[static_cast<std::size_t>(at)]; };
    const auto* name = std::get_if<std::string>(cell(attention));
    const auto *mean = std::get_if<double>(cell(simulation)), *scatter = std::get_if<double>(cell(error));
    Cell control;
    if (name != nullptr && name->starts_with("SSA") && mean != nullptr && scatter != nullptr && *scatter > 0) {
      control = (*mean - least_softmax_error) / *scatter;
    }
    row.insert(row.end() - 1, std::move(control));
  }
}

std::vector<Table> map_tables(Run& run, const std::string& title, const Situation& at) {
  const SoftmaxErrorOptions& o = run.options;
  Table errors = error_table(title, {}, "parameter");
  Table optima = optimum_table({{"map"}, {"parameter"}});
  const Optimum temperature = optimal_temperature(at), scale = optimal_scale(at);
  add_errors(errors, run, "softmax", {}, at, softmaxes(o, at, temperature));
  add_optimum(optima, {"softmax", "τ"}, at, temperature);
  std::vector<NamedMap> scaled;
  for (const double s : o.scales) scaled.push_back({"SSMax, s", s, SSMax{s}});
  add_best(scaled, "SSMax, s*", scale, SSMax{scale.parameter});
  add_errors(errors, run, "SSMax", {}, at, scaled);
  add_optimum(optima, {"SSMax", "s"}, at, scale);
  std::vector<NamedMap> averaged;
  for (const double exponent : o.exponents) {
    const Optimum base = optimal_base(at, exponent);
    const std::string name = "SSA, exponent " + in_words(exponent);
    averaged.push_back({name + ", b", 1, SSA{1, exponent}});
    add_best(averaged, name + ", b*", base, SSA{base.parameter, exponent});
    add_optimum(optima, {name, "b"}, at, base);
  }
  add_errors(errors, run, "SSA", {}, at, averaged);
  add_softmax_control(errors, temperature.error);
  add_notes(errors, at);
  errors.audit_notes.push_back(
      "SSMax has the second order and the approximation of softmax at 1 / (s log l); SSA has none.");
  return {std::move(errors), std::move(optima)};
}

/// What a layer errs whose temperature alone is tuned, and with the best values and more heads.
std::vector<Table> heads_tables(Run& run, const std::string& title, const Situation& at) {
  std::vector<Column> compared = comparison_columns();
  compared[0].heading = "exact";
  Table table{.name = "heads", .title = title, .columns = {{"heads"}, {"scales"}, {"values"}}};
  table.columns.push_back(compared[0]);
  table.columns.push_back({.name = "bayes", .decimals_as = 1});
  table.columns.insert(table.columns.end(), compared.begin() + 1, compared.end());
  const auto listed = [](const regression::Vector<double>& numbers) {
    std::string text;
    for (const double number : numbers) text += (text.empty() ? "" : ", ") + in_words(number);
    return text;
  };
  const auto least = bayes_risk(at);
  const auto add = [&](const std::string& name, const Heads& heads) {
    const Estimates simulated = run.simulator.heads_error(name, at, heads);
    const std::vector<Cell> cells = run.judgment.judged({heads.error, 0.0}, simulated.front());
    std::vector<Cell> row{name, listed(heads.key_query_scales), listed(heads.values), cells[0],
                          least ? Cell(*least) : Cell()};
    row.insert(row.end(), cells.begin() + 1, cells.end());
    table.add_row(std::move(row));
    if (heads.place != numerics::SearchPlace::inside) {
      table.notes.push_back(name + ": a scale is at an end of its search, beyond which the error may fall on.");
    }
  };
  const Optimum best = optimal_temperature(at);
  const auto number = [](double value) { return regression::Vector<double>::Constant(1, value).eval(); };
  add("1, its temperature alone", {number(1 / best.parameter), number(at.attention.label_value), best.error});
  for (const std::int64_t count : run.options.heads) add(std::to_string(count), best_heads(at, count));
  table.notes.push_back(
      "Scales multiply the layer's scores, values its labels; both are searched for, the first row's value is the "
      "layer's own.");
  table.notes.push_back(bayes_note);
  return {std::move(table)};
}

}  // namespace

std::vector<Table> softmax_error_tables(Run& run) {
  const SoftmaxErrorOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const std::int64_t d = o.vary == Vary::dimension ? 0 : o.situation(o.simulation.dimension, l).task.dimension();
  const std::string dimension = "d = " + std::to_string(d), length = "l = " + std::to_string(l);
  const std::string law = law_in_words(o);
  std::vector<std::pair<std::int64_t, Situation>> situations;
  switch (o.vary) {
    case Vary::context_length:
      for (const std::int64_t value : o.context_lengths) situations.push_back({value, o.situation(d, value)});
      return temperature_tables(run, "True softmax attention against context length: " + dimension + ", " + law,
                                {{"context_length"}}, situations);
    case Vary::dimension:
      for (const std::int64_t value : o.dimensions) situations.push_back({value, o.situation(value, l)});
      return temperature_tables(run, "True softmax attention against dimension: " + length + ", " + law,
                                {{"dimension"}}, situations);
    case Vary::map:
      return map_tables(run, "Maps of attention: " + dimension + ", " + length + ", " + law, o.situation(d, l));
    case Vary::heads:
      return heads_tables(run, "Several softmax heads: " + dimension + ", " + length + ", " + law, o.situation(d, l));
    case Vary::temperature:
      break;
  }
  situations.push_back({0, o.situation(d, l)});
  return temperature_tables(
      run, "True softmax attention against temperature: " + dimension + ", " + length + ", " + law, {}, situations);
}

}  // namespace incontext::examples::softmax_error
