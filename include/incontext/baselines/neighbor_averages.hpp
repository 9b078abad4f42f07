#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/baselines/detail/panel_rule.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::baselines {

/// The mean squared error of averaging, which estimates the task by the mean of label times input.
///
/// \f[ \sigma^2 + \frac{d}{l}\,\bigl(\sigma^2 + (d + 1)\,\psi^2\bigr),\quad \hat w = \frac1l\sum_i y_i x_i \f]
///
/// It is one step of descent_risk at the rate 1, which is best for no finite context. Where the inputs have the variance
/// c, the mean is divided by c, so that it is unbiased.
///
///     const double error = baselines::averaging_risk<double>(40, 20, {.noise_variance = 0, .task_variance = 0.05});
///
/// Source    the estimator: arXiv 2208.01066, Sec. 3; derived: docs/theory/baselines.md#averages.
/// Shapes    (examples l, dimension d, task) -> scalar
/// Units     label units squared.
/// Domain    examples >= 1, dimension >= 1, variances >= 0.
/// Limits    examples -> infinity: sigma^2.
/// Errors    std::invalid_argument for sizes, std::domain_error for variances.
/// Accuracy  4 eps (tests/baselines/neighbor_averages.cpp).
template <Real T>
T averaging_risk(std::int64_t examples, std::int64_t dimension, const TaskVariances<T>& task) {
  require_at_least("averaging_risk", "examples", examples, std::int64_t{1});
  require_at_least("averaging_risk", "dimension", dimension, std::int64_t{1});
  require_task_variances("averaging_risk", task);
  const T d = math::from_count<T>(dimension);
  return task.noise_variance +
         d / math::from_count<T>(examples) * (task.noise_variance + (d + T(1)) * task.task_variance);
}

/// The mean squared distance of the query from the mean of its nearest neighbors in the context.
///
/// \f[ E\lvert x_q - \bar x\rvert^2 = E_\lambda \int_0^1 \mathrm{Beta}(p;\,k + 1,\,l - k)\,\Bigl[
///       \frac{d\,F_{d+2} + \lambda F_{d+4}}{k\,p} + \Bigl(1 - \frac1k\Bigr) \frac{\lambda F_{d+2}^2}{p^2}\Bigr] dp \f]
///
/// lambda = |x_q|^2 is chi square with d degrees of freedom. F_n(s, lambda) are distribution functions of noncentral chi
/// squares, at the s at which F_d is p: the law of the squared distance of the (k+1)-th neighbor. Of fewer examples than
/// neighbors all are averaged.
///
///     const double square = baselines::neighbor_mean_square<double>(40, 20, 3);   // 13.8
///
/// Source    derived: docs/theory/baselines.md#nearest-neighbors.
/// Shapes    (examples l, dimension d, neighbors k) -> scalar
/// Units     the inputs' variance.
/// Domain    examples 1 to 1e6, dimension 1 to 1000, neighbors >= 1.
/// Limits    neighbors >= examples: d (1 + 1/l). examples -> infinity: 0, as l^(-2/d) for d > 2.
/// Errors    std::invalid_argument outside.
/// Accuracy  2e-11 relative in double, 1e-13 up to 1000 examples (tests/baselines/neighbor_averages.cpp and reference
///           values). Takes 5 to 50 ms, most in one dimension.
template <Real T>
T neighbor_mean_square(std::int64_t examples, std::int64_t dimension, std::int64_t neighbors);

