#pragma once

#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/detail/running_rule.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"
#include "incontext/laws/detail/score_lattice.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::laws {

/// The widest scores of the laws of top scores.
///
/// Units     of beta times the scores.
inline constexpr double widest_top_scores = 30;

/// Expected weights of the k largest scores of a row together, and of all the others.
///
/// Units     dimensionless: kept + lost = 1.
template <Real T>
struct TopScoresWeight {
  T kept;            ///< by the k largest scores
  T lost;            ///< to the others, without cancellation where it is small
  T error_estimate;  ///< |kept + lost - 1|, as the two are separate integrals
};

/// Expected weight that the k largest of n independent normal scores have together under softmax.
///
/// \f[ \frac{n!}{(k-1)!\,(n-k-1)!} \int du \int dt\, \varphi(t)\, e^{-u e^{x t}} a_0^{k-1} b_0^{n-k-1} a_1 \f]
/// \f[ a_0 = \int_t^\infty \varphi(g) e^{-u e^{x g}} dg,\quad b_0 = \int_{-\infty}^t \varphi(g) e^{-u e^{x g}} dg,\quad
///     a_1 = \int_t^\infty \varphi(g) e^{x g - u e^{x g}} dg \f]
///
/// This is what attention with a budget of k keys per query keeps of a row, if it chooses the keys of the largest
/// scores. The lost weight is the total variation distance to softmax over these keys alone. A score is kept if it is
/// above t, the k-th largest of the other n - 1. The lost weight has b_1, the integral up to t, in place of a_1.
///
///     const double kept = laws::top_scores_weight<double>(1'048'576, 2048, 4.0).kept;   // 0.853
///
/// Source    derived: docs/theory/laws.md#top-scores.
/// Units     score_stddev = x = beta times the standard deviation of the scores, dimensionless.
/// Domain    1 <= row_length = n <= 1e15 and whole, 1 <= top_count = k <= n and whole, 0 <= score_stddev <= 30.
/// Limits    k = n: 1; k = 1: largest_weight; score_stddev = 0: k/n; n -> infinity: top_share_needed.
/// Errors    std::domain_error for an argument outside the domain; numerics::QuadratureError.
/// Accuracy  1e-13 relative, of both weights, up to 1e12 scores, and 4e-13 beyond: tests/laws/top_scores.cpp.
template <Real T>
TopScoresWeight<T> top_scores_weight(const Count<T>& row_length, const Count<T>& top_count, const T& score_stddev);

/// The smallest number of scores whose expected weight is at least 1 - lost.
///
/// \f[ \min \{ k : E \sum_{j > k} a_{(j)} \le \text{lost} \} \f]
///
///     const double keys = laws::top_scores_needed<double>(1'048'576, 0.05, 4.0);   // 11042
///
/// Source    top_scores_weight, inverted by bisection that takes Newton's steps of the limit top_share_needed.
/// Domain    as top_scores_weight; 0 < lost < 1.
/// Limits    score_stddev = 0: the least k >= n (1 - lost).
/// Errors    std::domain_error for an argument outside the domain; numerics::QuadratureError.
/// Accuracy  exact where no lost weight is within 1e-13 relative of `lost`: tests/laws/top_scores.cpp.
template <Real T>
T top_scores_needed(const Count<T>& row_length, const T& lost, const T& score_stddev);

/// The share of a row's scores, the largest ones, that leaves the weight `lost` to the others, in a row without end.
///
/// \f[ \lim_{n \to \infty} \frac kn = P(g > x + \Phi^{-1}(\text{lost})) \f]
///
/// A row of n scores needs more to keep 95%, and far more where x is near sqrt(2 log n): 1082 of 1,048,576 at x = 5,
/// where the limit says 416.
///
/// Source    arXiv 2512.07647.
/// Domain    0 < lost < 1, score_stddev >= 0.
/// Limits    score_stddev = 0: 1 - lost.
/// Errors    std::domain_error for an argument outside the domain.
/// Accuracy  16 eps (1 + x^2 + y^2) relative, y the bound of g: tests/laws/top_scores.cpp.
template <Real T>
T top_share_needed(const T& lost, const T& score_stddev) {
  using std::sqrt;
  detail::require_fraction("laws::top_share_needed", "lost", lost);
  require_non_negative("laws::top_share_needed", "score_stddev", score_stddev);
  return math::normal_tail(T(score_stddev - sqrt(T(2)) * boost::math::erfc_inv(T(T(2) * lost))));
}

