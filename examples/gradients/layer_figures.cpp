#include "examples/gradients/layer_figures.hpp"

#include <incontext/laws/gaussian_row.hpp>
#include <incontext/laws/gradient_sizes.hpp>
#include <incontext/laws/two_group_row.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/support/render.hpp"

namespace incontext::examples::gradients {

namespace {

using statistics::Estimate;

Table table_of(std::string title, std::vector<Column> columns) {
  Table table{.title = std::move(title), .columns = std::move(columns)};
  table.key_columns = table.columns.size();
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  return table;
}

void add(GradientRun& run, Table& table, std::vector<Cell> cells, const statistics::Theory& theory,
         const Estimate& estimate) {
  const auto comparison = run.judgment.judged_if_enough(theory, estimate, simulate::effective_trials(estimate));
  table.add_row(std::move(cells), comparison);
}

/// The ratio of root mean squares, where `product` is the mean of the product of both squares.
Estimate root_ratio(const Estimate& above, const Estimate& below, const Estimate& product) {
  const double a = above.relative_error(), b = below.relative_error();
  const double common = (product.mean / (above.mean * below.mean) - 1) / static_cast<double>(above.count - 1);
  Estimate ratio = above;
  ratio.mean = std::sqrt(above.mean / below.mean);
  ratio.standard_error = ratio.mean * std::sqrt(std::fmax(0, a * a + b * b - 2 * common)) / 2;
  ratio.rounding = ratio.mean * (above.rounding / above.mean + below.rounding / below.mean) / 2;
  return ratio;
}

}  // namespace

std::vector<Table> queries_figure(GradientRun& run) {
  const GradientOptions& o = run.options;
  const double tokens = static_cast<double>(o.simulation.context_length);
  const double dimension = static_cast<double>(o.simulation.dimension), keys = static_cast<double>(o.key_dimension);
  Table table = table_of("Gradients of W_Q, W_K and W_V, root mean squares: n = " + short_text(tokens, 9) +
                             " tokens, d = " + short_text(dimension, 9) + ", d_k = " + short_text(keys, 9),
                         {{.name = "temperature", .heading = "τ", .digits = 4},
                          {.name = "score_stddev", .heading = "x", .digits = 4},
                          {"ratio"}});
  std::vector<double> score_stddevs;
  for (const double tau : o.temperatures) score_stddevs.push_back(o.score_stddev() / tau);
  const auto seen = run.simulator.queries(o.key_dimension, score_stddevs);
  for (std::size_t i = 0; i < score_stddevs.size(); ++i) {
    const auto at = [&](QueryGradient which) { return seen.at(i * query_gradients + static_cast<std::size_t>(which)); };
    const double x = score_stddevs[i];
    const auto sizes = laws::gradient_sizes(laws::gaussian_row(tokens, x), x, dimension);
    const double query = laws::query_imbalance(sizes, keys);
    const Estimate by_value =
        root_ratio(at(QueryGradient::query), at(QueryGradient::value), at(QueryGradient::query_by_value));
    const Estimate by_key =
        root_ratio(at(QueryGradient::query), at(QueryGradient::key), at(QueryGradient::query_by_key));
    add(run, table, {o.temperatures[i], x, "W_Q / W_V"}, query, by_value);
    add(run, table, {o.temperatures[i], x, "W_Q / W_K"}, query / sizes.imbalance, by_key);
    if (x >= 0.5) run.controls.add({"W_Q has W_K's law", x}, 1, query / sizes.imbalance, by_key);
  }
  const double narrow = score_stddevs.empty() ? 1 : score_stddevs.back();
  if (narrow < 0.5) {
    const std::size_t first = (score_stddevs.size() - 1) * query_gradients;
    const auto at = [&](QueryGradient which) { return seen.at(first + static_cast<std::size_t>(which)); };
    const auto sizes = laws::gradient_sizes(laws::gaussian_row(tokens, narrow), narrow, dimension);
    run.controls.add({"W_Q / W_V = x sqrt(n / d)", narrow}, narrow * std::sqrt(tokens / dimension),
                     laws::query_imbalance(sizes, keys),
                     root_ratio(at(QueryGradient::query), at(QueryGradient::value), at(QueryGradient::query_by_value)));
  }
  table.notes = {
      "One query's contribution. For vectors of normal entries the ratio of 1-norms, which 2310.12956 plots, is that "
      "of "
      "2-norms up to 1/d.",
      "The entries of W_K that the scores do not depend on are averaged in closed form. All rows share their draws."};
  return {std::move(table)};
}

std::vector<Table> groups_figure(GradientRun& run) {
  const GradientOptions& o = run.options;
  const std::int64_t first = o.simulation.context_length / 2, second = o.simulation.context_length - first;
  const double x = o.score_stddev() / o.usual_temperature();
  Table table = table_of("Two groups of tokens, " + std::to_string(first) + " whose scores are lower by a gap, " +
                             std::to_string(second) + " others: x = " + short_text(x, 4) + " within each",
                         {{.name = "gap", .style = Style::shortest}, {"quantity"}});
  Table shares{.title = "What the group of lower scores has",
               .columns = {{.name = "gap", .style = Style::shortest},
                           {.name = "weight", .digits = 4},
                           {.name = "gradient_share", .heading = "share of the squared gradient", .digits = 4},
                           {.name = "weight_law", .heading = "weights e^-gap : 1", .digits = 4},
                           {.name = "gradient_law", .heading = "gradients e^-2gap : 1", .digits = 4}}};
  const double ratio = static_cast<double>(first) / static_cast<double>(second);
  for (const double gap : o.gaps) {
    const auto seen = run.simulator.groups(x, {gap});  // on draws of its own: common ones would give one z for all
    const auto at = [&](GroupGradient which) { return seen.at(static_cast<std::size_t>(which)); };
    const auto row = laws::two_group_row(laws::ScoreGroup<double>{static_cast<double>(first), x, -gap},
                                         laws::ScoreGroup<double>{static_cast<double>(second), x, 0});
    const auto theory = [&](double value) { return statistics::Theory(value, value * row.error_estimate); };
    add(run, table, {gap, "weight of the lower group"}, theory(row.groups[0].weight), at(GroupGradient::weight));
    add(run, table, {gap, "its squared gradient"}, theory(row.groups[0].squared_gradient), at(GroupGradient::first));
    add(run, table, {gap, "the other's"}, theory(row.groups[1].squared_gradient), at(GroupGradient::second));
    const auto share = [&](double odds) { return odds * ratio / (1 + odds * ratio); };
    shares.add_row(
        {gap, row.groups[0].weight, row.gradient_share(0), share(std::exp(-gap)), share(std::exp(-2 * gap))});
    // the squared gradient shared out as the weights are
    const double total = row.groups[0].squared_gradient + row.groups[1].squared_gradient;
    run.controls.add({"gradients shared out like weights, gap " + short_text(gap, 4), x}, total * row.groups[0].weight,
                     row.groups[0].squared_gradient, at(GroupGradient::first));
  }
  shares.notes = {
      "The gradient at the scores, (dS_j tau)^2 = (a_j h . (x_j - xbar_a))^2, summed over a group: dL/dW_K is the sum "
      "of dS_j x_j q^T. A group that is attended to less by e^-gap feeds W_K less by e^-2gap."};
  table.notes = {"For an upstream direction h that the scores say nothing about. Every gap has its own draws."};
  return {std::move(shares), std::move(table)};
}

std::vector<Table> ends_figure(GradientRun& run) {
  const GradientOptions& o = run.options;
  const double tokens = static_cast<double>(o.simulation.context_length);
  Table jacobian =
      table_of("Jacobian of softmax at " + short_text(tokens, 9) + " normal scores: mean square of P = diag(a) - a a^T",
               {{.name = "score_stddev", .heading = "x", .style = Style::shortest},
                {.name = "effective_keys", .heading = "1 / Y_2", .digits = 4},
                {.name = "by_score", .heading = "x^2 |P|^2", .digits = 4}});
  const auto seen = run.simulator.jacobians(o.score_stddevs);
  for (std::size_t i = 0; i < o.score_stddevs.size(); ++i) {
    const double x = o.score_stddevs[i];
    const auto row = laws::gaussian_row(tokens, x);
    const double exact = row.squared_frobenius;
    add(run, jacobian, {x, 1 / row.ipr, x * x * exact}, {exact, exact * row.error_estimate}, seen[i]);
    if (x > 1) continue;
    run.controls.add({"|P|^2 = 1/n - 1/n^2, as for equal scores", x}, (1 - 1 / tokens) / tokens, exact, seen[i]);
  }
  jacobian.notes = {
      "P is the derivative by scores over the temperature. It is small at both ends, where weights are even and where "
      "they are frozen. By the raw scores of standard deviation 1 it is x P: its mean square does not vanish as the "
      "temperature falls, because near ties of the two highest scores carry it (--figure frozen has the median)."};
  Table dot = table_of("Scores q . k of independent standard normal entries",
                       {{.name = "key_dimension", .heading = "d_k", .style = Style::shortest}, {"quantity"}});
  for (const std::int64_t keys : o.key_dimensions) {
    const auto product = run.simulator.dot_product(keys);
    const auto at = [&](DotProduct which) { return product.at(static_cast<std::size_t>(which)); };
    const double fourth = 3 * (1 + 2 / static_cast<double>(keys));
    add(run, dot, {static_cast<double>(keys), "variance / d_k"}, 1, at(DotProduct::square));
    add(run, dot, {static_cast<double>(keys), "fourth moment / d_k^2"}, fourth, at(DotProduct::fourth));
    run.controls.add({"q . k is normal: fourth moment 3 d_k^2, d_k = " + std::to_string(keys), 1.0}, 3, fourth,
                     at(DotProduct::fourth));
  }
  dot.notes = {"So sqrt(d_k) is the standard deviation of the scores, whatever d_k is, and x = 1 at this temperature."};
  return {std::move(jacobian), std::move(dot)};
}

}  // namespace incontext::examples::gradients
