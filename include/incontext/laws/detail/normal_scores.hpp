#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// Expectations over one normal score z = x g, g ~ N(0, 1), that the laws of a row are made of:
/// psi(s) = E exp(-e^y) and T_k,l(s) = E[(g - c)^l e^(k y - e^y)], y = s + x g.
///
/// Every integrand is log-concave in g with curvature at least 1 and analytic, so the trapezoidal rule converges
/// exponentially and a sum from the peak outwards may stop at the first negligible term.
namespace incontext::laws::detail {

/// The expectations at one s: T_k,l(s) about the center c at which T_1,1 is zero, log psi(s), and the surprise, whose
/// integral with n psi^(n - 1) is the entropy: -E[(y + gamma) e^(y - e^y)] with Euler's gamma, or its form of order 2.
template <Real T>
struct ScoreMoments {
  T log_psi;
  T center, surprise;
  T first, first_2;                                  // T_1,0 and T_1,2
  T second, second_1, second_2, second_3, second_4;  // T_2,0 ... T_2,4
  T third, fourth;                                   // T_3,0 and T_4,0
};

/// Lambert's function of e^l, W(e^l): the root of w + log w = l, to the few digits that a starting point needs.
template <Real T>
T lambert_of_exp(const T& l) {
  using std::exp;
  using std::log;
  T w = l < T(0) ? T(exp(l)) : T(l < T(1) ? T(0.6) : T(l - log(l) * T(0.9)));
  if (l < T(-30)) return w;
  for (int i = 0; i < 4; ++i) {
    const T next = w * (T(1) + l - log(w)) / (T(1) + w);
    w = next;
  }
  return w;
}

template <Real T>
class NormalScores {
 public:
  using value_type = T;

  explicit NormalScores(const T& x) : x_(x) {
    using std::log;
    using std::sqrt;
    const T digits = T(10) - log(T(std::numeric_limits<T>::epsilon()));
    const T pi = math::pi<T>();
    cut_ = T(std::numeric_limits<T>::epsilon()) / T(64);
    // Errors of the rule: exp(-pi^2 / step) from the kernel in y, exp(-2 pi^2 / step^2) from the density in g.
    per_unit_ = digits / (pi * pi);
    step_ = T(1) / (x * per_unit_ + sqrt(T(per_unit_ / T(2))));
    by_parts_ = T(2) < x;
    density_ = T(1) / sqrt(T(2) * pi);
  }

  const T& score_stddev() const { return x_; }

  /// log E exp(-e^(s + x g)), from the smaller of psi and 1 - psi.
  T log_psi(const T& s) const {
    using std::log;
    if (s <= T(0)) return math::log_one_plus(T(-complement(s)));
    return log(psi(s));
  }

  /// 1 - psi. For wide scores it is integrated by parts, which leaves a kernel that falls off on both sides:
  /// int dy e^(y - e^y) P(x g > y - s).
  T complement(const T& s) const {
    using std::exp;
    if (by_parts_) {
      return x_ * sum_from(peak(s, 1), [](const T&, const T& g, const T& y) {
               return T(exp(T(y - exp(y))) * math::normal_tail(g));
             });
    }
    return density_ * sum_from(peak(s, 1), [](const T&, const T& g, const T& y) {
             return T(-math::exp_minus_one(T(-exp(y))) * exp(T(-g * g / T(2))));
           });
  }

  T psi(const T& s) const {
    using std::exp;
    if (by_parts_) {
      return x_ * sum_from(peak(s, 1), [](const T&, const T& g, const T& y) {
               return T(exp(T(y - exp(y))) * math::normal_tail(T(-g)));
             });
    }
    return density_ *
           sum_from(peak(s, 0), [](const T&, const T& g, const T& y) { return T(exp(T(-g * g / T(2) - exp(y)))); });
  }

  /// T_1,0 alone.
  T first(const T& s) const {
    using std::exp;
    return density_ *
           sum_from(peak(s, 1), [](const T&, const T& g, const T& y) { return T(exp(T(y - exp(y) - g * g / T(2)))); });
  }

