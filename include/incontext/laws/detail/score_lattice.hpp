#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/core/interval.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// The integral of a row over s and the average over each normal score g in it, both by the trapezoidal rule with steps
/// that are known beforehand, on lattices that fit together: docs/theory/laws.md#lattice.
namespace incontext::laws::detail {

/// A part of an integral that does not change its last digit.
template <Real T>
T negligible_part() {
  return T(std::numeric_limits<T>::epsilon()) / T(8);
}

/// The step in s at which the trapezoidal rule for E[X / Z^k] = (1 / Gamma(k)) int ds E[X e^(k s - Z e^s)], X >= 0, has
/// a negligible error, whatever the law of X and Z: at most 2 |Gamma(k + i w)| / Gamma(k) with w = 2 pi / step, where
/// |Gamma(k + i w)|^2 = (pi w / sinh(pi w)) (1 + w^2) (4 + w^2) ... ((k - 1)^2 + w^2). It is found by fixed points.
template <Real T>
T row_step(int order) {
  using std::log;
  const T pi = math::pi<T>(), digits = log(T(T(2) / negligible_part<T>()));
  T w = digits;
  for (int i = 0; i < 12; ++i) {
    T twice = T(2) * digits + log(T(T(2) * pi * w));
    for (int j = 1; j < order; ++j) twice += math::log_one_plus(T(w * w / T(double(j * j))));
    w = twice / pi;
  }
  return T(2) * pi / w;
}

/// Sums over one normal score g at s = start, start + step, ... The nodes are the scores j delta. As step is a multiple
/// of x delta, y = s + x g is on a lattice, too, and e^-e^y is computed once for each y, whatever the s.
template <Real T>
class ScoreLattice {
 public:
  /// t = e^y, e^-t and 1 - e^-t.
  struct Kernel {
    T t, survives, dies;
  };

  /// `step` is not exceeded. No score outside of `scores` matters, nor any t e^-t of a y below `lowest_y`.
  ScoreLattice(const T& score_stddev, const T& step, const T& start, const Interval<T>& scores, const T& lowest_y)
      : x_(score_stddev), start_(start), step_(step) {
    choose_steps();
    place_nodes(scores);
    if (shared()) {
      lowest_place_ = place(T((lowest_y - start_) / (x_ * delta_)));
      highest_place_ = place(T((highest_exponent() - start_) / (x_ * delta_)));
    }
    move_window();
  }

  /// The y above which e^-e^y is zero to rounding.
  static T highest_exponent() {
    using std::log;
    return log(T(T(10) - T(2) * log(T(std::numeric_limits<T>::epsilon()))));
  }

  T s() const { return start_ + offset(); }
  /// s - start.
  T offset() const { return T(double(count_)) * step_; }
  const T& step() const { return step_; }

  /// The offset from which on e^-t is zero to rounding at all nodes.
  T length() const { return highest_exponent() - start_ - x_ * nodes_.front().g; }

  void advance() {
    ++count_;
    move_window();
  }

  /// log E e^-t. Calls f(g, weight, kernel) at every node that matters, the weights of all nodes having sum 1.
  template <class Function>
  T operator()(const Function& f) const {
    using std::log;
    T survives = first_ < nodes_.size() ? nodes_[first_].below : T(1), dies = T(0);
    const Kernel* kernel = kernels_.data() + kernels_begin_;
    for (std::size_t j = first_; j < last_; ++j, ++kernel) {
      const Node& node = nodes_[j];
      survives += node.weight * kernel->survives;
      dies += node.weight * kernel->dies;
      f(node.g, node.weight, *kernel);
    }
    if (last_ < nodes_.size()) dies += nodes_[last_].above;
    return dies < T(0.5) ? math::log_one_plus(T(-dies)) : T(log(survives));
  }

 private:
  struct Node {
    T g, weight, below, above;  // the weights of the nodes below it, and of it and those above
  };
  static constexpr std::int64_t far_away = std::int64_t{1} << 40;  // beyond all nodes

