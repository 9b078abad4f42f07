#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// The context length from which a kernel pays, over d^2, in high dimension: there the context-adaptive step overtakes
/// the linear one.
///
/// \f[ \lim_{d \to \infty} \frac{n^*}{d^2} = k\,\frac{4 (\alpha k)^2 \langle \tau' \rangle - 2 \langle \rho \rangle}
///     {\frac12 \langle \rho (\langle B^2 \rangle + B^2) \rangle - \alpha k \langle \Gamma \rangle} \f]
///
/// Below n* the best kappa of the adaptive step is not positive, because the noise of a short context makes narrower
/// kernels worse; above, the bias of the linear step, whose class means are not normal to the boundaries of cells,
/// makes them better. Both steps use their best learning rates. In low dimension n*/d^2 is smaller.
///
/// Source    derived: docs/theory/classification.md#onset, which defines the averages over the boundary of a cell.
/// Units     points per squared dimension.
/// Domain    3 <= classes <= 512; for two classes the linear step has no bias, and n* is infinite.
/// Limits    classes 3: 4.666; 5: 4.801; 10: 6.107.
/// Errors    std::invalid_argument for classes.
/// Accuracy  of the limit, 1e-13 relative in double (tests/classification/adaptive_onset.cpp).
template <Real T>
T adaptive_onset_ratio(std::int64_t classes);

// The boundary between two cells in high dimension, over which the onset averages.
namespace detail {

/// What a boundary between two of k cells looks like in high dimension, where the scaled inner products with the
/// prototypes are independent standard normals: the two largest are equal, tau, and the others are below tau.
template <Real T>
class CellBoundary {
 public:
  explicit CellBoundary(std::int64_t classes) : k_(T(static_cast<double>(classes))), others_(classes - 3) {
    using std::log;
    using std::sqrt;
    const T digits = -log(T(std::numeric_limits<T>::epsilon()));  // beyond the edges the density is below rounding
    for (T edge = -sqrt(digits); edge < sqrt(T(T(2) * digits)) + T(2); edge += T(0.5)) edges_.push_back(edge);
    total_ = face([](const T&) { return T(1); });
    const auto moment = [this](const auto& f) { return this->cell(f); };
    p1_ = moment([](const T& t, const T&) { return T(t * t - T(1)); });
    p3_ = moment([](const T& t, const T& r) { return T(-t * r); });
    p4_ = moment([](const T&, const T& r) { return T(r * r); });
    mean_ = moment([](const T& t, const T&) { return t; });
    x1_ = moment([](const T& t, const T& r) { return T(-(t * t * t - T(3) * t) * r); });
    x2_ = moment([](const T& t, const T& r) { return T(-(t * t - T(1)) * t * r); });
    x3_ = moment([](const T& t, const T& r) { return T((t * t - T(1)) * r * r); });
    x5_ = moment([](const T& t, const T& r) { return T(t * t * r * r); });
    x7_ = moment([](const T& t, const T& r) { return T(-t * r * r * r); });
    z4_ = moment([](const T&, const T& r) { return T(r * r * r * r); });
    const T f1 = face([](const T& t) { return T(t * t); }) / total_;
    const T f2 = face([](const T& t) { return T(-t * ratio(t)); }) / total_;
    const T f3 = face([](const T& t) { return T(ratio(t) * ratio(t)); }) / total_;
    own_ = f1 - T(2) * f2 + f3;
    all_ = (f2 - f3) - (p3_ - p4_);
  }

  /// n* / (k d^2).
  T onset() const {
    const T slope = mean_ * k_ / (k_ - T(1)), alpha = slope / k_;
    const T tilt = T(2) * (p1_ - p3_) * k_ / (k_ - T(2));  // of the squared cosines, per unit of tau - mean
    const T above = average([&](const Place& at) { return at.above; });
    const T bias = average([&](const Place& at) { return at.own_bias(*this) * at.own_bias(*this) * count(); });
    const T biased_tilt =
        average([&](const Place& at) { return tilt * at.above * at.own_bias(*this) * at.own_bias(*this) * count(); });
    const T joint = average([&](const Place& at) { return at.own_bias(*this) * at.own_bend(*this) * count(); });
    const T square = T(2) * alpha * alpha, product = T(2) * alpha;
    const T noise = T(4) * slope * slope * above - T(2) * tilt * above;
    const T gain = (tilt * above * square * bias + square * biased_tilt) / T(2) - slope * product * joint;
    return noise / gain;
  }

 private:
  /// A point of the boundary: tau, the coordinate u of one other class, and sum and squares of the rest.
  struct Place {
    T tau, u, sum, squares, above, distance;

