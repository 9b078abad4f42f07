#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::laws {

/// Expected largest weight of a softmax row of n independent normal scores.
///
/// \f[ E \max_j a_j = n \int ds \int dg\, \varphi(g) F_1(s + x g)
///     \Bigl[\int_{-\infty}^g dg'\, \varphi(g') e^{-e^{s + x g'}}\Bigr]^{n-1},\qquad F_1(y) = e^{y - e^y} \f]
///
/// Each of the three integrals, over s, over the largest score g and over the distance g - g' of another score below
/// it, is a trapezoidal sum. Such sums converge fast here, because the integrands are smooth and fall at both ends
/// either doubly exponentially or like a normal density. A step is halved until doubling it would change the result by
/// less than the tolerance; that change is its part of the error estimate.
///
/// Source    derived: docs/theory/laws.md#largest-weight.
/// Units     score_stddev = beta times the standard deviation of the scores, dimensionless.
/// Domain    1 <= row_length <= 1e200 and whole, score_stddev >= 0.
/// Limits    row_length = 1: 1; score_stddev = 0: 1/n; score_stddev -> infinity: 1.
/// Errors    std::domain_error for row_length or score_stddev outside the domain; numerics::QuadratureError.
/// Accuracy  2e-13 relative up to 9e15 scores: tests/laws/gaussian_maximum.cpp, precision_slow.cpp.
template <Real T>
numerics::Quadrature<T> largest_weight(const Count<T>& row_length, const T& score_stddev);

// The double integral of the largest weight of n normal scores: docs/theory/laws.md#largest-weight. Here g is the
// largest score, g - d another score, and e^u = e^(s + x g):
//   E max a = n int dg phi(g) int du F_1(u) [Phi(g) - C(g, u)]^(n - 1),
//   C(g, u) = int_0^infinity dd phi(g - d) (1 - exp(-e^(u - x d))).
namespace detail {

/// One number for each of the trapezoidal sums over u, g and d.
template <Real T>
struct MaximumSums {
  T u, g, d;

  T worst() const { return (std::max)(u, (std::max)(g, d)); }
};

template <Real T>
class LargestShare {
 public:
  LargestShare(const T& count, const T& score_stddev)
      : count_(count), x_(score_stddev), log_count_(log_of(count)), mode_(root(T(T(2) * log_count_))) {
    density_ = T(1) / root(T(T(2) * math::pi<T>()));
    // E[max a | g] rises with g, at a rate of at most x, from no less than 1/n to no more than 1
    const auto low = [this](const T& g) { return log_density(g); };
    const auto high = [this](const T& g) { return T(log_density(g) + (std::min)(T(x_ * (g - mode_)), log_count_)); };
    range_ = {log_concave_support(low, mode_, negligible_drop<T>()).lower,
              log_concave_support(high, mode_, negligible_drop<T>()).upper};
  }

  /// Steps so short that sums with twice these steps should reach the tolerance too.
  MaximumSums<T> steps(const T& tolerance) const {
    const T pi = math::pi<T>(), per_unit = T(-2) * log_of(tolerance) / (pi * pi);
    return {T(0.6) / per_unit, T(1) / (mode_ * per_unit + root(T(per_unit / T(2)))),
            T(1) / (T(1.5) * per_unit + T(0.9) * mode_ * root(per_unit))};
  }

  /// The integral. Sets `change` to its relative change when one of the steps is doubled, for each step.
  T integrate(const MaximumSums<T>& step, MaximumSums<T>& change) {
    using std::ceil;
    using std::floor;
    place_exponents(step.u);
    place_distances(step.d);
    tabulate();
    Sums sums{};
    const int first = static_cast<int>(floor(T(range_.lower / step.g)));
    const int last = static_cast<int>(ceil(T(range_.upper / step.g)));
    for (int i = first; i <= last; ++i) add(T(T(double(i)) * step.g), sums.of[i & 1], sums.distances);
    const T even = sums.of[0][0] + sums.of[0][1], total = even + sums.of[1][0] + sums.of[1][1];
    const auto off = [&](const T& half) { return math::magnitude(T(T(2) * half / total - T(1))); };
    change = {off(T(sums.of[0][0] + sums.of[1][0])), off(even), math::magnitude(T(sums.distances / total))};
    return total * step.u * step.g;
  }

 private:
  struct Sums {
    T of[2][2];   // over even and odd nodes in g, then in u
    T distances;  // to first order, the change if d had its even nodes alone
  };
  struct Node {
    T place, weight;
  };

  static T root(const T& value) {
    using std::sqrt;
    return sqrt(value);
  }
  static T log_of(const T& value) {
    using std::log;
    return log(value);
  }

  /// Logarithm of the density of the largest score, up to a constant.
  T log_density(const T& g) const {
    return (count_ - T(1)) * math::log_one_plus(T(-math::normal_tail(g))) - g * g / T(2);
  }

