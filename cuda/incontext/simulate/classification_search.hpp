#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification_grid.hpp"
#include "incontext/statistics/estimate.hpp"

namespace incontext::simulate {

/// Where on an axis of the grid an optimum lies: between its ends, or at one, beyond which it may go on; or the axis
/// has one number only.
///
/// Runs on   host
enum class AxisPlace { inside, lowest, highest, fixed };

/// When a search stops zooming.
///
/// Units     tolerance relative: the step of both axes over the value (over the largest |kappa| given, for kappas).
/// Domain    tolerance > 0, zooms >= 0.
/// Runs on   host
struct SearchOptions {
  double tolerance = 0.01;
  int zooms = 12;  ///< at most
};

/// Why a search stopped: its steps are below the tolerance; its neighbours' losses are within one standard error of
/// their paired difference; or it used up its zooms.
///
/// Runs on   host
enum class SearchEnd { step, noise, zooms };

/// The best classifier found. An optimum at the end of an axis is no optimum: adaptive rules in high dimension run
/// along c kappa = const to kappa -> 0, c -> infinity, and then both places say so.
///
/// Units     loss in nats.
/// Runs on   host
struct ClassificationOptimum {
  Classifier best;
  double chart_gain = 0;  ///< the number on the grid's second axis: best.gain, or its slope
  statistics::Estimate loss;
  statistics::Estimate accuracy;
  AxisPlace kappa_place = AxisPlace::fixed;
  AxisPlace gain_place = AxisPlace::fixed;
  double kappa_step = 0;  ///< to the last neighbours tried
  double gain_step = 0;
  SearchEnd end = SearchEnd::step;
  int zooms = 0;
  Simulation grid;  ///< the first pass over the whole grid, as classification_grid's

  [[nodiscard]] bool is_inside() const {
    const auto fine = [](AxisPlace place) { return place == AxisPlace::inside || place == AxisPlace::fixed; };
    return fine(kappa_place) && fine(gain_place);
  }
};

namespace detail {

/// An axis while it is zoomed: the points tried now.
struct ZoomAxis {
  std::vector<double> points;
  double low, high;  // the ends of the first grid

  explicit ZoomAxis(const std::vector<double>& axis) : points(axis), low(axis.front()), high(axis.back()) {}

  [[nodiscard]] AxisPlace place(std::size_t at) const {
    if (low == high) return AxisPlace::fixed;
    return points[at] == low ? AxisPlace::lowest : points[at] == high ? AxisPlace::highest : AxisPlace::inside;
  }
  [[nodiscard]] double step(std::size_t at) const {
    const double below = at > 0 ? points[at] - points[at - 1] : 0;
    const double above = at + 1 < points.size() ? points[at + 1] - points[at] : 0;
    return std::max(below, above);
  }
  /// Five points between the neighbours, or three at an end; even in the logarithm where all are positive.
  void zoom(std::size_t at) {
    const double here = points[at];
    const double below = points[at > 0 ? at - 1 : at], above = points[std::min(at + 1, points.size() - 1)];
    const bool even = !(below > 0);
    const auto middle = [&](double a, double b) { return even ? (a + b) / 2 : std::sqrt(a * b); };
    points.clear();
    if (below < here) points.insert(points.end(), {below, middle(below, here)});
    points.push_back(here);
    if (above > here) points.insert(points.end(), {middle(here, above), above});
  }
};

/// Whether every neighbour's loss is within a standard error of the best one's.
inline bool is_lost_in_noise(const ClassificationGridSimulation& run, std::size_t kappa, std::size_t gain) {
  const auto within = [&](std::size_t i, std::size_t j) {
    const auto& difference = run.loss_difference(i, j);
    return difference.mean <= difference.standard_error;
  };
  bool all = true;
  if (kappa > 0) all = all && within(kappa - 1, gain);
  if (kappa + 1 < run.kappas) all = all && within(kappa + 1, gain);
  if (gain > 0) all = all && within(kappa, gain - 1);
  if (gain + 1 < run.gains) all = all && within(kappa, gain + 1);
  return all;
}

inline std::size_t least_loss(const ClassificationGridSimulation& run) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < run.kappas * run.gains; ++i) {
    if (run.run.estimates[i].mean < run.run.estimates[best].mean) best = i;
  }
  return best;
}

}  // namespace detail