  /// The rule in g errs by exp(-2 pi^2 / delta^2) where the density limits it, that is where delta > 4 x, and else by
  /// exp(-pi^2 / (x delta) + pi^2 / (8 x^2)).
  void choose_steps() {
    using std::floor;
    using std::log;
    using std::sqrt;
    const T pi = math::pi<T>(), digits = T(10) - log(T(std::numeric_limits<T>::epsilon()));
    delta_ = pi * sqrt(T(T(2) / digits));
    if (!(T(4) * x_ < delta_)) delta_ = T(1) / (x_ * digits / (pi * pi) + T(1) / (T(8) * x_));
    if (!(step_ < T(16) * x_ * delta_)) return;
    // of a smaller step and of a smaller delta the one that takes fewer nodes in all
    const T ratio = step_ / (x_ * delta_), fewer = floor(ratio), more = fewer + T(1);
    if (ratio * ratio < fewer * more) {
      shift_ = static_cast<std::size_t>(fewer);
      step_ = fewer * x_ * delta_;
    } else {
      shift_ = static_cast<std::size_t>(more);
      delta_ = step_ / (more * x_);
    }
  }

  bool shared() const { return 0 < shift_; }

  static std::int64_t place(const T& units) {
    if (T(double(far_away)) < units) return far_away;
    return units < T(-double(far_away)) ? -far_away : static_cast<std::int64_t>(units);
  }

  void place_nodes(const Interval<T>& scores) {
    using std::exp;
    using std::sqrt;
    lowest_score_ = place(T(scores.lower / delta_)) - 1;
    const T scale = delta_ / sqrt(T(T(2) * math::pi<T>()));
    T sum = T(0);
    for (std::int64_t j = lowest_score_; nodes_.empty() || nodes_.back().g < scores.upper; ++j) {
      const T g = T(double(j)) * delta_;
      nodes_.push_back({g, T(scale * exp(T(-g * g / T(2)))), sum, T(0)});
      sum += nodes_.back().weight;
    }
    sum = T(0);
    for (std::size_t j = nodes_.size(); j-- > 0;) nodes_[j].above = sum += nodes_[j].weight;
  }

  /// The place of a node in the lattice of y, from y = start.
  std::int64_t place_of(std::size_t node) const {
    return lowest_score_ + static_cast<std::int64_t>(node + shift_ * count_);
  }

  void move_window() {
    const std::size_t size = nodes_.size();
    if (!shared()) {
      kernels_.clear();
      first_ = 0;
      last_ = size;
      for (const Node& node : nodes_) kernels_.push_back(kernel(T(s() + x_ * node.g)));
      return;
    }
    const std::int64_t begin = place_of(0);
    const auto node_at = [&](std::int64_t at) {
      return at < begin ? std::size_t{0} : (std::min)(size, static_cast<std::size_t>(at - begin));
    };
    first_ = node_at(lowest_place_);
    last_ = (std::max)(first_, node_at(highest_place_ + 1));
    const std::int64_t from = place_of(first_), to = place_of(last_);
    if (kernels_.empty()) kernels_end_ = from;
    for (; kernels_end_ < to; ++kernels_end_) {
      kernels_.push_back(kernel(T(start_ + T(double(kernels_end_)) * x_ * delta_)));
    }
    kernels_begin_ = kernels_.size() - static_cast<std::size_t>(kernels_end_ - from);
  }

  static Kernel kernel(const T& y) {
    using std::exp;
    const T t = exp(y);
    if (T(0.5) < t) {
      const T survives = exp(T(-t));
      return {t, survives, T(T(1) - survives)};
    }
    const T dies = -math::exp_minus_one(T(-t));
    return {t, T(T(1) - dies), dies};
  }

  T x_, start_, step_, delta_;
  std::size_t count_ = 0;          // of the steps made
  std::size_t shift_ = 0;          // the step in units of x delta; 0 where it is more than 16 of them
  std::int64_t lowest_score_ = 0;  // in units of delta
  std::int64_t lowest_place_ = 0, highest_place_ = 0;  // in units of x delta from y = start, as kernels_end_
  std::vector<Node> nodes_;
  std::vector<Kernel> kernels_;  // the last is at kernels_end_ - 1
  std::int64_t kernels_end_ = 0;
  std::size_t first_ = 0, last_ = 0;  // the nodes that matter at this s
  std::size_t kernels_begin_ = 0;     // the kernel of the first of them
};

}  // namespace incontext::laws::detail
