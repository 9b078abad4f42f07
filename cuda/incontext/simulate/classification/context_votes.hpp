#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate::detail {

/// Natural logarithm of 1 + x, x >= 0, corrected for the rounding of 1 + x.
INCONTEXT_HD inline float log_one_plus(float x) {
  const float u = 1.0f + x, lost = x - (u - 1.0f), share = 1.0f - x;
  return -0.5f * elementary::minus_two_log(u) + lost * (share > 0.0f ? share : 0.0f);
}
INCONTEXT_HD inline double log_one_plus(double x) {
  const double u = 1.0 + x, lost = x - (u - 1.0), share = 1.0 - x;
  return elementary::log(u) + lost * (share > 0.0 ? share : 0.0);
}

/// The votes of a context's points for the classes, of W trials side by side. A class's votes are a plain sum over its
/// points, in their order.
template <class T>
struct ContextVotes {
  SphereTaskDraw<T> task;

  /// What a trial keeps of its context. The last two are computed, and need memory, only where derivatives are wanted.
  template <int W>
  struct State {
    LaneArray<T, W> scores;      // n
    LaneArray<T, W> weights;     // n
    Lanes<T, W>& largest;        // score
    Lanes<T, W>& least;          // score
    LaneArray<T, W> votes;       // k
    LaneArray<T, W> derivative;  // k x d: of the votes, by the query
    LaneArray<T, W> mean_point;  // d

    INCONTEXT_HD State(LaneArray<T, W> memory, const SphereTaskDraw<T>& task)
        : scores(memory.take(task.context_length)),
          weights(memory.take(task.context_length)),
          largest(memory.take(1)[0]),
          least(memory.take(1)[0]),
          votes(memory.take(task.classes)),
          derivative(memory.take(std::int64_t{task.classes} * task.dimension)),
          mean_point(memory) {}
  };

  INCONTEXT_HD std::int64_t rows() const { return 2 * task.context_length + 2 + task.classes; }
  INCONTEXT_HD std::int64_t rows_with_derivatives() const {
    return rows() + (std::int64_t{task.classes} + 1) * task.dimension;
  }
  template <int W>
  INCONTEXT_HD State<W> state(LaneArray<T, W> memory) const {
    return {memory, task};
  }

