#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// The derivative by kappa at one context length, at the linear rule's best rate.
struct Slope {
  std::int64_t context_length;
  double rate;
  statistics::Estimate slope, loss;
};

/// The rate at which the loss is least, the zero of its mean slope over a grid, on contexts of their own; and how much the
/// slope by kappa changes per change of that slope.
struct BestRateAndTilt {
  double rate, tilt;
};
BestRateAndTilt best_rate(ClassifyRun& run, const SphereTask& task) {
  const double guess = predicted_rate(task);
  const std::vector<double> rates = log_spaced(guess / 4, guess * 3, 13);
  const auto found = run.simulator.onset("best rate", task, rates, Effort::search);
  const auto slope = [&](std::size_t i) { return found.at(i, AdaptiveOnsetMetric::rate_slope).mean; };
  const auto kappa_slope = [&](std::size_t i) { return found.at(i, AdaptiveOnsetMetric::kappa_slope).mean; };
  std::size_t i = 0;
  while (i + 2 < rates.size() && slope(i + 1) < 0) ++i;
  const double rise = slope(i + 1) - slope(i), share = rise > 0 ? std::clamp(-slope(i) / rise, 0.0, 1.0) : 0.5;
  const double tilt = rise > 0 ? (kappa_slope(i + 1) - kappa_slope(i)) / rise : 0;
  return {rates[i] * std::pow(rates[i + 1] / rates[i], share), tilt};
}

Slope slope_at(ClassifyRun& run, const SphereTask& task) {
  const auto [rate, tilt] = best_rate(run, task);
  const Effort effort = task.context_length <= 120 ? Effort::manifold : Effort::usual;
  const auto run_at = run.simulator.onset("onset", task, {rate}, effort, tilt);
  return {task.context_length, rate, run_at.at(0, AdaptiveOnsetMetric::kappa_slope),
          run_at.at(0, AdaptiveOnsetMetric::loss)};
}

/// Context lengths a factor apart, from one on each side of where the slope changes its sign.
std::vector<Slope> slopes_about_onset(ClassifyRun& run, std::int64_t d, std::int64_t k) {
  const double square = static_cast<double>(d * d);
  std::vector<Slope> slopes;
  const auto add = [&](double n) {
    const auto classes = static_cast<double>(k);
    const auto points = static_cast<std::int64_t>(std::max(1.0, std::round(n / classes)));
    slopes.push_back(slope_at(run, {d, k, points * k}));
  };
  constexpr double factor = 1.6;
  double low = square * (d < 8 ? 1.6 : 2.6), high = low * factor;
  add(low);
  add(high);
  const auto is_above = [&](std::int64_t n) {
    return std::any_of(slopes.begin(), slopes.end(),
                       [&](const Slope& s) { return s.context_length == n && s.slope.mean < 0; });
  };
  for (int i = 0; i < 6 && !run.simulator.stopped(); ++i) {
    const auto first = slopes.front().context_length, last = slopes.back().context_length;
    if (is_above(first) && first > k) {
      add(low /= factor);
    } else if (!is_above(last)) {
      add(high *= factor);
    } else {
      break;
    }
    std::sort(slopes.begin(), slopes.end(),
              [](const Slope& a, const Slope& b) { return a.context_length < b.context_length; });
  }
  return slopes;
}

/// log n* and its standard error: where the line through the slopes on both sides of the change of sign, against log n,
/// is 0.
struct Zero {
  double log_length, error;
};
Zero zero_of(const std::vector<Slope>& slopes) {
  std::size_t i = 0;
  while (i + 2 < slopes.size() && slopes[i + 1].slope.mean > 0) ++i;
  const Slope &low = slopes[i], &high = slopes[i + 1];
  const auto log_of = [](const Slope& s) { return std::log(static_cast<double>(s.context_length)); };
  const double step = log_of(high) - log_of(low), fall = low.slope.mean - high.slope.mean;
  const double share = low.slope.mean / fall;
  return {log_of(low) + share * step,
          step / fall * std::hypot((1 - share) * low.slope.standard_error, share * high.slope.standard_error)};
}

