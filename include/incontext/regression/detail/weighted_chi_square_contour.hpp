#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "incontext/core/math.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// The law of sigma^2 = sum_j lambda_j zeta_j^2, zeta_j normal with means nu_j and variance 1, by a contour integral
/// through the saddle point: docs/theory/regression.md#softmax-error.
namespace incontext::regression::detail {

/// What the averages over such a law share: the density of u, and the contour.
template <Real T>
class WeightedChiSquareContour {
 public:
  /// lambda_j >= 0, not all zero.
  WeightedChiSquareContour(std::string_view where, const Vector<T>& lambda, Vector<T> mean)
      : where_(where), mean_(std::move(mean)) {
    using std::sqrt;
    const T largest = lambda.maxCoeff();
    share_ = (lambda / largest).cwiseMax(T(0.0));
    deviation_ = sqrt(largest);
    peak_ = sqrt(T((share_.array() * (T(1.0) + mean_.array().square())).sum()));
  }

  T start() const { return place_of_radius(peak_); }

  /// The logarithm of the density in u by the saddle-point approximation, which finds where the density matters.
  T log_density(const T& u) const {
    using std::log;
    const T r = radius(u), q = r * r;
    const Saddle saddle = saddle_at(q);
    return saddle.exponent + log(T(q * radius_rate(u))) - log(saddle.curvature) / T(2.0);
  }

 protected:
  /// Of K(y) = (y - 1) q / 2 - (1/2) sum log f_j - (1/2) sum nu_j^2 (1 - 1/f_j), f_j = 1 - rho_j + rho_j y, y > 0 real,
  /// lambda_max = 1.
  struct Saddle {
    T exponent;            // K
    Vector<T> factor;      // f_j
    Vector<T> slopes;      // w_j = rho_j / f_j
    Vector<T> noncentral;  // m_j = nu_j^2 / f_j
    T curvature;           // 2 K'' = sum (1 + 2 m_j) w_j^2
  };

  /// One point of the contour: the complex number to multiply, and the complex numbers 1 / f_j.
  struct Node {
    T real, imaginary;
    Vector<T> inverse_real, inverse_imaginary;
  };

  /// sum (1 + m_j) w_j = q falls convexly from y = 1/q, where it is at least q: Newton's steps stay on that side.
  Saddle saddle_at(const T& q) const {
    using std::log;
    const Vector<T> rest = (T(1.0) - share_.array()).matrix();
    T y = T(1.0) / q;
    Saddle saddle{};
    for (int i = 0; i < 200; ++i) {
      place(saddle, Vector<T>(rest + y * share_));
      const T step = (saddle.slopes.dot((T(1.0) + saddle.noncentral.array()).matrix()) - q) / saddle.curvature;
      y += step;
      if (!(T(4.0) * Eigen::NumTraits<T>::epsilon() * y < step)) break;
    }
    place(saddle, Vector<T>(rest + y * share_));
    saddle.exponent = (y - T(1.0)) * q / T(2.0);
    for (Eigen::Index j = 0; j < share_.size(); ++j) {
      const T& f = saddle.factor(j);
      saddle.exponent -= (log(f) + mean_(j) * mean_(j) * (f - T(1.0)) / f) / T(2.0);
    }
    return saddle;
  }

  void place(Saddle& saddle, Vector<T> factor) const {
    saddle.factor = std::move(factor);
    saddle.slopes = share_.cwiseQuotient(saddle.factor);
    saddle.noncentral = mean_.cwiseAbs2().cwiseQuotient(saddle.factor);
    saddle.curvature = ((T(1.0) + T(2.0) * saddle.noncentral.array()) * saddle.slopes.array().square()).sum();
  }

