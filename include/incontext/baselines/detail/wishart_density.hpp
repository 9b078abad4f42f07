#pragma once

#include <Eigen/Core>
#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <cmath>
#include <cstdint>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines::detail {

/// The mean density of the singular values u of a matrix of independent N(0, 1), more_rows x order, at several places
/// at once: the density of the eigenvalues x = u^2 of the Wishart matrix, times dx/du = 2 u.
///
/// The orthonormal Laguerre functions phi_j of weight x^a exp(-x), a = more_rows - order, come from their three-term
/// recursion, and eps_j(x) = 1/2 int sgn(x - t) phi_j(t) / sqrt(t) dt from
/// b_{j+1} eps_{j+1} = 2 sqrt(x) phi_j + b_j eps_{j-1}, b_j = sqrt(j (j + a)): docs/theory/baselines.md#spectrum. The
/// first functions are below the smallest number of the type in most places; they are kept with a factor of their own.
template <Real T, int Places>
class SingularValueDensity {
 public:
  using Block = Eigen::Array<T, Places, 1>;

  SingularValueDensity(std::int64_t order, std::int64_t more_rows)
      : order_(order),
        a_(math::from_count<T>(more_rows - order)),
        log_first_at_a_(a_ > T(0) ? log_of(T(boost::math::gamma_p_derivative(T(a_ + T(1)), a_))) : T(0)),
        first_integral_(integral_of_first()) {}

  /// phi_j and phi_{j-1}, both over `factor`, which is exp(log_factor).
  struct Functions {
    Block phi, phi_before, log_factor, factor;
  };

  /// log phi_0 = (a log x - x - log Gamma(a + 1)) / 2, from its largest value, at x = a, on.
  Functions first(const Block& u) const {
    using std::abs;
    using std::exp;
    using std::log;
    Functions f{Block::Ones(), Block::Zero(), Block::Zero(), Block::Zero()};
    for (Eigen::Index i = 0; i < Places; ++i) {
      const T x = u(i) * u(i);
      T exponent = -x;
      if (a_ > T(0)) {
        const T z = (x - a_) / a_;
        const T below = abs(z) < T(0.5) ? boost::math::log1pmx(z) : T(log(T(x / a_)) - z);
        exponent = a_ * below + log_first_at_a_;
      }
      f.log_factor(i) = exponent / T(2);
      f.factor(i) = exp(f.log_factor(i));
    }
    return f;
  }

  /// The integral of phi_0(x) / sqrt(x).
  const T& first_integral() const { return first_integral_; }

  /// The density at u > 0 from `f = first(u)` and, where the order is even, `half_integral` = eps_0.
  Block operator()(const Block& u, Functions f, const Block& half_integral) const {
    const Block x = u * u;
    Block squares = Block::Zero();
    // eps of the last index of its parity; and s_j, the integral of phi_j / sqrt(t), which is 0 for odd j
    Block last = half_integral;
    if (order_ % 2 == 1) last.setZero();
    T integral = first_integral_;
    for (std::int64_t j = 0; j + 1 < order_; ++j) {
      squares += f.phi * f.phi;
      // eps is needed for j = order - 2 alone, and takes every second function to get there
      if (j > 0 && (order_ - j) % 2 == 0) {
        last = (T(2) * u * f.phi_before * f.factor + edge(j - 1) * last) / edge(j);
      }
      if (j % 2 == 1) integral *= edge(j) / edge(j + 1);
      advance(f, x, j);
      if (j % 8 == 7) rescale(f, squares);
    }
    Block density = T(2) * u * f.factor * f.factor * squares;
    const Block phi = f.phi * f.factor;
    if (order_ > 1) density -= edge(order_ - 1) * phi * last;
    if (order_ % 2 == 1) density += T(2) * phi / integral;
    return density;
  }

 private:
  static T log_of(const T& x) {
    using std::log;
    return log(x);
  }

  /// b_j
  T edge(std::int64_t j) const {
    using std::sqrt;
    const T count = math::from_count<T>(j);
    return sqrt(T(count * (count + a_)));
  }

  /// int x^(a/2) exp(-x/2) / sqrt(x) dx / sqrt(Gamma(a+1)), whose square is 2 sqrt(pi) Gamma((a+1)/2) / Gamma(a/2+1)
  T integral_of_first() const {
    using std::sqrt;
    const T ratio = boost::math::tgamma_delta_ratio(T((a_ + T(1)) / T(2)), T(0.5));
    return sqrt(T(T(2) * sqrt(boost::math::constants::pi<T>()) * ratio));
  }

  void advance(Functions& f, const Block& x, std::int64_t j) const {
    const T middle = math::from_count<T>(2 * j + 1) + a_;
    const Block next = ((middle - x) * f.phi - edge(j) * f.phi_before) / edge(j + 1);
    f.phi_before = f.phi;
    f.phi = next;
  }

  /// Large functions give their size to the factor. Eight steps multiply them by less than 1e33 for
  /// all sizes of WishartSpectrum, so that squares stay below 1e308.
  static void rescale(Functions& f, Block& squares) {
    using std::exp;
    using std::log;
    const T large = T(1e77), log_large = log(T(1e77));
    for (Eigen::Index i = 0; i < Places; ++i) {
      if (f.phi(i) < large && f.phi(i) > -large) continue;
      f.phi(i) /= large;
      f.phi_before(i) /= large;
      squares(i) /= large * large;
      f.log_factor(i) += log_large;
      f.factor(i) = exp(f.log_factor(i));
    }
  }

  std::int64_t order_;
  T a_, log_first_at_a_, first_integral_;
};

}  // namespace incontext::baselines::detail
