#include "incontext/classification/kernel_mean.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <limits>

#include "incontext/classification/partition_function.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

template <class T>
double eps_off(const T& value, const Real50& exact, const Real50& scale) {
  return static_cast<double>(abs(Real50(value) - exact) / (Real50(std::numeric_limits<T>::epsilon()) * abs(scale)));
}

}  // namespace

TEST_CASE("at 50 digits the kernel's mean is Boost's Bessel function", "[classification]") {
  for (const int d : {2, 3, 10, 101, 700}) {
    for (const double k : {0.001, 3.0, 130.0, 900.0}) {
      const Real50 kappa(k), order = Real50(d) / 2 - 1;
      const Real50 bessel = boost::math::lgamma(Real50(order + 1)) + order * log(2 / kappa) +
                            log(boost::math::cyl_bessel_i(order, kappa));
      CHECK(abs(log_kernel_mean(d, kappa) - bessel) <= Real50("1e-44") * (1 + abs(kappa)));
      const Real50 ratio =
          boost::math::cyl_bessel_i(Real50(order + 1), kappa) / boost::math::cyl_bessel_i(order, kappa);
      CHECK(abs(mean_resultant_length(d, kappa) / ratio - 1) <= Real50("1e-45"));
    }
  }
}

TEMPLATE_TEST_CASE("the kernel's mean, resultant length and excess round as stated", "[classification]", float,
                   double) {
  using T = TestType;
  Worst log_off, rho_off, v_off;
  for (const std::int64_t d : {1, 2, 3, 5, 16, 37, 90, 92, 250, 1000, 20'000, 1'000'000}) {
    for (double e = -6; e <= 9; e += 0.375) {
      const T kappa = T(std::pow(10.0, e));
      const Real50 exact(kappa);
      const Real50 log_mean = log_kernel_mean(d, exact);
      log_off.add(eps_off(log_kernel_mean(d, kappa), log_mean, log_mean), "d ", d, ", kappa ", kappa);
      if (e > 5) continue;
      const Real50 rho = mean_resultant_length(d, exact), v = partition_function_excess(d, exact);
      rho_off.add(eps_off(mean_resultant_length(d, kappa), rho, rho), "d ", d, ", kappa ", kappa);
      if (v > Real50((std::numeric_limits<T>::max)())) continue;
      const Real50 log_twice = log_kernel_mean(d, Real50(2 * exact)), rest = 2 * exact - log_twice;
      const Real50 scale = 1 + (log_twice < rest ? log_twice : rest);
      v_off.add(eps_off(partition_function_excess(d, kappa), v, v * scale), "d ", d, ", kappa ", kappa);
    }
  }
  CHECK(log_off <= 16);
  CHECK(rho_off <= 16);
  CHECK(v_off <= 32);
  CHECK(log_off > 0.1);
}

}  // namespace incontext::testing
