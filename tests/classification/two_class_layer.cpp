#include "incontext/classification/two_class_layer.hpp"

#include <cmath>

#include "classification/contexts.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("slope and mean square of the contrast are the contrast's own", "[classification]") {
  for (const int d : {2, 3, 8, 60}) {
    for (const double kappa : {0.3, 6.0, 70.0}) {
      const auto layer = two_class_layer(d, kappa, 100);
      const double h = 1e-5, slope = hemisphere_contrast(d, kappa, h).relative / h;
      INFO("d = " << d << ", kappa = " << kappa);
      CHECK(std::abs(layer.contrast_slope / slope - 1) <= 1e-7);
      namespace parts = classification::detail;
      const double square = parts::query_average<double>(
          d, [&](double angle) { return std::pow(hemisphere_contrast(d, kappa, angle).relative, 2); });
      CHECK(std::abs(layer.mean_squared_contrast / square - 1) <= 1e-11);
      CHECK(std::abs(two_class_layer(d + 1, kappa, 100).mean_squared_contrast / square - 1) > 1e-4);
    }
  }
}

TEST_CASE("long contexts have the layer's errors, and stratified ones its variance", "[classification]") {
  for (const int d : {2, 3, 5}) {
    const auto layer = two_class_layer(d, 2.0, 10'000'000);
    CHECK(std::abs((1 - linear_accuracy<double>(d, 10'000'000)) / layer.linear_error - 1) <= 1e-3);
    CHECK(std::abs((1 - kernel_accuracy(d, 2.0, 10'000'000)) / layer.kernel_error - 1) <= 1e-3);
    CHECK((layer.noise_ratio < 1) == (d == 2));
    CHECK(std::abs(two_class_layer(d, 1e-4, 10).noise_ratio - 1) <= 1e-7);
  }
  const int d = 2, n = 6;
  SpherePoints points(d, 95);
  SampleMean square;
  const double kappa = 1.0, mean = n * std::exp(log_kernel_mean(d, kappa) - kappa);
  for (int trial = 0; trial < 60'000; ++trial) {
    const auto sides = drawn_sides(points, n, kappa, std::asin(std::abs(points.draw()[0])));
    square.add(std::pow((sides.same + sides.other) / mean - 1, 2) * n / partition_function_excess(d, kappa));
  }
  CHECK(std::abs(square.z(two_class_layer(d, kappa, n).variance_ratio)) <= 5);
  CHECK(std::abs(square.z(1.0)) > 5);
}

TEST_CASE("the layer's errors are as near to those of the Gaussian noise as stated", "[classification][range]") {
  Worst off;
  for (const int d : {2, 3, 12}) {
    for (const int n : {40, 400, 4000}) {
      for (const double kappa : {0.5, 2.0, 8.0}) {
        const double leading = two_class_layer(d, kappa, n).kernel_error, error = 1 - kernel_accuracy(d, kappa, n);
        off.add(std::abs(leading / error - 1) / ((d + partition_function_excess(d, kappa)) / n), "d ", d, ", n ", n,
                ", kappa ", kappa);
      }
    }
  }
  CHECK(off <= 0.5);
  CHECK(off > 0.25);  // power: half of it is exceeded
}

TEST_CASE("gains and noise ratio are those of the kernel's second moment, also where it is large", "[classification]") {
  bool meets_large = false;
  for (const int d : {3, 21, 61}) {
    for (const double kappa : {2.0, 60.0, 4000.0}) {
      CAPTURE(d, kappa);
      const double log_moment = log_kernel_mean(d, 2 * kappa) - 2 * log_kernel_mean(d, kappa);  // of e^(2 kappa u.x)
      const double root = std::sqrt(std::expm1(log_moment)), pi = std::acos(-1.0), n = 40;
      const auto layer = two_class_layer(d, kappa, 40);
      const double tilt = layer.contrast_slope / sphere_constants<double>(d).mean_absolute;
      CHECK(std::abs(layer.best_gain * root / (pi * std::sqrt(n / 3)) - 1) <= 1e-10);
      CHECK(std::abs(layer.noise_ratio * tilt / (std::sqrt(d) * root) - 1) <= 1e-10);
      const double of_query =
          std::exp(kappa - log_kernel_mean(d, kappa)) / n;  // the query's own share, over the mean's
      CHECK(std::abs(layer.best_gain_with_query / (layer.best_gain * (1 + of_query)) - 1) <= 1e-10);
      meets_large = meets_large || log_moment > 60;  // from 50 on its root is that of the logarithm
    }
  }
  CHECK(meets_large);
}

TEST_CASE("the boundary layer refuses what is outside its domain", "[classification]") {
  CHECK(names(message_of([] { two_class_layer(1, 1.0, 4); }), "dimension", "value = 1"));
  CHECK(names(message_of([] { two_class_layer(3, 0.0, 4); }), "kappa", "value = 0"));
  CHECK(names(message_of([] { two_class_layer(3, -1.0, 4); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { two_class_layer(3, 1.0, 9); }), "context_length", "value = 9"));
}

}  // namespace incontext::testing
