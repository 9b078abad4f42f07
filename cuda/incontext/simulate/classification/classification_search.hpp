#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classification_grid_types.hpp"
#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/statistics/estimate.hpp"

namespace incontext::simulate {

/// When a search stops: at steps within the tolerance, or after so many zooms.
///
/// Units     tolerance relative: the step of an axis over the value at which it is (if kappas may be 0 or negative,
///           over the largest |kappa| of the grid).
/// Domain    tolerance > 0, zooms >= 0.
struct SearchOptions {
  double tolerance = 0.01;
  int zooms = 40;  ///< the largest number of zooms
};

/// The kappa and gain of least mean loss: one pass over a grid, then zooms about the best point, all on one set of
/// contexts.
///
/// Every zoom tries the points half a step and a whole step from the best one, and moves to the best of them. If that
/// was a whole step away, both steps are doubled, up to those of the first grid; otherwise they are halved. The search
/// ends when the steps are within the tolerance, or when no point can be distinguished from the best because the paired
/// differences of their losses are below one standard error. The optimum is a point that was tried.
///
///     const simulate::ClassificationGrid grid{simulate::ClassificationRule::adaptive, {0, 2, 10}, {3, 11}};
///     const auto best = simulate::classification_search({3, 3, 30}, grid, {.seed = 1, .trials = 4096});
///
/// Source    arXiv 2510.10425, App. I searches a grid of 100 x 100 points; the zooms are added here.
/// Units     nats.
/// Domain    as classification_grid and SearchOptions; options.trials >= 2, no relative_error.
/// Errors    std::invalid_argument for task, sizes of the grid, options or zooms; std::domain_error for a value of the
///           grid or the tolerance.
/// Accuracy  the optimum of the mean over these contexts. Its loss is estimated on the same contexts and is therefore a
///           little low: tests/simulate/classification/classification_grid.cpp.
/// Random    as classification: the same contexts. In a record every grid is a simulation, in full in every part.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ClassificationOptimum classification_search(const SphereTask& task, const ClassificationGrid& grid,
                                            const Options& options, const SearchOptions& search = {});

// One axis of the search for the best classifier, and the rules by which the search goes on.
namespace detail {

/// One of the two axes of a search, kappa or gain: its points to try next, which are around a center, and
/// the step, which is the distance of the outermost points from the center. Where all numbers of the axis are positive,
/// distances are those of the logarithms.
class SearchAxis {
 public:
  std::vector<double> points;

  explicit SearchAxis(const std::vector<double>& axis)
      : points(axis), low_(axis.front()), high_(axis.back()), is_even_(!(axis.front() > 0)) {}

  [[nodiscard]] AxisPlace place(double x) const {
    if (low_ == high_) return AxisPlace::fixed;
    return x == low_ ? AxisPlace::lowest : x == high_ ? AxisPlace::highest : AxisPlace::inside;
  }
  [[nodiscard]] double step_at(double x) const { return is_even_ ? step_ : x * std::expm1(step_); }

  /// Sets the step after the first grid, so that the neighbors of point `at` are the outer points.
  void start(std::size_t at) {
    const double below = at > 0 ? apart(points[at - 1], points[at]) : 0;
    const double above = at + 1 < points.size() ? apart(points[at], points[at + 1]) : 0;
    step_ = first_step_ = (std::max)(below, above);
  }
  /// Whether the new best point is a whole step away from the old one, so that there may be a better one beyond.
  [[nodiscard]] bool is_outer(double from, double to) const {
    return place(to) == AxisPlace::inside && apart(from, to) > 0.75 * step_;
  }
  void halve() { step_ /= 2; }
  void widen() { step_ = (std::min)(2 * step_, first_step_); }
  void center(double x) {
    points.clear();
    for (const double part : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      const double y = part == 0 ? x : is_even_ ? x + part * step_ : x * std::exp(part * step_);
      const double inside = std::clamp(y, low_, high_);
      if (points.empty() || inside > points.back()) points.push_back(inside);
    }
  }

 private:
  [[nodiscard]] double apart(double a, double b) const { return std::abs(is_even_ ? b - a : std::log(b / a)); }