/// The mean squared error of the mean label of the examples nearest to the query.
///
/// \f[ \sigma^2\,(1 + 1/k) + \psi^2\,E\lvert x_q - \bar x\rvert^2 \f]
///
/// The second term is neighbor_mean_square. In many dimensions no example is near: at d = 20, without noise, three
/// neighbors of 40 err 0.69 of what the answer 0 errs, and of 10^6 still 0.16.
///
///     const double error = baselines::nearest_neighbors_risk<double>(40, 20, 3, {0.0, 0.05});   // 0.690
///
/// Source    the estimator: arXiv 2208.01066, Sec. 3, with uniform weights; derived:
///           docs/theory/baselines.md#nearest-neighbors.
/// Shapes    (examples l, dimension d, neighbors k, task) -> scalar
/// Units     label units squared.
/// Domain    as neighbor_mean_square; variances >= 0.
/// Limits    as neighbor_mean_square; examples -> infinity: sigma^2 (1 + 1/k).
/// Errors    std::invalid_argument for sizes, std::domain_error for variances.
/// Accuracy  as neighbor_mean_square.
template <Real T>
T nearest_neighbors_risk(std::int64_t examples, std::int64_t dimension, std::int64_t neighbors,
                         const TaskVariances<T>& task) {
  require_task_variances("nearest_neighbors_risk", task);
  const T square = neighbor_mean_square<T>(examples, dimension, neighbors);
  const T averaged = math::from_count<T>((std::min)(examples, neighbors));
  return task.noise_variance * (T(1) + T(1) / averaged) + task.task_variance * square;
}

namespace detail {

/// The squared distance s of a standard normal vector in d dimensions from a point at the squared distance lambda from
/// its mean: the distribution functions F_d, F_{d+2} and F_{d+4} of noncentral chi squares.
///
/// A noncentral chi square has d + 2N degrees of freedom with N a Poisson number of mean lambda/2. With the
/// Poisson-like g_i = (s/2)^(d/2+i) e^(-s/2) / Gamma(d/2+i+1) this is F_{d+2m} = sum_i g_i P(N <= i - m), whose terms
/// are positive, so that small F keep their digits; so does 1 - F_d = Q(d/2, s/2) + sum_i g_i P(N > i).
template <Real T>
class NoncentralDistance {
 public:
  struct Value {
    T within, beyond;      ///< F_d and 1 - F_d
    T within_2, within_4;  ///< F_{d+2} and F_{d+4}
    T slope;               ///< of F_d by log s
  };

  NoncentralDistance(const T& dimension, const T& noncentrality)
      : half_dimension_(dimension / T(2)), mean_(noncentrality / T(2)) {
    using std::floor;
    const T peak = floor(mean_);
    weights_.assign(static_cast<std::size_t>(peak) + 1, T(0));
    weights_.back() = boost::math::gamma_p_derivative(T(peak + T(1)), mean_);
    for (std::size_t i = weights_.size() - 1; i > 0; --i) {
      weights_[i - 1] = weights_[i] * math::from_count<T>(static_cast<std::int64_t>(i)) / mean_;
    }
    for (T i = peak + T(1); weights_.back() > negligible; i += T(1)) weights_.push_back(weights_.back() * mean_ / i);
    at_most_.resize(weights_.size());
    above_.assign(weights_.size(), T(0));
    T sum = T(0);
    for (std::size_t i = 0; i < weights_.size(); ++i) at_most_[i] = sum += weights_[i];
    for (std::size_t i = weights_.size() - 1; i > 0; --i) above_[i - 1] = above_[i] + weights_[i];
  }

  Value at(const T& s) const {
    using std::floor;
    using std::sqrt;
    const T x = s / T(2), quarter = half_dimension_ / T(2);
    const bool is_far = x > half_dimension_ + mean_;  // above the mean, where 1 - F is summed
    // largest terms: of sum_i g_i P(N = i), and beyond the mean of g_i itself
    const T both = floor(sqrt(T(quarter * quarter + x * mean_)) - quarter);
    const auto top = static_cast<std::int64_t>(is_far ? T(floor(x - half_dimension_)) : both);
    const T largest = boost::math::gamma_p_derivative(T(half_dimension_ + math::from_count<T>(top) + T(1)), x);
    Value sum{T(0), is_far ? T(boost::math::gamma_q(half_dimension_, x)) : T(0), T(0), T(0), T(0)};
    const auto add = [&](std::int64_t i, const T& g) {
      const T term = g * at_most(i), outside = is_far ? T(g * above(i)) : T(0);
      sum.within += term;
      sum.within_2 += g * at_most(i - 1);
      sum.within_4 += g * at_most(i - 2);
      sum.slope += g * weight(i) * (half_dimension_ + math::from_count<T>(i));
      sum.beyond += outside;
      return term > negligible * sum.within_4 || outside > negligible * sum.beyond;
    };
    T g = largest;
    for (std::int64_t i = top; add(i, g) && g > T(0); ++i) {
      g *= x / (half_dimension_ + math::from_count<T>(i + 1));
    }
    g = largest;
    for (std::int64_t i = top; i > 0; --i) {
      g *= (half_dimension_ + math::from_count<T>(i)) / x;
      if (!add(i - 1, g) && math::from_count<T>(i) <= both) break;
    }
    if (!is_far) sum.beyond = T(1) - sum.within;
    return sum;
  }