  /// Scores of all points with the query.
  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> context, const State<W>& state) const {
    const auto query = task.query(context);
    for (std::int64_t j = 0; j < task.context_length && !stop_requested_at(j); ++j) {
      state.scores[j] = dot(task.point(context, j), query, task.dimension);
      state.largest = j == 0 ? state.scores[j] : larger(state.largest, state.scores[j]);
      state.least = j == 0 ? state.scores[j] : smaller(state.least, state.scores[j]);
    }
  }

  /// Votes per unit of gain and their derivatives by the query. The kernel rule is that of KernelForm::rbf, and the
  /// query's own key has the weight e^(kappa x.x). On the sphere other forms have the same votes, but not the same
  /// derivatives.
  template <int W>
  INCONTEXT_HD void vote(LaneArray<T, W> context, const State<W>& state, ClassificationRule rule, T kappa) const {
    fill(state.votes, task.classes, T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      state.weights[j] = rule == ClassificationRule::linear ? state.scores[j] : weight(state, j, kappa);
      add_by_class(context, j, state.votes, state.weights[j], 1, 0);
    }
    const Normalization<W> by = normalize_votes(state, state.votes, rule, kappa);
    differentiate(context, state, rule, kappa, by);
  }

  /// Computes the votes alone, with the same bits, and writes them to `votes`. A grid uses it, whose rows keep no
  /// weights.
  template <int W>
  INCONTEXT_HD void vote(LaneArray<T, W> context, const State<W>& state, ClassificationRule rule, T kappa,
                         LaneArray<T, W> votes) const {
    fill(votes, task.classes, T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      if (rule == ClassificationRule::linear) {
        add_by_class(context, j, votes, state.scores[j], 1, 0);
      } else {
        add_by_class(context, j, votes, weight(state, j, kappa), 1, 0);
      }
    }
    (void)normalize_votes(state, votes, rule, kappa);
  }

 private:
  /// How weights become shares of the vote: the factor on the points' weights, and the share of the query itself.
  template <int W>
  struct Normalization {
    Lanes<T, W> scale;
    Lanes<T, W> own;
  };

  /// The kernel between point j and the query, divided by the largest kernel of the context.
  template <int W>
  INCONTEXT_HD static Lanes<T, W> weight(const State<W>& state, std::int64_t j, T kappa) {
    const Lanes<T, W>&score = state.scores[j], &top = kappa < T(0) ? state.least : state.largest;
    return Lanes<T, W>::each([&](int lane) { return elementary::exp(kappa * (score[lane] - top[lane])); });
  }

  /// Adds to component i of the class of point j, where each class has `stride` components.
  template <int W>
  INCONTEXT_HD void add_by_class(LaneArray<T, W> context, std::int64_t j, LaneArray<T, W> sums, const Lanes<T, W>& term,
                                 int stride, int i) const {
    if (task.law == ContextLaw::balanced) {
      sums[j / task.class_size() * stride + i] += term;
      return;
    }
    const Lanes<T, W>& label = context[task.labels_row() + j];
    for (int lane = 0; lane < W; ++lane) sums[static_cast<int>(label[lane]) * stride + i][lane] += term[lane];
  }

  /// Turns class sums of weights into votes.
  template <int W>
  INCONTEXT_HD Normalization<W> normalize_votes(const State<W>& state, LaneArray<T, W> votes, ClassificationRule rule,
                                                T kappa) const {
    const T share = T(1) / static_cast<T>(task.context_length);
    Normalization<W> by{rule == ClassificationRule::linear ? share : T(0), T(0)};
    if (rule == ClassificationRule::kernel) {
      by.scale =
          Lanes<T, W>::each([&](int lane) { return share * elementary::exp(kappa * (state.largest[lane] - T(1))); });
    } else if (rule != ClassificationRule::linear) {
      for (int c = 0; c < task.classes; ++c) by.scale += votes[c];
      const bool selects = !(kappa < T(0)), is_key = rule == ClassificationRule::adaptive_with_query;
      for (int lane = 0; lane < W; ++lane) {
        // The weights of the query and of the points, both relative to the larger one.
        const T gap = kappa * (selects ? state.largest[lane] - T(1) : T(1) - state.least[lane]);
        const T smaller = is_key ? elementary::exp(gap) : T(0);
        const T points = is_key && selects ? smaller : T(1), query = is_key && selects ? T(1) : smaller;
        const T inverse = T(1) / (points * by.scale[lane] + query);
        by.scale[lane] = points * inverse;
        by.own[lane] = query * inverse;
      }
    }
    for (int c = 0; c < task.classes; ++c) votes[c] *= by.scale;
    return by;
  }

  template <int W>
  INCONTEXT_HD void differentiate(LaneArray<T, W> context, const State<W>& state, ClassificationRule rule, T kappa,
                                  const Normalization<W>& by) const {
    const int d = task.dimension, k = task.classes;
    const auto query = task.query(context);
    fill(state.derivative, std::int64_t{k} * d, T(0));
    for (std::int64_t j = 0; j < task.context_length && !stop_requested_at(j); ++j) {
      const auto point = task.point(context, j);
      for (int i = 0; i < d; ++i) {
        if (rule == ClassificationRule::linear) {
          add_by_class(context, j, state.derivative, by.scale * point[i], d, i);
        } else {
          const auto term =
              Lanes<T, W>::each([&](int lane) { return by.scale[lane] * state.weights[j][lane] * point[i][lane]; });
          add_by_class(context, j, state.derivative, term, d, i);
        }
      }
    }
    if (rule == ClassificationRule::linear) return;
    for (int i = 0; i < d; ++i) {
      Lanes<T, W>& center = state.mean_point[i];
      if (rule == ClassificationRule::kernel) {
        center = query[i];
      } else {
        center = T(2) * by.own * query[i];
        for (int c = 0; c < k; ++c) center += state.derivative[c * d + i];
      }
      for (int c = 0; c < k; ++c) {
        Lanes<T, W>& row = state.derivative[c * d + i];
        row = kappa * (row - state.votes[c] * center);
      }
    }
  }
};

}  // namespace incontext::simulate::detail