  double low_, high_;
  bool is_even_;
  double step_ = 0, first_step_ = 0;
};

/// Whether noise hides which point is the best: every loss of the grid exceeds the reference's by at most one standard
/// error of their paired difference. All points count, the diagonal neighbors too, because a valley of the loss may run
/// diagonally.
inline bool is_lost_in_noise(const ClassificationGridSimulation& run) {
  for (std::size_t i = 0; i < run.kappas * run.gains; ++i) {
    const auto& difference = run.loss_difference(i / run.gains, i % run.gains);
    if (!(difference.mean <= difference.standard_error)) return false;
  }
  return true;
}

/// The index of the least loss of the grid.
inline std::size_t least_loss(const ClassificationGridSimulation& run) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < run.kappas * run.gains; ++i) {
    if (run.run.estimates[i].mean < run.run.estimates[best].mean) best = i;
  }
  return best;
}

}  // namespace detail

template <class T>
ClassificationOptimum classification_search(const SphereTask& task, const ClassificationGrid& grid,
                                            const Options& options, const SearchOptions& search) {
  constexpr auto where = "simulate::classification_search";
  validate(options);
  validate(task, where);
  detail::require_grid<T>(where, grid);
  require_positive(where, "tolerance", search.tolerance);
  require_at_least(where, "zooms", search.zooms, 0);
  require_at_least(where, "trials", options.trials, std::int64_t{2});
  detail::require_trials_alone(where, options);
  const double widest = (std::max)(std::abs(grid.kappas.front()), std::abs(grid.kappas.back()));
  detail::SearchAxis kappas(grid.kappas), gains(grid.gains);
  ClassificationOptimum found;
  Options whole = options;
  std::optional<RecordInFull> in_full;
  if (options.record != nullptr) whole.record = &in_full.emplace(*options.record);
  auto run = detail::run_grid<T>(task, grid, whole, -1);
  found.grid = run.run;
  std::size_t best = detail::least_loss(run);
  kappas.start(best / run.gains);
  gains.start(best % run.gains);
  for (bool is_lost = false;; ++found.zooms) {
    const double kappa = kappas.points[best / run.gains], gain = gains.points[best % run.gains];
    found.best = grid.classifier(kappa, gain);
    found.chart_gain = gain;
    found.loss = run.loss(best / run.gains, best % run.gains);
    found.accuracy = run.accuracy(best / run.gains);
    found.kappa_place = kappas.place(kappa);
    found.gain_place = gains.place(gain);
    found.kappa_step = kappas.step_at(kappa);
    found.gain_step = gains.step_at(gain);
    const double kappa_scale = grid.kappas.front() > 0 ? kappa : widest;
    const bool is_fine =
        found.kappa_step <= search.tolerance * kappa_scale && found.gain_step <= search.tolerance * gain;
    found.end = is_fine ? SearchEnd::step : is_lost ? SearchEnd::noise : SearchEnd::zooms;
    if (is_fine || is_lost || found.zooms == search.zooms || run.run.interrupted) return found;
    kappas.center(kappa);
    gains.center(gain);
    ClassificationGrid finer = grid;
    finer.kappas = kappas.points;
    finer.gains = gains.points;
    const auto at = [](const std::vector<double>& points, double x) {
      return static_cast<std::size_t>(std::find(points.begin(), points.end(), x) - points.begin());
    };
    const std::size_t center = at(kappas.points, kappa) * gains.points.size() + at(gains.points, gain);
    run = detail::run_grid<T>(task, finer, whole, static_cast<int>(center));
    if (run.run.trials == 0) return found;  // stopped before its first chunk
    best = detail::least_loss(run);
    is_lost = best == center && detail::is_lost_in_noise(run);
    const bool goes_on =
        kappas.is_outer(kappa, kappas.points[best / run.gains]) || gains.is_outer(gain, gains.points[best % run.gains]);
    if (goes_on) {
      kappas.widen();
      gains.widen();
    } else if (!is_lost) {
      kappas.halve();
      gains.halve();
    }
  }
}

}  // namespace incontext::simulate