/// The kappa and gain of least mean loss: a pass over a grid, then zooms about the best point, all on one set of
/// contexts.
///
/// Every zoom halves both steps, until they are within the tolerance or the neighbours cannot be told from the best
/// point: their losses' paired differences are below one standard error. The best point is one that was tried.
///
/// Source    arXiv 2510.10425, App. I, by a grid of 100 x 100; the zooms are ours.
/// Shapes    as ClassificationOptimum.
/// Units     nats.
/// Domain    as classification_grid and SearchOptions; options.trials >= 2, no relative_error.
/// Errors    std::invalid_argument, std::domain_error.
/// Accuracy  the optimum of the mean over these contexts; its loss is that of the same contexts, so a little low.
/// Random    as classification: the same contexts.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ClassificationOptimum classification_search(const SphereTask& task, const ClassificationGrid& grid,
                                            const Options& options, const SearchOptions& search = {}) {
  constexpr auto where = "simulate::classification_search";
  validate(options);
  validate(task, where);
  detail::require_grid(where, grid);
  require_positive(where, "tolerance", search.tolerance);
  require_at_least(where, "zooms", search.zooms, 0);
  require_at_least(where, "trials", options.trials, std::int64_t{2});
  detail::require_trials_alone(where, options);
  const double widest = std::max(std::abs(grid.kappas.front()), std::abs(grid.kappas.back()));
  detail::ZoomAxis kappas(grid.kappas), gains(grid.gains);
  ClassificationOptimum found;
  auto run = detail::run_grid<T>(task, grid, options, -1);
  found.grid = run.run;
  std::size_t best = detail::least_loss(run);
  for (;; ++found.zooms) {
    const std::size_t row = best / run.gains, column = best % run.gains;
    const double kappa = kappas.points[row], gain = gains.points[column];
    found.best = grid.classifier(kappa, gain);
    found.chart_gain = gain;
    found.loss = run.loss(row, column);
    found.accuracy = run.accuracy(row);
    found.kappa_place = kappas.place(row);
    found.gain_place = gains.place(column);
    found.kappa_step = kappas.step(row);
    found.gain_step = gains.step(column);
    const double kappa_scale = grid.kappas.front() > 0 ? kappa : widest;
    const bool is_fine =
        found.kappa_step <= search.tolerance * kappa_scale && found.gain_step <= search.tolerance * gain;
    found.end = is_fine ? SearchEnd::step : SearchEnd::zooms;
    if (is_fine || found.zooms == search.zooms || run.run.interrupted) return found;
    kappas.zoom(row);
    gains.zoom(column);
    ClassificationGrid finer = grid;
    finer.kappas = kappas.points;
    finer.gains = gains.points;
    const auto at = [](const std::vector<double>& points, double x) {
      return static_cast<std::size_t>(std::find(points.begin(), points.end(), x) - points.begin());
    };
    const std::size_t centre = at(kappas.points, kappa) * gains.points.size() + at(gains.points, gain);
    run = detail::run_grid<T>(task, finer, options, static_cast<int>(centre));
    best = detail::least_loss(run);
    if (best == centre && detail::is_lost_in_noise(run, best / run.gains, best % run.gains)) {
      found.loss = run.loss(best / run.gains, best % run.gains);
      found.kappa_step = kappas.step(best / run.gains);
      found.gain_step = gains.step(best % run.gains);
      found.end = SearchEnd::noise;
      ++found.zooms;
      return found;
    }
  }
}

}  // namespace incontext::simulate