  /// Nodes in t = e^u with u = v - e^-(v + log n). The integrand falls off doubly exponentially in v at both ends: on
  /// the left because of this substitution, on the right because of e^-t.
  void place_exponents(const T& step) {
    using std::ceil;
    using std::exp;
    using std::floor;
    const T reach = log_of(negligible_drop<T>());
    const int first = static_cast<int>(floor(T((-log_count_ - reach) / step)));
    const int last = static_cast<int>(ceil(T(reach / step)));
    odd_exponent_ = static_cast<std::size_t>(first & 1);
    exponents_.clear();
    for (int j = first; j <= last; ++j) {
      const T v = T(double(j)) * step, steep = exp(T(-v - log_count_)), u = v - steep, t = exp(u);
      exponents_.push_back({t, T((T(1) + steep) * exp(T(u - t)))});
    }
  }

  /// Nodes in d = scale exp(v - e^-v), out to where a score has no effect even for the largest t.
  void place_distances(const T& step) {
    using std::ceil;
    using std::exp;
    using std::floor;
    const T scale = T(1) / (T(1) + x_), ahead = range_.upper - x_, drop = negligible_drop<T>() + T(5);
    const T curve = root(T((std::min)(ahead, T(0)) * (std::min)(ahead, T(0)) + T(2) * drop));
    const T end = ahead < T(0) ? T(T(2) * drop / (curve - ahead)) : T(ahead + curve);
    const int first = static_cast<int>(floor(T(-log_of(negligible_drop<T>()) / step)));
    const int last = static_cast<int>(ceil(T(log_of(T(T(1) + end / scale)) / step)));
    odd_distance_ = static_cast<std::size_t>(first & 1);
    distances_.clear();
    for (int i = first; i <= last; ++i) {
      const T v = T(double(i)) * step, steep = exp(T(-v)), d = scale * exp(T(v - steep));
      distances_.push_back({d, T(density_ * step * (T(1) + steep) * d)});
    }
  }

  /// The kernel 1 - exp(-e^(u - x d)), which does not depend on g, so that one table serves every g.
  void tabulate() {
    using std::exp;
    kernel_.clear();
    for (const Node& d : distances_) {
      const T decay = exp(T(-x_ * d.place));
      for (const Node& t : exponents_) kernel_.push_back(T(-math::exp_minus_one(T(-t.place * decay))));
    }
  }

  void add(const T& g, T (&sums)[2], T& distances) {
    using std::exp;
    const std::size_t size = exponents_.size();
    for (auto& part : lost_) part.assign(size, T(0));
    for (std::size_t i = 0; i < distances_.size(); ++i) {
      const T below = g - distances_[i].place, weight = distances_[i].weight * exp(T(-below * below / T(2)));
      T* const part = lost_[(i + odd_distance_) & 1].data();
      const T* const kernel = kernel_.data() + i * size;
      for (std::size_t j = 0; j < size; ++j) part[j] += weight * kernel[j];
    }
    const T above = math::normal_tail(g), own = count_ * density_ * exp(T(-g * g / T(2)));
    for (std::size_t j = 0; j < size; ++j) {
      const T missing = above + lost_[0][j] + lost_[1][j];
      if (!(missing < T(1))) break;
      const T term = own * exponents_[j].weight * exp(T((count_ - T(1)) * math::log_one_plus(T(-missing))));
      sums[(j + odd_exponent_) & 1] += term;
      distances += term * (count_ - T(1)) * (lost_[0][j] - lost_[1][j]) / (T(1) - missing);
    }
  }

  T count_, x_, log_count_, mode_, density_ = T(1);
  Interval<T> range_{};
  std::vector<Node> exponents_, distances_;
  std::vector<T> kernel_, lost_[2];
  std::size_t odd_exponent_ = 0, odd_distance_ = 0;
};

}  // namespace detail

template <Real T>
numerics::Quadrature<T> largest_weight(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  detail::require_whole("laws::largest_weight", "row_length", n, 1);
  require_non_negative("laws::largest_weight", "score_stddev", score_stddev);
  if (!(n <= T(1e200))) throw_domain_error("laws::largest_weight", "row_length is too large", n, "at most 1e200");
  if (n <= T(1)) return {T(1), T(0)};
  detail::LargestShare<T> share(n, score_stddev);
  const T tolerance = numerics::quadrature_tolerance<T>();
  auto steps = share.steps(tolerance);
  detail::MaximumSums<T> change{};
  for (int i = 0; i < 4; ++i) {
    const T value = share.integrate(steps, change);
    if (change.worst() <= tolerance) return {value, T(value * (change.u + change.g + change.d))};
    for (T detail::MaximumSums<T>::*one :
         {&detail::MaximumSums<T>::u, &detail::MaximumSums<T>::g, &detail::MaximumSums<T>::d}) {
      if (!(change.*one <= tolerance)) steps.*one = steps.*one / T(2);
    }
  }
  throw numerics::QuadratureError("laws::largest_weight", static_cast<double>(change.worst()),
                                  static_cast<double>(tolerance));
}

INCONTEXT_COMPILED(laws_gaussian_maximum, largest_weight<double>);

}  // namespace incontext::laws
