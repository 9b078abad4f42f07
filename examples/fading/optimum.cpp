#include "examples/fading/optimum.hpp"

#include <incontext/laws/needle_cross_entropy.hpp>

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "examples/support/render.hpp"

namespace incontext::examples::fading {

namespace {

using Needle = laws::NormalNeedle<double>;

/// One kind of competitors and the needle among them, whose mean may grow with the row.
struct Setting {
  std::string competitors, needle_text;
  CompetitorLaw law;
  double needle_mean, needle_stddev;
  bool growing;  ///< the needle's mean is needle_mean sqrt(2 log n), in proportion to the competitors' largest score

  Needle needle(double count) const {
    return {growing ? needle_mean * std::sqrt(2 * std::log(count)) : needle_mean, needle_stddev};
  }
};

constexpr double upper_share = 0.1;  ///< of the competitors of value 1

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"uniform on [0, 1]", "N(1.5, 0.5^2)", CompetitorLaw::uniform, 1.5, 0.5, false},
      {"1 of 10 is 1, others 0", "N(1.5, 0.5^2)", CompetitorLaw::two_values, 1.5, 0.5, false},
      {"N(0, 1)", "N(2, 1)", CompetitorLaw::normal, 2, 1, false},
      {"N(0, 1)", "N(4, 2^2)", CompetitorLaw::normal, 4, 2, false},
      {"N(0, 1)", "N(0.8 sqrt(2 log n), 1)", CompetitorLaw::normal, 0.8, 1, true}};
  return all;
}

/// What `function` gives for the law of a setting's competitors.
template <class Function>
auto with_law(const Setting& setting, const Function& function) {
  switch (setting.law) {
    case CompetitorLaw::uniform:
      return function(laws::UniformLaw<double>{0, 1});
    case CompetitorLaw::two_values:
      return function(laws::TwoValueLaw<double>{0, 1, upper_share});
    case CompetitorLaw::normal:
      break;
  }
  return function(laws::NormalLaw<double>{1});
}

laws::NeedleOptimum<double> optimum(const Setting& setting, double count) {
  return with_law(setting, [&](const auto& law) {
    return laws::optimal_needle_temperature(law, count - 1, setting.needle(count));
  });
}

numerics::Quadrature<double> cross_entropy(const Setting& setting, double count, double beta) {
  return with_law(setting, [&](const auto& law) {
    return laws::needle_cross_entropy(law, count - 1, setting.needle(count), beta);
  });
}

/// The line through points by least squares.
struct Line {
  double slope, intercept, residual;  ///< root mean square
};

Line fitted(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mean_x += x[i] / n, mean_y += y[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  const double slope = xy / xx, intercept = mean_y - slope * mean_x;
  for (std::size_t i = 0; i < x.size(); ++i) squares += std::pow(y[i] - slope * x[i] - intercept, 2);
  return {slope, intercept, std::sqrt(squares / n)};
}

/// p_n of every setting at every length.
using Optima = std::vector<std::vector<double>>;

Optima optima_at(const std::vector<double>& counts) {
  Optima optima;
  for (const Setting& setting : settings()) {
    optima.emplace_back();
    for (const double n : counts) optima.back().push_back(optimum(setting, n).inverse_temperature);
  }
  return optima;
}

/// p_n itself, at lengths that are too long to draw as well.
Table optima_table(const std::vector<double>& counts, const Optima& optima) {
  Table table{.name = "optimum",
              .title = "The inverse temperature p_n of least cross entropy, exactly",
              .columns = {{"competitors"}, {"needle"}}};
  for (const double n : counts) {
    table.columns.push_back({.name = "p_" + short_text(n, 9), .heading = "n = " + short_text(n, 9), .digits = 5});
  }
  for (std::size_t i = 0; i < settings().size(); ++i) {
    std::vector<Cell> cells{settings()[i].competitors, settings()[i].needle_text};
    cells.insert(cells.end(), optima[i].begin(), optima[i].end());
    table.add_row(std::move(cells));
  }
  return table;
}

/// The laws on trial: p_n against log n and against its root.
Table laws_table(const std::vector<double>& counts, const Optima& optima) {
  Table table{.name = "lines",
              .title = "Lines through p_n, n = " + short_text(counts.front(), 4) + " to " +
                       short_text(counts.back(), 4) + ": a1 log n + a2, as 2501.19399 fits it, and b1 sqrt(log n) + b2",
              .columns = {{"competitors"},
                          {"needle"},
                          {.name = "log_slope", .heading = "a1", .digits = 4},
                          {.name = "log_intercept", .heading = "a2", .digits = 4},
                          {.name = "log_residual", .heading = "residual", .digits = 2},
                          {.name = "limit_slope", .heading = "a1, n to infinity", .digits = 4},
                          {.name = "root_slope", .heading = "b1", .digits = 4},
                          {.name = "root_intercept", .heading = "b2", .digits = 4},
                          {.name = "root_residual", .heading = "residual", .digits = 2}}};
  std::vector<double> logs, roots;
  for (const double n : counts) {
    logs.push_back(std::log(n));
    roots.push_back(std::sqrt(std::log(n)));
  }
  for (std::size_t i = 0; i < settings().size(); ++i) {
    const Setting& setting = settings()[i];
    const Line by_log = fitted(logs, optima[i]), by_root = fitted(roots, optima[i]);
    const bool bounded = setting.law != CompetitorLaw::normal;
    table.add_row({setting.competitors, setting.needle_text, by_log.slope, by_log.intercept, by_log.residual,
                   bounded           ? Cell(laws::bounded_log_slope(setting.needle(1), 1.0))
                   : setting.growing ? Cell()
                                     : Cell(0.0),
                   by_root.slope, by_root.intercept, by_root.residual});
  }
  table.notes = {
      "Competitors with an upper edge below the needle's mean ask for log n: this is what SSMax has. Normal ones do "
      "not: "
      "with fixed laws p_n tends to a constant, mean over variance, and is that constant at once where the variances "
      "are equal; it grows like sqrt(log n) where the needle's mean does.",
      "\"n to infinity\": closed forms."};
  return table;
}

}  // namespace