  /// The parabola y = y_0 + i t - c t^2 of steepest descent, made flatter where it would pass so near to the essential
  /// singularity of a coordinate with a large mean that |e^K| grows there.
  static T bend(const T& q, const Saddle& saddle) {
    const auto w = saddle.slopes.array(), m = saddle.noncentral.array();
    T c = ((T(1.0) + T(3.0) * m) * w.cube()).sum() / (T(3.0) * saddle.curvature);
    const T apart = T(5.8);  // 3 + 2 sqrt 2: the real part of 1/f_j grows nowhere faster than the rest falls
    for (Eigen::Index j = 0; j < w.size(); ++j) {
      const T pulled = m(j) / q;
      if (!(apart * w(j) < c) || !(T(1.0) < pulled * pulled * c * w(j))) continue;
      c = (std::min)(c, (std::max)(T(apart * w(j)), T(T(1.0) / (pulled * pulled * w(j)))));
    }
    return c;
  }

  /// log |e^(K(y) - K(y_0))|.
  static T log_size(const T& t, const T& c, const T& q, const Saddle& saddle) {
    using std::log;
    const Eigen::Array<T, Eigen::Dynamic, 1> x = T(1.0) - c * t * t * saddle.slopes.array();
    const Eigen::Array<T, Eigen::Dynamic, 1> square = x.square() + (t * saddle.slopes.array()).square();
    return (saddle.noncentral.array() * (x / square - T(1.0)) - square.log() / T(2.0)).sum() / T(2.0) -
           c * t * t * q / T(2.0);
  }

  /// (1 / 2 pi i) int dp e^(pq) E[h e^(-p sigma^2)] e^-K for several h, p = (y - 1) / 2; `values` gives the transforms
  /// of all h over that of 1, times the number of a node.
  template <class Values, class Transforms>
  Values contour(const T& q, const Saddle& saddle, const Values& zero, const Transforms& values) const {
    using std::sqrt;
    const T c = bend(q, saddle), drop = laws::negligible_drop<T>();
    T reach = sqrt(T(T(2.0) * drop / (saddle.slopes.sum() * c)));
    for (T shorter = reach * T(0.75); log_size(shorter, c, q, saddle) < -drop; shorter = shorter * T(0.75))
      reach = shorter;
    const auto sums = numerics::integrate_bumps(
        where_,
        [&](const T& unit) {
          const T t = reach * (T(2.0) * unit - T(1.0));
          return values(node(t, c, q, saddle, T(reach / (T(2.0) * math::pi<T>()))));
        },
        zero, numerics::quadrature_tolerance<T>(), numerics::Symmetry::even);
    return sums.value;
  }

  Node node(const T& t, const T& c, const T& q, const Saddle& saddle, const T& scale) const {
    using std::atan2;
    using std::cos;
    using std::exp;
    using std::log;
    using std::sin;
    const Eigen::Index d = share_.size();
    const T real_part = -c * t * t;
    T log_size = real_part * q / T(2.0), phase = t * q / T(2.0);
    T product_re = T(1.0), product_im = T(0.0);  // of the x + i y
    bool turned = false;
    Vector<T> re(d), im(d);  // of 1 / f_j
    for (Eigen::Index j = 0; j < d; ++j) {
      const T x = T(1.0) + saddle.slopes(j) * real_part, y = saddle.slopes(j) * t, over = T(1.0) / (x * x + y * y);
      log_size += saddle.noncentral(j) / T(2.0) * (x * over - T(1.0));
      phase -= saddle.noncentral(j) * y * over / T(2.0);
      re(j) = x * over / saddle.factor(j);
      im(j) = -y * over / saddle.factor(j);
      const bool above = !(product_im < T(0.0));
      const T next = product_re * x - product_im * y;
      product_im = product_re * y + product_im * x;
      product_re = next;
      turned ^= above && product_im < T(0.0);  // t >= 0: every factor turns it to the left by less than pi
    }
    // its square root, whose sign changes at each turn
    log_size -= log(T(product_re * product_re + product_im * product_im)) / T(4.0);
    phase -= atan2(product_im, product_re) / T(2.0) + (turned ? math::pi<T>() : T(0.0));
    // times dy / (i dt) = 1 + 2 i c t
    const T size = scale * exp(log_size), along = size * cos(phase), across = size * sin(phase);
    return {T(along - T(2.0) * c * t * across), T(across + T(2.0) * c * t * along), std::move(re), std::move(im)};
  }

  std::string_view where_;
  Vector<T> mean_, share_;
  T deviation_, peak_;
};

}  // namespace incontext::regression::detail
