#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/core/interval.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/log_concave.hpp"

/// The double integral of the largest weight of n normal scores: docs/theory/laws.md#largest-weight. Here g is the
/// largest score, g - d another score, and e^u = e^(s + x g):
///   E max a = n int dg phi(g) int du F_1(u) [Phi(g) - C(g, u)]^(n - 1),
///   C(g, u) = int_0^infinity dd phi(g - d) (1 - exp(-e^(u - x d))).
namespace incontext::laws::detail {

/// One number for each of the trapezoidal sums over u, g and d.
template <Real T>
struct MaximumSums {
  T u, g, d;

  T worst() const { return std::max(u, std::max(g, d)); }
};

template <Real T>
class LargestShare {
 public:
  LargestShare(const T& count, const T& score_stddev)
      : count_(count), x_(score_stddev), log_count_(log_of(count)), mode_(root(T(T(2) * log_count_))) {
    density_ = T(1) / root(T(T(2) * math::pi<T>()));
    // E[max a | g] rises with g, at a rate of at most x, from no less than 1/n to no more than 1
    const auto low = [this](const T& g) { return log_density(g); };
    const auto high = [this](const T& g) { return T(log_density(g) + std::min(T(x_ * (g - mode_)), log_count_)); };
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
    const T curve = root(T(std::min(ahead, T(0)) * std::min(ahead, T(0)) + T(2) * drop));
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

}  // namespace incontext::laws::detail
