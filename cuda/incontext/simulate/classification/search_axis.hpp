#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/simulate/classification/classification_grid_types.hpp"

/// One axis of the search for the best classifier, and the rules by which the search goes on.
namespace incontext::simulate::detail {

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
    step_ = first_step_ = std::max(below, above);
  }
  /// Whether the new best point is a whole step away from the old one, so that there may be a better one beyond.
  [[nodiscard]] bool is_outer(double from, double to) const {
    return place(to) == AxisPlace::inside && apart(from, to) > 0.75 * step_;
  }
  void halve() { step_ /= 2; }
  void widen() { step_ = std::min(2 * step_, first_step_); }
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

}  // namespace incontext::simulate::detail
