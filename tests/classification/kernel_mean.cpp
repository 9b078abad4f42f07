#include "incontext/classification/kernel_mean.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <limits>

#include "classification/sphere.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the kernel's mean is the quadrature over the angle, and its derivative the mean cosine",
          "[classification]") {
  for (const int d : {2, 3, 4, 7, 40}) {
    for (const double kappa : {0.01, 1.0, 12.0, 90.0}) {
      const double scaled = angle_mean(d, [&](double a) { return std::exp(kappa * (std::cos(a) - 1)); });
      const double tilted = angle_mean(d, [&](double a) { return std::cos(a) * std::exp(kappa * (std::cos(a) - 1)); });
      INFO("d = " << d << ", kappa = " << kappa);
      CHECK(std::abs(std::exp(log_kernel_mean(d, kappa) - kappa) / scaled - 1) <= 1e-12);
      CHECK(std::abs(mean_resultant_length(d, kappa) * scaled / tilted - 1) <= 1e-9);
      // power: the neighboring dimension is refused
      if (kappa >= 1) CHECK(std::abs(std::exp(log_kernel_mean(d + 1, kappa) - kappa) / scaled - 1) > 1e-6);
    }
  }
}

TEMPLATE_TEST_CASE("the kernel's mean meets its elementary forms and limits", "[classification]", float, double,
                   long double) {
  using T = TestType;
  const T eps = std::numeric_limits<T>::epsilon();
  for (const double k : {1e-4, 0.3, 2.0, 7.5, 30.0, 80.0}) {
    const T kappa = T(k);
    const T log_cosh = kappa + std::log1p(std::exp(-2 * kappa)) - std::log(T(2));
    CHECK(std::abs(log_kernel_mean(1, kappa) - log_cosh) <= 16 * eps * (1 + kappa));
    CHECK(std::abs(mean_resultant_length(1, kappa) / std::tanh(kappa) - 1) <= 8 * eps);
    if (k > 0.1) {
      const T log_sinh = kappa + std::log1p(-std::exp(-2 * kappa)) - std::log(2 * kappa);
      CHECK(std::abs(log_kernel_mean(3, kappa) - log_sinh) <= 16 * eps * (1 + kappa));
    }
    CHECK(log_kernel_mean(6, -kappa) == log_kernel_mean(6, kappa));
    CHECK(mean_resultant_length(6, -kappa) == -mean_resultant_length(6, kappa));
  }
  for (const int d : {1, 2, 5, 1000, 1000000}) {
    CHECK(log_kernel_mean(d, T(0)) == 0);
    CHECK(kernel_mean(d, T(0)) == 1);
    CHECK(mean_resultant_length(d, T(0)) == 0);
    const T tiny = T(1e-6);
    CHECK(std::abs(log_kernel_mean(d, tiny) * (2 * T(d)) / (tiny * tiny) - 1) <= 8 * eps + tiny * tiny);
    CHECK(std::abs(mean_resultant_length(d, tiny) * T(d) / tiny - 1) <= 8 * eps + tiny * tiny);
  }
  CHECK(std::abs(mean_resultant_length(3, T(1e6)) - (1 - T(1e-6))) <= 16 * eps);
  CHECK(std::isinf(kernel_mean(2, T(1e6))));
}

TEST_CASE("the three expansions agree where two of them hold, and the recurrence in the dimension holds everywhere",
          "[classification]") {
  namespace expansions = classification::detail;
  for (const double order : {50.0, 80.5, 200.0}) {
    for (const double kappa : {150.0, 400.0, 3000.0}) {
      const double series = expansions::log_mean_series(order, kappa);
      CHECK(std::abs(expansions::log_mean_debye(order, kappa) / series - 1) <= 4e-14);
      CHECK(std::abs(expansions::log_mean_debye(order * (1 + 1e-6), kappa) / series - 1) > 1e-12);
    }
    const double far = order * order;
    CHECK(std::abs(expansions::log_mean_debye(order, far) / (far + expansions::log_scaled_mean_hankel(order, far)) -
                   1) <= 1e-14);
  }
  for (const std::int64_t d : {2, 9, 91, 92, 600, 100000}) {
    for (const double kappa : {0.5, 20.0, 36.2, 1000.0, 1e5}) {
      // A_d = A_{d+2} + kappa^2 / (d (d + 2)) A_{d+4}
      const double a = log_kernel_mean(d, kappa), n = static_cast<double>(d);
      const double right = std::exp(log_kernel_mean(d + 2, kappa) - a) +
                           kappa * kappa / (n * (n + 2)) * std::exp(log_kernel_mean(d + 4, kappa) - a);
      CHECK(std::abs(right - 1) <= 1e-14 * (10 + kappa));
    }
  }
}

TEST_CASE("the kernel's mean refuses what is outside its domain", "[classification]") {
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
    CHECK(names(message_of([&] { log_kernel_mean(3, bad); }), "classification::log_kernel_mean", "kappa", "finite"));
    CHECK_THROWS_AS(mean_resultant_length(3, bad), std::domain_error);
    CHECK_THROWS_AS(kernel_mean(3, bad), std::domain_error);
  }
  CHECK_THROWS_AS(log_kernel_mean(0, 1.0), std::invalid_argument);
  CHECK(names(message_of([] { mean_resultant_length(-4, 1.0); }), "dimension", "value = -4", "at least 1"));
}

TEST_CASE("the mean resultant length is right for a concentration far above the dimension", "[classification]") {
  for (const int d : {1, 2, 3, 4}) {  // against Bessel functions, on both sides of where the series takes over
    for (const double kappa : {130.0, 150.0, 230.0, 240.0, 390.0, 400.0, 610.0, 625.0, 700.0}) {
      const double order = 0.5 * d - 1;
      const double ratio = boost::math::cyl_bessel_i(order + 1, kappa) / boost::math::cyl_bessel_i(order, kappa);
      INFO("d = " << d << ", kappa = " << kappa);
      CHECK(std::abs(mean_resultant_length(d, kappa) / ratio - 1) <= 4e-15);
    }
  }
  for (const int d : {2, 7, 1000}) {  // 1 - rho = (d - 1) / (2 kappa) - (d - 1) (d - 3) / (8 kappa^2) - ...
    for (const double kappa : {1e9, 1e12, 1e15, 1e154, 1e155, 1e200, 1e307}) {
      const double first = (d - 1) / (2 * kappa), second = first * ((d - 3) / (4 * kappa));
      INFO("d = " << d << ", kappa = " << kappa);
      CHECK(std::abs(1 - mean_resultant_length(d, kappa) - (first - second)) <= 2.3e-16);
      CHECK(mean_resultant_length(d, -kappa) == -mean_resultant_length(d, kappa));
    }
  }
}

TEST_CASE("a concentration at the end of the scalar's range is refused, not answered with infinity or NaN",
          "[classification]") {
  CHECK(std::abs(log_kernel_mean(3, 1e307) / 1e307 - 1) <= 1e-15);
  for (const double kappa : {2e307, -2e307, 1e308, 1.7e308}) {
    CHECK_THROWS_AS(log_kernel_mean(3, kappa), std::domain_error);
    CHECK_THROWS_AS(kernel_mean(3, kappa), std::domain_error);
    CHECK_THROWS_AS(mean_resultant_length(3, kappa), std::domain_error);
  }
  CHECK(names(message_of([] { log_kernel_mean(3, 1e308); }), "kappa", "1e+308", "too large"));
}

}  // namespace incontext::testing
