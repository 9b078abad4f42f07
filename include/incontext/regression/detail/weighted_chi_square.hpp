#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "incontext/core/math.hpp"
#include "incontext/laws/joint_quadrature.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// The law of sigma^2 = sum_j lambda_j e_j^2 for standard normal e: its Laplace transform is inverted along a contour
/// of steepest descent through the saddle point (docs/theory/regression.md#softmax-error).
namespace incontext::regression::detail {

template <Real T>
class WeightedChiSquareQueries {
 public:
  /// lambda_j >= 0, not all zero; the moments wanted are sum beta_j e_j^2 and sum delta_j e_j^2.
  WeightedChiSquareQueries(std::string_view where, const Vector<T>& lambda, Vector<T> beta, Vector<T> delta)
      : where_(where), beta_(std::move(beta)), delta_(std::move(delta)) {
    using std::sqrt;
    const T largest = lambda.maxCoeff();
    share_ = (lambda / largest).cwiseMax(T(0.0));
    deviation_ = sqrt(largest);
    peak_ = sqrt(T(share_.sum()));
  }

  T start() const { return place_of_radius(peak_); }

  /// The logarithm of the density in u by the saddle-point approximation, which finds where the density matters.
  T log_density(const T& u) const {
    using std::log;
    const T r = radius(u), q = r * r;
    const Saddle saddle = saddle_at(q);
    return saddle.exponent + log(T(q * radius_rate(u))) - log(T(saddle.slopes.squaredNorm())) / T(2.0);
  }

  QueryDensity<T> operator()(const T& u) const {
    using std::exp;
    const T r = radius(u), q = r * r;
    const Saddle saddle = saddle_at(q);
    const std::array<T, 3> integrals = contour(q, saddle);
    const T scale = exp(saddle.exponent) * q * radius_rate(u);
    return {T(deviation_ * r), T(scale * integrals[0]), T(scale * integrals[1]), T(scale * integrals[2])};
  }

 private:
  /// The saddle point of K(y) = (y - 1) q / 2 - (1/2) sum log(1 - rho + rho y) on the real axis, y > 0, in units in
  /// which lambda_max = 1.
  struct Saddle {
    T exponent;        // K
    Vector<T> factor;  // 1 - rho_j + rho_j y
    Vector<T> slopes;  // w_j = rho_j / factor_j
  };

  /// Newton's method for sum w_j(y) = q. The sum is convex and falls from y = 1/q, where it is at least q, so the steps
  /// never pass the root.
  Saddle saddle_at(const T& q) const {
    using std::log;
    const Vector<T> rest = (T(1.0) - share_.array()).matrix();
    T y = T(1.0) / q;
    Vector<T> slopes;
    for (int i = 0; i < 200; ++i) {
      slopes = share_.cwiseQuotient(rest + y * share_);
      const T step = (slopes.sum() - q) / slopes.squaredNorm();
      y += step;
      if (!(T(4.0) * Eigen::NumTraits<T>::epsilon() * y < step)) break;
    }
    Saddle saddle{(y - T(1.0)) * q / T(2.0), rest + y * share_, {}};
    for (Eigen::Index j = 0; j < share_.size(); ++j) saddle.exponent -= log(T(saddle.factor(j))) / T(2.0);
    saddle.slopes = share_.cwiseQuotient(saddle.factor);
    return saddle;
  }

  /// The inverse Laplace transform (1 / 2 pi i) int dp e^(pq) E[h e^(-p sigma^2)] e^-K, p = (y - 1) / 2, for h = 1, sum
  /// beta e^2 and sum delta e^2. The path y = y_0 + i t - c t^2 is the parabola that leaves the saddle point in the
  /// direction of steepest descent.
  std::array<T, 3> contour(const T& q, const Saddle& saddle) const {
    using std::sqrt;
    const Vector<T>& w = saddle.slopes;
    const T bend = w.array().cube().sum() / (T(3.0) * w.squaredNorm());
    const T reach = sqrt(T(T(2.0) * laws::negligible_drop<T>() / (q * bend)));
    const Vector<T> beta = beta_.cwiseQuotient(saddle.factor), delta = delta_.cwiseQuotient(saddle.factor);
    const auto sums = laws::integrate_bumps<3, T>(
        where_,
        [&](const T& unit) {
          const T t = reach * (T(2.0) * unit - T(1.0));
          return at(t, bend, q, w, beta, delta, T(reach / (T(2.0) * math::pi<T>())));
        },
        laws::quadrature_tolerance<T>());
    return sums.value;
  }

  static std::array<T, 3> at(const T& t, const T& bend, const T& q, const Vector<T>& w, const Vector<T>& beta,
                             const Vector<T>& delta, const T& scale) {
    using std::atan2;
    using std::cos;
    using std::exp;
    using std::log;
    using std::sin;
    const T real_part = -bend * t * t;
    T log_size = real_part * q / T(2.0), phase = t * q / T(2.0);
    T beta_real = T(0.0), beta_imaginary = T(0.0), delta_real = T(0.0), delta_imaginary = T(0.0);
    for (Eigen::Index j = 0; j < w.size(); ++j) {
      const T x = T(1.0) + w(j) * real_part, y = w(j) * t, square = x * x + y * y;
      log_size -= log(square) / T(4.0);
      phase -= atan2(y, x) / T(2.0);
      beta_real += beta(j) * x / square;
      beta_imaginary -= beta(j) * y / square;
      delta_real += delta(j) * x / square;
      delta_imaginary -= delta(j) * y / square;
    }
    // The integrand times dy / (i dt) = 1 + 2 i c t.
    const T size = scale * exp(log_size), c = size * cos(phase), s = size * sin(phase);
    const T real = c - T(2.0) * bend * t * s, imaginary = s + T(2.0) * bend * t * c;
    return {real, T(real * beta_real - imaginary * beta_imaginary), T(real * delta_real - imaginary * delta_imaginary)};
  }

  std::string_view where_;
  Vector<T> share_, beta_, delta_;
  T deviation_, peak_;
};

}  // namespace incontext::regression::detail