/// Two classes: a context's reflection turns kappa into -kappa, so that the slope is 0.
void judge_two_classes(ClassifyRun& run, Table& table) {
  for (const std::int64_t d : run.options.dimensions) {
    const std::int64_t n = 2 * ((run.options.simulation.context_length + 1) / 2);
    const SphereTask task{d, 2, n};
    const auto simulated = run.simulator.onset("two classes", task, {two_class_best_rate(d, n).rate}, Effort::usual);
    table.add_row({d, n}, run.judgment.judged(0.0, simulated.at(0, AdaptiveOnsetMetric::kappa_slope)));
  }
}

}  // namespace

std::vector<Table> onset_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  Table onsets{
      .title = "The context length n* from which softmax attention gains by a kernel: k = " + std::to_string(o.classes),
      .columns = {{"d"},
                  {.name = "onset", .heading = "n*", .digits = 4},
                  {.name = "log_error", .heading = "± in log n*", .digits = 2},
                  {.name = "ratio", .heading = "n*/d^2", .digits = 3, .decimals_as = 1},
                  {.name = "ratio_error", .heading = "± error", .decimals_as = 1},
                  {.name = "limit", .heading = "d -> inf", .decimals_as = 1}}};
  Table points{.title = "dL/dkappa at kappa = 0: where it is negative, attending to near points helps",
               .columns = {{"d"},
                           {"n"},
                           parameter_column("rate", "best rate"),
                           {.name = "loss", .heading = "linear's loss", .digits = 4, .decimals_as = 1},
                           {.name = "slope", .heading = "dL/dkappa", .digits = 2, .decimals_as = 2},
                           {.name = "standard_error", .heading = "± error", .decimals_as = 2},
                           {.name = "z", .heading = "over error", .style = Style::two_decimals},
                           trials_column()}};
  Table two = comparison_table("Two classes: no slope at any context length", {{"d"}, {"n"}});
  const auto limit = onset_ratio(o.classes);
  for (const std::int64_t d : o.dimensions) {
    const auto slopes = slopes_about_onset(run, d, o.classes);
    for (const Slope& s : slopes) {
      const bool is_reached = s.slope.count > 1;
      points.add_row({d, s.context_length, is_reached ? Cell(s.rate) : Cell(), mean_cell(s.loss), mean_cell(s.slope),
                      error_cell(s.slope), is_reached ? Cell(s.slope.mean / s.slope.standard_error) : Cell(),
                      s.slope.count});
    }
    const bool is_reached = std::all_of(slopes.begin(), slopes.end(), [](const Slope& s) { return s.slope.count > 1; });
    const bool has_sign = is_reached && slopes.front().slope.mean > 0 && slopes.back().slope.mean < 0;
    if (is_reached) {
      run.controls.add("no slope, as of two classes",
                       "d = " + std::to_string(d) + ", n = " + std::to_string(slopes.back().context_length), 0,
                       slopes.back().slope.mean, slopes.back().slope);
    }
    if (!has_sign) {
      onsets.add_row({d, Cell(), Cell(), Cell(), Cell(), limit ? Cell(*limit) : Cell()});
      continue;
    }
    const Zero zero = zero_of(slopes);
    const double length = std::exp(zero.log_length), ratio = length / static_cast<double>(d * d);
    onsets.add_row({d, length, zero.error, ratio, ratio * zero.error, limit ? Cell(*limit) : Cell()});
  }
  judge_two_classes(run, two);
  onsets.notes = {
      "Below n* the best kappa of attention is not positive: it is the linear rule, or attends to far points. Above, a "
      "narrower kernel pays. The query is no key; n* from the two slopes below about the change of sign.",
      "d -> inf: the limit of n*/d^2, derived; no number where no change of sign was found within the lengths tried."};
  points.notes = {"16 times --trials up to n = 120."};
  two.notes = {"Exact, because the reflection of a context turns kappa into -kappa."};
  return {std::move(onsets), std::move(points), std::move(two)};
}

}  // namespace incontext::examples::classify