// The double integral: docs/theory/laws.md#top-scores.
namespace detail {

/// The integral over t at one u, for 1 < n and k < n. Panels of nodes g cover all scores that matter. Those between
/// first_ and last_ cover the k-th largest of the other scores: there the nodes are values of t, too.
template <Real T>
class TopScores {
 public:
  struct Weights {
    T kept, lost;
  };

  TopScores(const T& n, const T& k, const T& x) : above_(k - T(1)), below_(n - k - T(1)), x_(x) {
    using std::exp;
    using std::log;
    using std::sqrt;
    const auto quantile = [](const T& share) { return T(sqrt(T(2)) * boost::math::erfc_inv(T(T(2) * share))); };
    const T p = k / n, middle = quantile(p);
    const T scale = sqrt(T(p * (T(1) - p) / (n + T(1)))) / density(middle);  // of t, to leading order
    // A weight given t changes with t at a rate of at most x, from no less than its mean / e^rise to no more than 1.
    // The mean is at least k / n, or about the limit, or e^(x (g_k+1 - g_1)) / n.
    const T gap = quantile(T(T(1) / (n + T(1)))) - quantile(T((k + T(1)) / (n + T(1))));
    const T of_lost = (std::min)(T(-log(math::normal_tail(T(x - middle)))), T(log(n) + x * gap));
    const T rise = (std::max)(T(-log(p)), of_lost);
    const auto end = [&](const T& sign) {
      const auto f = [&](const T& units) {
        const T t = middle + scale * units;
        return T(log_ratio(t) - t * t / T(2) + (std::min)(T(sign * x * scale * units), rise));
      };
      const auto support = log_concave_support(f, T(0), negligible_drop<T>());
      return T(middle + scale * (sign < T(0) ? support.lower : support.upper));
    };
    const T low = end(T(-1)), high = end(T(1)), reach = SampledScores<T>::reach(n);
    const T longest = T(1.25) / (T(1) + x / T(2));
    add_panels(T(-reach), low, longest);
    first_ = panels_.size();
    add_panels(low, high, (std::min)(longest, T(T(3) * scale)));
    last_ = panels_.size();
    add_panels(high, reach, longest);
    T sum = T(0);
    for (std::size_t i = first_ * order; i < last_ * order; ++i) {
      const T t = nodes_[i].g, share = nodes_[i].weight * exp(log_ratio(t));
      thresholds_.push_back({share, math::normal_tail(t), math::normal_tail(T(-t))});
      sum += share;
    }
    for (Threshold& t : thresholds_) t.weight = n * t.weight / sum;
    values_.resize(nodes_.size());
  }

  /// The integrand in log u. Not const, because it uses the room for values at the nodes.
  Weights operator()(const T& log_u) {
    using std::exp;
    const T u = exp(log_u);
    Sums later{}, earlier{};
    for (std::size_t p = panels_.size(); p-- > 0;) {
      panels_[p].own = fire(p, u);
      panels_[p].from_here = later += panels_[p].own;
    }
    Weights total{};
    for (std::size_t p = 0; p < last_ && u * nodes_[p * order].growth < most(); ++p) {
      if (first_ <= p) pass_threshold(p, u, earlier, total);
      earlier += panels_[p].own;
    }
    return total;
  }

 private:
  static constexpr std::size_t order = RunningRule<T>::order;
  struct Node {
    T g, weight, growth;  // the weight has the density of g in it; growth = e^(x g)
  };
  struct Threshold {
    T weight, above, below;  // the weights have sum n; above = P(g > t)
  };
  /// Integrals of 1 - e^-y and of y e^-y, y = u e^(x g), over scores.
  struct Sums {
    T dies = T(0), fires = T(0);
    Sums& operator+=(const Sums& other) {
      dies += other.dies;
      fires += other.fires;
      return *this;
    }
  };
  struct Panel {
    Sums own, from_here;
  };

  static const RunningRule<T>& rule() {
    static const RunningRule<T> built;
    return built;
  }

  /// The y from which on e^-y is nothing.
  static T most() {
    using std::log;
    return T(10) - T(2) * log(T(std::numeric_limits<T>::epsilon()));
  }