 private:
  static constexpr T negligible = std::numeric_limits<T>::epsilon() / T(64);

  T at(const std::vector<T>& values, std::int64_t i, const T& after) const {
    if (i < 0) return T(0);
    return static_cast<std::size_t>(i) < values.size() ? values[static_cast<std::size_t>(i)] : after;
  }
  T weight(std::int64_t i) const { return at(weights_, i, T(0)); }
  T at_most(std::int64_t i) const { return at(at_most_, i, T(1)); }
  T above(std::int64_t i) const { return at(above_, i, T(0)); }

  T half_dimension_, mean_;
  std::vector<T> weights_, at_most_, above_;  ///< P(N = i), P(N <= i), P(N > i)
};

/// The Beta(k + 1, l - k) density of p by its log odds, divided by its maximum, and where it is not negligible.
template <Real T>
class OrderDensity {
 public:
  OrderDensity(std::int64_t examples, std::int64_t neighbors)
      : a_(math::from_count<T>(neighbors + 1)), b_(math::from_count<T>(examples - neighbors)) {
    low_ = end(T(-1));
    high_ = end(T(1));
  }

  /// The ends, as log odds.
  T low() const { return low_; }
  T high() const { return high_; }

  /// The logarithm of the density at p, with q = 1 - p.
  T logarithm(const T& p, const T& q) const {
    using std::log;
    return a_ * log(T(p * (a_ + b_) / a_)) + b_ * log(T(q * (a_ + b_) / b_));
  }

 private:
  T end(const T& side) const {
    using std::exp;
    using std::log;
    const T mode = log(T(a_ / b_)), negligible = log(std::numeric_limits<T>::epsilon()) * T(0.9);
    const auto is_outside = [&](const T& by) {
      const T odds = exp(T(mode + side * by));
      return logarithm(T(odds / (T(1) + odds)), T(T(1) / (T(1) + odds))) < negligible;
    };
    T inside = T(0), outside = T(1);
    while (!is_outside(outside)) outside *= T(2);
    for (int halving = 0; halving < 20; ++halving) {
      const T middle = (inside + outside) / T(2);
      (is_outside(middle) ? outside : inside) = middle;
    }
    return mode + side * outside;
  }

  T a_, b_, low_, high_;
};

/// The log s at which F_d has given log odds, roughly: Newton's steps, which are bounded because F or 1 - F may underflow
/// on the way.
template <Real T>
T log_quantile(const NoncentralDistance<T>& distance, const T& log_odds, T log_s, const T& tolerance) {
  using std::abs;
  using std::exp;
  using std::log;
  for (int step = 0; step < 200; ++step) {
    const auto value = distance.at(exp(log_s));
    const T product = value.within * value.beyond;
    if (!(product > T(0) && value.slope > T(0))) {
      log_s += value.beyond < T(0.5) ? T(-0.25) : T(0.25);
      continue;
    }
    const T missing = log_odds - log(T(value.within / value.beyond));
    log_s += (std::max)(T(-1), (std::min)(T(1), T(missing * product / value.slope)));
    if (abs(missing) < tolerance) break;
  }
  return log_s;
}

}  // namespace detail