std::vector<Table> optimum_figure(FadingRun& run) {
  const std::vector<std::int64_t> lengths =
      run.options.lengths.empty() ? std::vector<std::int64_t>{10, 100, 1000} : run.options.lengths;
  run.arguments["lengths"] = lengths;
  std::vector<Column> columns{{"competitors"}, {"needle"}, {"n"}, {"quantity"}};
  Table table{.name = "cross_entropy",
              .title = "p_n and the cross entropy -E log a of a needle's weight a there",
              .columns = columns};
  table.key_columns = columns.size();
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  for (const Setting& setting : settings()) {
    for (const std::int64_t n : lengths) {
      const auto count = static_cast<double>(n);
      if (setting.law == CompetitorLaw::two_values && (count - 1) * upper_share < 1) continue;
      const auto best = optimum(setting, count);
      const double beta = best.inverse_temperature, other = 1.5 * beta;
      const Needle needle = setting.needle(count);
      const auto seen =
          run.simulator.needle_loss({setting.law, upper_share, n - 1, needle.mean, needle.stddev}, beta, other);
      const auto at = [&](NeedleLoss which) { return seen.at(static_cast<std::size_t>(which)); };
      const auto add = [&](const std::string& quantity, const statistics::Theory& theory,
                           const statistics::Estimate& estimate) {
        table.add_row({setting.competitors, setting.needle_text, n, quantity}, run.judgment.judged(theory, estimate));
      };
      // One of Newton's steps from the exact optimum: the optimum of these draws, to first order in what it is off.
      statistics::Estimate place = at(NeedleLoss::slope);
      const double curvature = at(NeedleLoss::curvature).mean;
      place.mean = beta - place.mean / curvature;
      place.standard_error /= curvature;
      place.rounding /= curvature;
      const auto loss = cross_entropy(setting, count, beta), elsewhere = cross_entropy(setting, count, other);
      add("p_n", {beta, 1e-4 * beta}, place);
      add("cross entropy", loss, at(NeedleLoss::loss));
      add("the same at 1.5 p_n, less that",
          {elsewhere.value - loss.value, elsewhere.error_estimate + loss.error_estimate}, at(NeedleLoss::difference));
      const std::string what = setting.competitors + ", needle " + setting.needle_text;
      if (setting.law != CompetitorLaw::normal) {
        run.controls.add({"p_n = a log n, no lag", n, what}, laws::bounded_log_slope(needle, 1.0) * std::log(count),
                         beta, place);
      } else if (!setting.growing) {
        run.controls.add({"p_n = sqrt(2 log n)", n, what}, std::sqrt(2 * std::log(count)), beta, place);
      }
    }
  }
  table.notes = {
      "The loss is convex in p. A needle that is always above the competitors' edge would ask for an infinite p_n: its "
      "score is drawn."};
  table.draw_notes = {
      "Simulation of p_n: one of Newton's steps from the exact value to the optimum of the drawn rows, with its error. "
      "Every row of one n and law shares its draws."};
  const std::vector<double> counts{1e2, 1e3, 1e4, 1e5, 1e6};
  const Optima optima = optima_at(counts);
  return {optima_table(counts, optima), laws_table(counts, optima), std::move(table)};
}

}  // namespace incontext::examples::fading