    T own_bias(const CellBoundary& b) const { return b.own_ * (tau - u) + b.all_ * distance; }

    /// What an overlap with that class's prototype does to the difference of the two classes' mean squared cosines.
    T own_bend(const CellBoundary& b) const {
      const T all = sum + u, whole = squares + u * u, tt = tau * tau, next = tau + sum;
      const T one = tt * b.x1_ + T(2) * tau * u * b.x2_ + T(2) * tau * next * b.x3_ + u * u * b.x2_ +
                    (T(2) * u * next + tt + squares) * b.x5_ + (next * next - tt - squares) * b.x7_;
      const T other = tt * b.x3_ + T(2) * tau * (tau + u) * b.x5_ + (tt + u * u) * b.x3_ + T(2) * tau * u * b.x5_ +
                      (T(2) * tau * sum + T(2) * tau * sum + T(2) * u * sum + squares) * b.x7_ +
                      (sum * sum - squares) * b.z4_;
      const T level = b.p1_ * tt + b.p3_ * (tt + whole) + T(2) * b.p3_ * tau * (tau + all) +
                      b.p4_ * ((tau + all) * (tau + all) - tt - whole);
      return one - other - (b.p3_ - b.p4_) * level;
    }
  };

  static T below(const T& t) { return math::normal_tail(T(-t)); }
  static T density(const T& t) {
    using std::exp;
    return exp(T(-t * t / T(2))) / boost::math::constants::root_two_pi<T>();
  }
  static T ratio(const T& t) { return density(t) / below(t); }

  T count() const { return k_ - T(2); }

  /// E f(tau, density / Phi) over the largest of k.
  template <class Function>
  T cell(const Function& f) const {
    using std::pow;
    return panel_integral(
        edges_, [&](const T& t) { return T(k_ * density(t) * pow(below(t), T(k_ - T(1))) * f(t, ratio(t))); });
  }
  /// Integral of f(tau) over the boundary.
  template <class Function>
  T face(const Function& f) const {
    using std::pow;
    return panel_integral(edges_,
                          [&](const T& t) { return T(density(t) * density(t) * pow(below(t), count()) * f(t)); });
  }

  /// Mean over the boundary of a polynomial of the others' coordinates of degree 3: the two nodes of Gauss's rule for a
  /// normal truncated at tau are exact.
  template <class Function>
  T average(const Function& f) const {
    using std::sqrt;
    return face([&](const T& tau) {
             const T r = ratio(tau), mean = -r, variance = T(1) - tau * r - r * r;
             const T third = -r * (tau * tau + T(2)) - T(3) * mean * variance - mean * mean * mean;
             const T skew = third / variance, root = sqrt(T(variance + skew * skew / T(4)));
             const T node[] = {mean + skew / T(2) + root, mean + skew / T(2) - root};
             const T share[] = {(mean - node[1]) / (T(2) * root), (node[0] - mean) / (T(2) * root)};
             T sum = T(0), chance = T(1);
             for (std::int64_t i = 0; i < others_; ++i) chance *= share[1];
             for (std::int64_t i = 0; i <= others_; ++i) {  // i of the rest are at the first node
               const T at_first = T(static_cast<double>(i)), at_second = T(static_cast<double>(others_ - i));
               for (int j = 0; j < 2; ++j) {
                 Place at{tau,
                          node[j],
                          at_first * node[0] + at_second * node[1],
                          at_first * node[0] * node[0] + at_second * node[1] * node[1],
                          T(0),
                          T(0)};
                 at.above = tau - (T(2) * tau + at.u + at.sum) / k_;
                 at.distance = count() * tau - at.u - at.sum;
                 sum += chance * share[j] * f(at);
               }
               if (i < others_) chance *= at_second / (at_first + T(1)) * share[0] / share[1];
             }
             return sum;
           }) /
           total_;
  }

  T k_;
  std::int64_t others_;
  std::vector<T> edges_;
  T total_, p1_, p3_, p4_, mean_, x1_, x2_, x3_, x5_, x7_, z4_, own_, all_;
};

}  // namespace detail

template <Real T>
T adaptive_onset_ratio(std::int64_t classes) {
  constexpr auto where = "classification::adaptive_onset_ratio";
  require_at_least(where, "classes", classes, std::int64_t{3});
  if (classes > 512) throw_invalid_argument(where, "classes is too large", classes, "at most 512");
  return T(static_cast<double>(classes)) * detail::CellBoundary<T>(classes).onset();
}

}  // namespace incontext::classification
