#include "incontext/classification/hemisphere_contrast.hpp"

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <limits>

#include "classification/sphere.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the contrast is that of drawn points", "[classification]") {
  for (const int d : {2, 3, 6}) {
    const double kappa = 2.5, angle = 0.4;
    SpherePoints points(d, 81);
    SampleMean signed_kernel;
    for (int i = 0; i < 200'000; ++i) {
      const auto u = points.draw();
      const double side = u[0] * std::sin(angle) + u[1] * std::cos(angle);
      signed_kernel.add((side > 0 ? 1 : -1) * std::exp(kappa * u[0]));
    }
    CHECK(std::abs(signed_kernel.z(std::exp(hemisphere_contrast(d, kappa, angle).logarithm))) <= 5);
    CHECK(std::abs(signed_kernel.z(std::exp(hemisphere_contrast(d, kappa, angle + 0.05).logarithm))) > 5);
  }
}

TEST_CASE("the contrast on the circle is Fourier's series, and at the pole a hemisphere's own mean",
          "[classification]") {
  for (const double kappa : {0.2, 3.0, 40.0}) {
    for (const double angle : {0.01, 0.7, 1.5}) {
      double series = 0;
      for (int l = 1; l < 200; l += 2) series += boost::math::cyl_bessel_i(l, kappa) * std::sin(l * angle) / l;
      series *= 2 / std::asin(1.0) / boost::math::cyl_bessel_i(0, kappa);
      CHECK(std::abs(hemisphere_contrast(2, kappa, angle).relative / series - 1) <= 1e-12);
    }
    const double pole = std::asin(1.0);
    const double wrong_side =
        angle_mean(5, [&](double a) { return (std::cos(a) < 0 ? 1 : 0) * std::exp(kappa * (std::cos(a) - 1)); });
    const double expected = 1 - 2 * wrong_side / std::exp(log_kernel_mean(5, kappa) - kappa);
    CHECK(std::abs(hemisphere_contrast(5, kappa, pole).relative - expected) <= 1e-12);
  }
}

TEST_CASE("the partition function's variance with half of the points per side is that of the sides",
          "[classification]") {
  const double pole = std::asin(1.0);
  for (const double kappa : {0.3, 2.0, 12.0}) {
    const auto mean = [&](double power, int side) {  // of e^(power kappa cos a), over one side or over both
      return angle_mean(
          5, [&](double a) { return (side * std::cos(a) < 0 ? 0 : 1) * std::exp(power * kappa * (std::cos(a) - 1)); });
    };
    const double right = 2 * mean(1, 1), wrong = 2 * mean(1, -1), whole = mean(1, 0);
    const double expected = (mean(2, 0) - (right * right + wrong * wrong) / 2) / (whole * whole);
    const double found = hemisphere_contrast(5, kappa, pole).partition_function_variance;
    CHECK(std::abs(found / expected - 1) <= 1e-10);
    CHECK(std::abs(found / (mean(2, 0) / (whole * whole) - 1) - 1) > 0.02);  // both sides together
  }
}

TEST_CASE("the contrast meets its limits", "[classification]") {
  const double m = sphere_constants<double>(7).mean_absolute;
  CHECK(std::abs(hemisphere_contrast(7, 1e-6, 0.3).relative / (m * 1e-6 * std::sin(0.3)) - 1) <= 1e-11);
  CHECK(std::abs(hemisphere_contrast(2, 1e5, 2e-3).relative / std::erf(2e-3 * std::sqrt(5e4)) - 1) <= 1e-4);
  CHECK(std::abs(hemisphere_contrast(1000, 1e4, 1.0).relative - 1) <= 1e-12);
  CHECK(hemisphere_contrast(3, 2.0, 0.0).relative == 0);
  CHECK(hemisphere_contrast(3, 0.0, 0.5).relative == 0);
  CHECK(hemisphere_contrast(3, 0.0, 0.5).logarithm == -std::numeric_limits<double>::infinity());
  const float eps = std::numeric_limits<float>::epsilon();
  CHECK(std::abs(hemisphere_contrast(4, 6.0f, 0.25f).relative / hemisphere_contrast(4, 6.0, 0.25).relative - 1) <=
        64 * eps);
}

TEST_CASE("the contrast refuses what is outside its domain", "[classification]") {
  const auto refused = [](int d, double kappa, double angle) {
    return message_of([&] { hemisphere_contrast(d, kappa, angle); });
  };
  CHECK(names(refused(1, 1.0, 0.1), "hemisphere_contrast", "dimension", "value = 1"));
  CHECK(names(refused(3, -1.0, 0.1), "kappa", "value = -1"));
  CHECK(names(refused(3, 1.0, -0.1), "boundary_angle", "value = -0.1"));
  CHECK(names(refused(3, 1.0, 1.6), "boundary_angle", "pi/2"));
  CHECK(names(refused(3, 1.0, std::nan("")), "boundary_angle"));
}

}  // namespace incontext::testing