template <Real T>
T neighbor_mean_square(std::int64_t examples, std::int64_t dimension, std::int64_t neighbors) {
  using std::exp;
  using std::log;
  using std::sqrt;
  constexpr const char* where = "neighbor_mean_square";
  require_at_least(where, "examples", examples, std::int64_t{1});
  require_at_least(where, "dimension", dimension, std::int64_t{1});
  require_at_least(where, "neighbors", neighbors, std::int64_t{1});
  if (examples > 1'000'000) throw_invalid_argument(where, "examples is too large", examples, "at most 1e6");
  if (dimension > 1000) throw_invalid_argument(where, "dimension is too large", dimension, "at most 1000");
  const T d = math::from_count<T>(dimension);
  if (neighbors >= examples) return d * (T(1) + T(1) / math::from_count<T>(examples));
  const T k = math::from_count<T>(neighbors);
  const detail::OrderDensity<T> order(examples, neighbors);
  const T tolerance = (order.high() - order.low()) / T(50);

  // Outside |x_q|, by Gauss and Legendre's rule. Inside, by the trapezoidal rule, u = d log(r) + |x_q| r of the distance
  // r, which is log F_d but for what changes slowly, so that the integrand is smooth in u at every l. r is Lambert's W.
  using Rule = detail::PanelRule<T, 24>;
  const Rule& rule = Rule::get();
  constexpr std::int64_t digits = std::numeric_limits<T>::digits;
  const std::int64_t panels = ((2 + (dimension + 3) / dimension) * digits + 52) / 53;
  const std::int64_t places = (std::max)(std::int64_t{24}, (48 + 64 / dimension) * digits * digits / (53 * 53));
  const T reach = sqrt(T(-T(2) * log(std::numeric_limits<T>::epsilon()))) + T(0.5);
  const T root = sqrt(d), first = root > reach ? T(root - reach) : T(0);
  const T half_width = (root + reach - first) / math::from_count<T>(2 * panels);
  T low = log(T(T(2) * d)), high = low;  // the ends of log s, each searched for from the one before
  T sum = T(0), total = T(0);
  for (std::int64_t node = 0; node < 24 * panels; ++node) {
    const auto in_panel = static_cast<Eigen::Index>(node % 24);
    const T length = first + half_width * (math::from_count<T>(2 * (node / 24) + 1) + rule.places(in_panel));
    const T lambda = length * length;
    const T density = rule.weights(in_panel) * exp(T((d - T(1)) * log(T(length / root)) - (lambda - d) / T(2)));
    const detail::NoncentralDistance<T> distance(d, lambda);
    low = detail::log_quantile(distance, order.low(), low, tolerance);
    high = detail::log_quantile(distance, order.high(), (std::max)(low, high), tolerance);
    const T from = d * low / T(2) + length * exp(T(low / T(2))), to = d * high / T(2) + length * exp(T(high / T(2)));
    T weight = T(0), mean = T(0);
    for (std::int64_t place = 0; place <= places; ++place) {
      const T u = from + (to - from) * math::from_count<T>(place) / math::from_count<T>(places);
      const T r = d / length * boost::math::lambert_w0(T(length / d * exp(T(u / d))));
      const auto value = distance.at(r * r);
      const T probability = exp(order.logarithm(value.within, value.beyond)) * value.slope /
                            (value.within * value.beyond * (d + length * r));
      const T along = value.within_2 / value.within, across = value.within_4 / value.within;
      weight += probability;
      mean += probability * ((d * along + lambda * across) / k + (T(1) - T(1) / k) * lambda * along * along);
    }
    sum += density * mean / weight;
    total += density;
  }
  return sum / total;
}

INCONTEXT_COMPILED(baselines_neighbor_averages, averaging_risk<double>);
INCONTEXT_COMPILED(baselines_neighbor_averages, neighbor_mean_square<double>);
INCONTEXT_COMPILED(baselines_neighbor_averages, nearest_neighbors_risk<double>);

}  // namespace incontext::baselines
