#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::baselines {

/// A layer of linear attention in training, from a start that is small and balanced.
///
/// Units     of TaskVariances.
template <Real T>
struct FlowSetting {
  std::int64_t dimension;
  std::int64_t context_length;
  TaskVariances<T> task;
  T start;  ///< the gain s_0 = v u at time 0
};

/// The time course of gradient flow on one layer of linear attention whose key and query matrices are merged: when
/// learning in context appears, and how abruptly.
///
/// \f[ h = \frac1l\sum_i y_i x_i,\quad \hat y = v\,x_q^T U h,\quad \dot\theta = -\nabla\,\tfrac12 E (y_q - \hat y)^2,
///     \quad U(0) = u I,\quad v(0) = \sqrt d\,u \f]
/// \f[ s(t) = v u = \frac{a/b}{1 + (\frac{a}{b s_0} - 1)\,e^{-2 \sqrt d\,a t}},\quad
///     a = \psi^2,\quad b = \psi^2\Bigl(1 + \frac{d + 1}{l}\Bigr) + \frac{\sigma^2}{l} \f]
///
/// The gain s obeys the logistic law: nothing happens for a time that grows as the logarithm of the start, then the
/// error falls within a time of a few 1 / (2 sqrt(d) a). With a finite context the layer ends at a/b, not at 1.
/// Gradient descent with the learning rate eta is at time eta k after k steps, if its batches are large and eta small;
/// on the squared error without the factor 1/2 it is at 2 eta k.
///
///     const baselines::FlowCourse<double> course(
///         {.dimension = 20, .context_length = 40, .task = variances, .start = 1e-3});
///     const double when = course.half_time(), error = course.risk(2 * when);
///
/// Source    Zhang et al., arXiv 2501.16265, at finite context length without label noise (read in summaries that quote
///           the formula); Zhang, Frei and Bartlett, arXiv 2306.09927, prove the limit of long training; label noise
///           added here: docs/theory/baselines.md#course-of-gradient-flow.
/// Units     time: 1 over label units squared, because inputs have variance 1; for inputs of variance c put c psi^2 for
///           task_variance and c s_0 for start: the results are c times that layer's gain, at c times its time. gain: 1
///           over squared input units.
/// Domain    dimension and context_length >= 1, noise_variance >= 0, task_variance > 0, start > 0; times >= 0.
/// Limits    time -> infinity: a/b, the best layer; start = a/b: nothing moves.
/// Errors    std::invalid_argument for sizes, std::domain_error for values.
/// Accuracy  16 eps (1 + 2 sqrt(d) a t) of gain and excess over the floor: tests/baselines/flow_course.cpp.
template <Real T>
class FlowCourse {
 public:
  explicit FlowCourse(const FlowSetting<T>& setting) : noise_(setting.task.noise_variance) {
    using std::sqrt;
    require_at_least(where, "dimension", setting.dimension, std::int64_t{1});
    require_at_least(where, "context_length", setting.context_length, std::int64_t{1});
    require_task_variances(where, setting.task);
    require_positive(where, "task_variance", setting.task.task_variance);
    require_positive(where, "start", setting.start);
    dimension_ = math::from_count<T>(setting.dimension);
    const T l = math::from_count<T>(setting.context_length), prior = setting.task.task_variance;
    missed_ = ((dimension_ + T(1)) * prior + noise_) / l;
    curvature_ = prior + missed_;
    gain_ = prior;
    rate_ = T(2) * sqrt(dimension_) * prior;
    behind_ = final_gain() / setting.start - T(1);
  }

  /// s(t).
  T gain(const T& time) const { return final_gain() / (T(1) + behind(time)); }
  /// a/b, that of the best layer.
  T final_gain() const { return gain_ / curvature_; }

  /// The mean squared error on the noisy label at a time: floor() + b d (s - a/b)^2.
  T risk(const T& time) const {
    const T rest = behind(time), off = final_gain() * rest / (T(1) + rest);
    return floor() + curvature_ * dimension_ * off * off;
  }
  /// The error of the best layer.
  T floor() const { return noise_ + gain_ * dimension_ * missed_ / curvature_; }

  /// When the gain is half of what it will be; negative for a start between half and all of it. A start of a/b or more
  /// never is at half: std::domain_error.
  T half_time() const { return time_at(T(0.5)); }
  /// When the gain is the given part of what it will be.
  ///
  /// Domain    0 < part < 1 for a start below a/b; part > 1 for one above.
  T time_at(const T& part) const {
    using std::log;
    const T ratio = behind_ * part / (T(1) - part);
    if (!(T(0) < ratio && ratio <= (std::numeric_limits<T>::max)() && T(0) < part)) {
      throw_domain_error(where, "part is never reached", part, "between 0 and 1, or above 1 for a start above a/b");
    }
    return log(ratio) / rate_;
  }
  /// 2 sqrt(d) a: how fast the gain grows at first, exponentially. The gain goes from 12% to 88% of what it will be in
  /// four times its inverse.
  T growth_rate() const { return rate_; }

 private:
  static constexpr const char* where = "FlowCourse";

  /// a / (b s) - 1.
  T behind(const T& time) const {
    using std::exp;
    require_non_negative(where, "time", time);
    return behind_ * exp(-rate_ * time);
  }

  T noise_, dimension_, missed_, curvature_, gain_, rate_, behind_;
};

}  // namespace incontext::baselines