  static T density(const T& g) {
    using std::exp;
    using std::sqrt;
    return exp(T(-g * g / T(2))) / sqrt(T(T(2) * math::pi<T>()));
  }

  void add_panels(const T& low, const T& high, const T& longest) {
    using std::ceil;
    using std::exp;
    if (!(low < high)) return;
    const int count = static_cast<int>(ceil(T((high - low) / longest)));
    const T half = (high - low) / T(double(2 * count));
    for (int p = 0; p < count; ++p) {
      for (std::size_t i = 0; i < order; ++i) {
        const T g = low + half * (T(double(2 * p + 1)) + rule().node[i]);
        nodes_.push_back({g, T(half * rule().weight[i] * density(g)), T(exp(T(x_ * g)))});
      }
      panels_.push_back({});
    }
  }

  /// log of P(g > t)^above_ P(g < t)^below_ over its maximum, in which nothing large cancels (Loader's deviance).
  T log_ratio(const T& t) const {
    const T others = above_ + below_;
    const auto deviance = [&](const T& count, const T& share) {
      if (!(T(0) < count)) return T(others * share);
      return T(count * math::minus_log_one_plus(T((others * share - count) / count)));
    };
    return -deviance(above_, math::normal_tail(t)) - deviance(below_, math::normal_tail(T(-t)));
  }

  Sums fire(std::size_t panel, const T& u) {
    using std::exp;
    using std::sqrt;
    const T least = sqrt(T(std::numeric_limits<T>::epsilon())), last = most();
    Sums sum{};
    for (std::size_t i = panel * order; i < (panel + 1) * order; ++i) {
      const T y = u * nodes_[i].growth;
      T dies = T(1), survives = T(0);
      if (y < T(0.5)) {
        dies = y < least ? T(y - y * y / T(2)) : T(-math::exp_minus_one(T(-y)));
        survives = T(1) - dies;
      } else if (y < last) {
        survives = exp(T(-y));
        dies = T(1) - survives;
      }
      values_[i] = {T(nodes_[i].weight * dies), T(nodes_[i].weight * (T(0) < survives ? T(y * survives) : T(0)))};
      sum += values_[i];
    }
    return sum;
  }

  /// Adds the part of the integral over t in one panel. The powers of a_0 / P(g > t) and b_0 / P(g < t), which are near
  /// 1 in long rows, are taken by what they lack.
  void pass_threshold(std::size_t panel, const T& u, const Sums& earlier, Weights& total) const {
    using std::exp;
    std::array<T, order> dies{}, fires{};  // from the panel's lower end
    for (std::size_t j = 0; j < order; ++j) {
      const Sums& value = values_[panel * order + j];
      for (std::size_t i = 0; i < order; ++i) {
        dies[i] += rule().running[j][i] * value.dies;
        fires[i] += rule().running[j][i] * value.fires;
      }
    }
    const auto log_power = [](const T& count, const T& lack) {
      if (!(T(0) < count)) return T(0);
      return lack < T(1) ? T(count * math::log_one_plus(T(-lack))) : T(-std::numeric_limits<T>::infinity());
    };
    for (std::size_t i = 0; i < order; ++i) {
      const std::size_t at = panel * order + i;
      const Threshold& t = thresholds_[at - first_ * order];
      const T above = (panels_[panel].from_here.dies - dies[i]) / t.above;
      const T below = (earlier.dies + dies[i]) / t.below;
      const T share = t.weight * exp(T(log_power(above_, above) + log_power(below_, below) - u * nodes_[at].growth));
      total.kept += share * (panels_[panel].from_here.fires - fires[i]);
      total.lost += share * (earlier.fires + fires[i]);
    }
  }

  T above_, below_, x_;  // the exponents of a_0 and b_0
  std::vector<Node> nodes_;
  std::vector<Threshold> thresholds_;
  std::vector<Panel> panels_;
  std::vector<Sums> values_;
  std::size_t first_ = 0, last_ = 0;
};

/// The step in log u of the trapezoidal rule. log Z is x times the mean score plus what is independent of it, so that
/// the integrand is smoothed by a normal law of variance x^2 / n, and the relative error of a step h is about
/// exp(-pi^2 / h - 2 pi^2 x^2 / (n h^2)).
template <Real T>
T top_scores_step(const T& n, const T& x) {
  using std::log;
  using std::sqrt;
  const T pi = math::pi<T>(), digits = T(2) - log(T(std::numeric_limits<T>::epsilon()));
  return (pi * pi + pi * sqrt(T(pi * pi + T(8) * digits * x * x / n))) / (T(2) * digits);
}

/// Accepts what top_scores_weight does, but for top_count.
template <Real T>
void require_top_scores(std::string_view where, const T& row_length, const T& score_stddev) {
  require_whole(where, "row_length", row_length, 1);
  if (!(row_length <= T(1e15))) throw_domain_error(where, "row_length is too large", row_length, "at most 1e15");
  require_width(where, "score_stddev", score_stddev, widest_top_scores);
}

}  // namespace detail