  ScoreMoments<T> moments(const T& s) const {
    using std::exp;
    std::vector<Node> nodes;
    // The kernel alone has mean -gamma. For wide scores the density changes this little, and the change is summed.
    const bool wide = T(16) < x_;
    const T middle = -s / x_, euler = boost::math::constants::euler<T>();
    T total = T(0), mean = T(0), surprise = T(0);
    const Start origin = peak(s, 1);
    const T unit = exp(T(-origin.y));  // rescales the stopping rule below, which would underflow in long rows
    sum_from(origin, [&](const T& offset, const T& g, const T& y) {
      const T e = exp(y), kernel = e * exp(T(-e)), weight = kernel * exp(T(-g * g / T(2)));
      nodes.push_back({offset, e, weight});
      total += weight;
      mean += weight * offset;
      if (wide) {
        const T place = y / x_, tilt = -(middle + place / T(2)) * place;
        surprise -= kernel * (y + euler) * math::exp_minus_one(tilt);
      }
      // on the right T_4 is the last to become negligible, on the left T_1
      const T rise = e * unit;
      return offset <= T(0) ? weight : T(weight * rise * rise * rise);
    });
    ScoreMoments<T> m = centered(nodes, T(mean / total));
    m.center = origin.g + mean / total;
    m.surprise = wide ? T(surprise * exp(T(-middle * middle / T(2))) * step_ * density_)
                      : T(-(euler + origin.y + x_ * (mean / total)) * m.first);
    m.log_psi = log_psi(s);
    return m;
  }

 private:
  struct Start {
    T g, y;
  };
  struct Node {
    T offset, e, weight;
  };

  /// Peak of e^(k y - e^y - g^2/2): g = k x - W / x, where W e^W = x^2 e^(s + k x^2), Lambert's function. One of g and
  /// y = s + x g follows from the other: y from g for x <= 1, g from y for wider scores, so that no digits are lost.
  Start peak(const T& s, int k) const {
    using std::log;
    if (!(T(1e-4) < x_)) return {T(0), s};
    const T shift = T(double(k)) * x_;
    const T log_square = T(2) * log(x_);
    const T w = lambert_of_exp(T(s + x_ * shift + log_square));
    const T g = shift - w / x_;
    if (x_ <= T(1)) return {g, s + x_ * g};
    const T y = T(0) < w ? T(log(w) - log_square) : T(s + x_ * g);
    return {(y - s) / x_, y};
  }

  /// Trapezoidal sum of a positive function of (g - start, g, y), from a node near its peak outwards. Each side ends at
  /// a term that is smaller than the one before it and negligible in the sum of that side.
  template <class Function>
  T sum_from(const Start& origin, const Function& f) const {
    T sum = f(T(0), origin.g, origin.y);
    for (const T& direction : {step_, T(-step_)}) {
      T side = T(0), previous = T(0);
      for (int i = 1; i < 100000; ++i) {
        const T offset = T(double(i)) * direction;
        const T term = f(offset, T(origin.g + offset), T(origin.y + x_ * offset));
        side += term;
        if (term <= cut_ * side && term <= previous) break;
        previous = term;
      }
      sum += side;
    }
    return sum * step_;
  }

  ScoreMoments<T> centered(const std::vector<Node>& nodes, const T& mean) const {
    ScoreMoments<T> m{};
    for (const Node& node : nodes) {
      const T u = node.offset - mean;
      const T u2 = u * u;
      const T second = node.weight * node.e;
      m.first += node.weight;
      m.first_2 += node.weight * u2;
      m.second += second;
      m.second_1 += second * u;
      m.second_2 += second * u2;
      m.second_3 += second * u2 * u;
      m.second_4 += second * u2 * u2;
      m.third += second * node.e;
      m.fourth += second * node.e * node.e;
    }
    const T scale = step_ * density_;
    for (T* entry :
         {&m.first, &m.first_2, &m.second, &m.second_1, &m.second_2, &m.second_3, &m.second_4, &m.third, &m.fourth}) {
      *entry = *entry * scale;
    }
    return m;
  }

  T x_, per_unit_, step_, cut_, density_;
  bool by_parts_ = false;
};

}  // namespace incontext::laws::detail
