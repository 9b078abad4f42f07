#include "incontext/classification/two_class_margin.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"
#include "support/real50.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

/// Moments of the margin by the series of Gegenbauer's polynomials, with Boost's Bessel functions: E sgn(x.b) B and E B^2
/// are sums over odd l of N_l b_l^2 lambda_l and N_l (b_l lambda_l)^2.
struct SeriesMargin {
  Real50 mean = 0, square = 0;

  SeriesMargin(int d, const Real50& kappa, int terms) {
    const Real50 nu = Real50(d) / 2 - 1;
    const Real50 m = tgamma(Real50(d) / 2) / (sqrt(acos(Real50(-1))) * tgamma(Real50(d + 1) / 2));
    const Real50 first = boost::math::cyl_bessel_i(nu, kappa);
    Real50 zero = 1;  // P_{l-1}(0) in d + 2 dimensions
    for (int l = 1; l < 2 * terms; l += 2) {
      Real50 choices = 1;  // binom(l + d - 2, l)
      for (int i = 1; i <= l; ++i) choices = choices * (d - 2 + i) / i;
      const Real50 count = d == 2 ? Real50(2) : Real50(Real50(2 * l + d - 2) / (l + d - 2) * choices);
      const Real50 lambda = boost::math::cyl_bessel_i(Real50(nu + l), kappa) / first, b = m * zero;
      mean += count * b * b * lambda;
      square += count * b * b * lambda * lambda;
      zero *= -Real50(l) / (l + d);
    }
  }
};

}  // namespace

TEST_CASE("moments of the margin are Gegenbauer's series at 50 digits, and double keeps its digits",
          "[classification]") {
  Worst mean_off, square_off, double_off;
  for (const int d : {2, 3, 5, 12}) {
    for (const double k : {0.5, 4.0, 20.0}) {
      const Real50 kappa(k), rate("7.25");
      const SeriesMargin series(d, kappa, 120);
      const Real50 log_a = log_kernel_mean(d, kappa), scale = rate * exp(Real50(log_a - kappa));
      const Real50 v = exp(Real50(log_kernel_mean(d, Real50(2 * kappa)) - 2 * log_a)) - 1;
      for (const std::int64_t n : {2, 40}) {
        const auto margin = kernel_margin<Real50>(d, kappa, n, rate);
        const Real50 square = scale * scale * (series.square + (v - series.square) / n);
        mean_off.add(static_cast<double>(abs(margin.mean / (scale * series.mean) - 1)), "d ", d, ", kappa ", k);
        square_off.add(static_cast<double>(abs(margin.mean_square / square - 1)), "d ", d, ", kappa ", k);
        const auto rounded = kernel_margin<double>(d, k, n, 7.25);
        double_off.add(static_cast<double>(abs(Real50(rounded.mean) / margin.mean - 1)), "d ", d, ", kappa ", k);
        double_off.add(static_cast<double>(abs(Real50(rounded.mean_square) / margin.mean_square - 1)), "square, d ", d);
        // power: the points of independent contexts vary more
        CHECK(abs(scale * scale * (series.square + v / n) / margin.mean_square - 1) > 1e-4);
      }
    }
  }
  CHECK(mean_off <= 2e-15);  // the rule of the average over queries
  CHECK(square_off <= 1e-40);
  CHECK(double_off <= 1e-12);
}

TEST_CASE("the linear margin is the kernel's where the kernel is wide, and double keeps its digits",
          "[classification]") {
  for (const int d : {2, 7, 100}) {
    const Real50 small("1e-22"), rate(3);
    const auto linear = linear_margin<Real50>(d, 10, rate);
    const auto kernel = kernel_margin<Real50>(d, small, 10, Real50(rate / small));
    CHECK(abs(kernel.mean / linear.mean - 1) <= Real50("2e-15"));
    CHECK(abs(kernel.mean_square / linear.mean_square - 1) <= Real50("1e-20"));
    const auto rounded = linear_margin<double>(d, 10, 3.0);
    CHECK(std::abs(rounded.mean / static_cast<double>(linear.mean) - 1) <= 16 * 2.3e-16);
    CHECK(std::abs(rounded.mean_square / static_cast<double>(linear.mean_square) - 1) <= 16 * 2.3e-16);
  }
}

}  // namespace incontext::testing