template <Real T>
TopScoresWeight<T> top_scores_weight(const Count<T>& row_length, const Count<T>& top_count, const T& score_stddev) {
  using std::exp;
  constexpr auto where = "laws::top_scores_weight";
  const T &n = row_length, &k = top_count, &x = score_stddev;
  detail::require_top_scores(where, n, x);
  detail::require_whole(where, "top_count", k, 1);
  if (!(k <= n))
    throw_domain_error(where, "top_count is more than row_length", k, "at most " + incontext::detail::contract_text(n));
  if (n <= k) return {T(1), T(0), T(0)};
  if (x <= T(0)) return {T(k / n), T((n - k) / n), T(0)};
  // Without much smoothing the tail e^log u on the left is long. There log u = v - e^-(v + 1) makes it short.
  const T smooth = detail::top_scores_step(n, x), shortest = detail::row_step<T>(1);
  const bool bent = smooth < T(3) * shortest;
  const T step = bent ? T(T(0.86) * shortest) : smooth, start = detail::turning_point(n, x);
  detail::TopScores<T> at(n, k, x);
  const auto term = [&](const T& v) {
    const T steep = bent ? T(exp(T(-v - T(1)))) : T(0);
    auto value = at(T(start + v - steep));
    value.kept *= step * (T(1) + steep);
    value.lost *= step * (T(1) + steep);
    return value;
  };
  const auto origin = term(T(0));
  auto sum = origin;
  const T cut = detail::negligible_part<T>();
  for (const T& direction : {step, T(-step)}) {
    auto previous = origin;
    for (int i = 1; i < 100000; ++i) {
      const auto value = term(T(T(double(i)) * direction));
      sum.kept += value.kept;
      sum.lost += value.lost;
      if (value.kept <= (std::min)(previous.kept, T(cut * sum.kept)) &&
          value.lost <= (std::min)(previous.lost, T(cut * sum.lost)))
        break;
      previous = value;
    }
  }
  const T off = math::magnitude(T(sum.kept + sum.lost - T(1))), tolerance = numerics::quadrature_tolerance<T>();
  if (off <= tolerance) return {(std::min)(sum.kept, T(1)), sum.lost, off};
  throw numerics::QuadratureError(where, static_cast<double>(off), static_cast<double>(tolerance));
}

template <Real T>
T top_scores_needed(const Count<T>& row_length, const T& lost, const T& score_stddev) {
  using std::ceil;
  using std::sqrt;
  constexpr auto where = "laws::top_scores_needed";
  const T &n = row_length, &x = score_stddev;
  detail::require_top_scores(where, n, x);
  detail::require_fraction(where, "lost", lost);
  // the probit of the lost weight rises by about as much as t, the quantile of k / n
  const auto quantile = [](const T& share) { return T(-sqrt(T(2)) * boost::math::erfc_inv(T(T(2) * share))); };
  T low = T(0), high = n, guess = n * top_share_needed(lost, x);
  for (int i = 1; T(1) < high - low; ++i) {
    if (i % 3 == 0) guess = sqrt(T((std::max)(low, T(1)) * high));
    const T k = (std::min)((std::max)(T(ceil(guess)), T(low + T(1))), T(high - T(1)));
    const T here = top_scores_weight<T>(n, k, x).lost;
    (here <= lost ? high : low) = k;
    guess = n * math::normal_tail(T(quantile(lost) - quantile(here) - quantile(T(k / n))));
  }
  return high;
}

INCONTEXT_COMPILED(laws_top_scores, top_scores_weight<double>);
INCONTEXT_COMPILED(laws_top_scores, top_scores_needed<double>);
INCONTEXT_COMPILED(laws_top_scores, top_share_needed<double>);

}  // namespace incontext::laws
