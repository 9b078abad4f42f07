// Closed forms at arguments where series are long, integrands narrow and numbers overflow: each returns the right value
// or refuses the arguments, quickly.

#include <array>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>

#include "incontext/classification/circle_cells.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/inverse_partition_function.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/largest_weight.hpp"
#include "incontext/classification/long_context.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sparse_largest_weight.hpp"
#include "incontext/classification/sparse_neighborhood.hpp"
#include "incontext/classification/two_class_kernel_risk.hpp"
#include "incontext/classification/two_class_layer.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "incontext/classification/two_class_softmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace extreme_arguments_test {

namespace {

using namespace incontext::classification;
using incontext::testing::message_of;
using incontext::testing::names;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double pi = boost::math::constants::pi<double>();

void check_close(double value, double expected, double tolerance) {
  INFO("value = " << value << ", expected = " << expected);
  CHECK(std::abs(value - expected) <= tolerance * std::abs(expected));
}

/// Measures the processor time of the tests that use it.
class Stopwatch {
 public:
  ~Stopwatch() {
    const double seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
    INFO("seconds = " << seconds);
    CHECK(seconds < 20);  // it takes half a second without sanitizers
  }

 private:
  std::clock_t start_ = std::clock();
};

}  // namespace

TEST_CASE("the mean resultant length is right for narrow kernels, where its fraction contracts slowly") {
  const Stopwatch watch;
  for (const double kappa : {1e5, 1e7, 1e9, 1e12, 1e15, 1e300}) {
    CAPTURE(kappa);
    check_close(mean_resultant_length(3, kappa), 1 - 1 / kappa, 32 * eps);  // coth(kappa) - 1/kappa
    check_close(mean_resultant_length(1, kappa), 1, 32 * eps);              // tanh(kappa)
    if (kappa < 1e14) CHECK(std::abs(mean_resultant_length(3, kappa) - (1 - 2 / kappa)) > 32 * eps);
  }
  // rho = kappa A_{d+2} / (d A_d), from the kernel's logarithms, which give 1 - rho to their own rounding
  for (const auto& [d, kappa] : {std::pair<std::int64_t, double>{5, 1e9}, {100, 1e12}, {1000, 1e10}}) {
    CAPTURE(d, kappa);
    const double ratio = detail::log_mean(d + 2, kappa).scaled - detail::log_mean(d, kappa).scaled;
    check_close(mean_resultant_length(d, kappa), kappa / static_cast<double>(d) * std::exp(ratio), 1e-10);
  }
  check_close(mean_resultant_length(1'000'000'000'000'000, 1e15), (std::sqrt(5.0) - 1) / 2, 16 * eps);
  check_close(mean_resultant_length(1'000'000, 1e-300), 1e-306, 16 * eps);
}

TEST_CASE("the contrast of a kernel far narrower than the query's angle is the error function's") {
  const Stopwatch watch;
  for (const double kappa : {1e8, 1e15, 1e300}) {
    CAPTURE(kappa);
    check_close(hemisphere_contrast(5, kappa, 0.5).relative, 1, 1e-12);
    const double angle = 0.7 / std::sqrt(kappa);
    check_close(hemisphere_contrast(5, kappa, angle).relative, std::erf(0.7 / std::sqrt(2.0)), 1e-6 + 4 / kappa);
  }
  CHECK(std::isinf(hemisphere_contrast(5, 1e300, 0.5).partition_function_variance));
  CHECK(names(message_of([] { hemisphere_contrast(5, 1e308, 0.5); }), "kappa is too large", "1e+308"));
  check_close(kernel_logit_difference(5, 1e300, 0.5, 10, 1.0).variance + 1, 1, eps);
  CHECK(names(message_of([] { adaptive_logit_difference(5, 1e300, 0.5, 10, 1.0, QueryToken::included); }), "kappa",
              "second moment"));
}

TEST_CASE("the mean squared contrast of narrow kernels tends to one as their width does to zero") {
  const Stopwatch watch;
  for (const auto& [d, kappa] : {std::pair<std::int64_t, double>{2, 1e8}, {2, 1e12}, {5, 1e12}, {10, 1e10}}) {
    CAPTURE(d, kappa);
    // int (1 - erf^2) about the boundary, the density there 2 R_d
    const double leading = 4 * sphere_constants<double>(d).density / std::sqrt(pi * kappa);
    const auto layer = two_class_layer(d, kappa, 100);
    check_close((1 - layer.mean_squared_contrast) / leading, 1, 1e-5);
    CHECK(std::isfinite(layer.noise_ratio));
  }
  const auto high = two_class_layer(1000, 1e5, 100);
  CHECK(high.variance_ratio == 1);
  CHECK(names(message_of([] { two_class_layer(3, 1e15, 100); }), "kappa is out of range", "1e-150 to 1e12"));
  CHECK(names(message_of([] { two_class_layer(3, 1e-300, 100); }), "kappa is out of range", "1e-300"));
}

TEST_CASE("wide kernels vary the partition function by their variance, and high dimensions are accepted") {
  const Stopwatch watch;
  for (const double kappa : {1e-7, 1e-10, 1e-20, 1e-100}) {
    CAPTURE(kappa);
    const auto law = inverse_partition_function(3, kappa, 10, QueryToken::included);
    check_close(law.variance / (kappa * kappa), 10.0 / 3 / std::pow(11, 4), 2 * kappa + 1e-12);
    check_close(law.mean, 1.0 / 11, 2 * kappa + 4 * eps);
    check_close(law.ipr, 10.0 / 121, 4 * kappa + 4 * eps);
  }
  CHECK(inverse_partition_function(3, 1e-300, 10, QueryToken::excluded).variance == 0);
  // The two formulas agree where one takes over from the other: 1/Z~ is e^kappa times as large, and its variance is
  // kappa^2 e^(2 kappa).
  const auto below = inverse_partition_function(3, 1.3e-6, 10, QueryToken::excluded);
  const auto above = inverse_partition_function(3, 1.4e-6, 10, QueryToken::excluded);
  check_close(above.variance / below.variance, std::pow(1.4 / 1.3, 2) * (1 + 2e-7), 1e-9);
  // the largest of 20 normal cosines of variance 1/d has mean 1.86748 standard deviations
  check_close(expected_largest_weight(1'000'000, 3.0, 20, QueryToken::excluded), 0.05 * (1 + 3e-3 * 1.86748), 2e-5);
  CHECK(names(message_of([] { inverse_partition_function(1'000'000'000'000'000, 3.0, 10, QueryToken::included); }),
              "dimension is too large", "1e6"));
  CHECK(names(message_of([] { expected_largest_weight(3, 1e5, 20, QueryToken::excluded); }), "kappa is too large",
              "1e4 without the query's key"));
  CHECK(
      names(message_of([] { inverse_partition_function(3, 2e5, 20, QueryToken::included); }), "kappa", "at most 1e5"));
  check_close(partition_function_variation(3, 1e-300, 12, QueryToken::excluded), 1e-300 / 6, 1e-12);
}

TEST_CASE("the exact logit difference is linear in a small kappa and in a small angle") {
  const Stopwatch watch;
  for (const double kappa : {1e-5, 1e-6, 1e-10, 1e-300}) {
    CAPTURE(kappa);
    for (const auto& [query, self] : {std::pair{QueryToken::excluded, 0.0}, {QueryToken::included, 1.0}}) {
      const double leading = sphere_constants<double>(5).mean_absolute * std::sin(0.4) * 20 / (20 + self);
      const double value = expected_adaptive_logit_difference(5, kappa, 0.4, 20, 1.0, query);
      check_close(value / kappa, leading, kappa + 1e-10);
    }
  }
  const double unit = expected_adaptive_logit_difference(2, 3.0, 1e-4, 20, 1.0, QueryToken::excluded) / 1e-4;
  for (const double angle : {1e-5, 1e-6, 1e-7, 1e-30, 1e-300}) {
    CAPTURE(angle);
    const double value = expected_adaptive_logit_difference(2, 3.0, angle, 20, 1.0, QueryToken::excluded);
    check_close(value / angle, unit, 2e-8);
  }
  CHECK(names(message_of([] { expected_adaptive_logit_difference(3, 1e5, 0.4, 20, 1.0, QueryToken::excluded); }),
              "kappa", "1e4"));
}

TEST_CASE("cells of the circle are right for kernels far narrower than they are") {
  const Stopwatch watch;
  const std::array<double, 3> prototypes{0.1, 2, 4};
  const double width = (2 - (4 - 2 * pi)) / 2;
  for (const double kappa : {1e4, 1e8, 8e15, 1e300}) {
    CAPTURE(kappa);
    for (const double query : {0.3, 6.0}) {  // on either side of the angle 0
      const auto cells = circle_cells<double>(prototypes, query, kappa, 30, 1.0);
      CHECK(cells.balanced_weights[0] == 1);
      check_close(cells.mean_partition_function, 10 / width * std::sqrt(2 * pi / kappa), 1 / kappa + 1e-12);
      check_close(cells.partition_function_variance, 10 / width * std::sqrt(pi / kappa), 3 / std::sqrt(kappa) + 1e-12);
    }
  }
  CHECK(names(message_of([&] { circle_cells<double>(prototypes, 1e300, 1.0, 30, 1.0); }), "query is out of range"));
}

TEST_CASE("risks at extreme rates, kappas and dimensions are finite, or the argument is refused by its name") {
  const Stopwatch watch;
  check_close(kernel_accuracy(5, 1e-300, 10), linear_accuracy<double>(5, 10), 4 * eps);
  check_close(kernel_accuracy(5, 1e-12, 10), linear_accuracy<double>(5, 10), 1e-10);
  CHECK(kernel_accuracy(1000, 1e5, 10) >= 0.5);
  check_close(linear_cross_entropy(5, 20, 1e-300), std::log(2.0), 4 * eps);
  CHECK(names(message_of([] { linear_cross_entropy(5, 20, 1e300); }), "rate is too large"));
  CHECK(
      names(message_of([] { adaptive_cross_entropy(5, 1.0, 20, 1e300, QueryToken::included); }), "gain is too large"));
  const std::int64_t far = 1'000'000'000'000'000;
  check_close(best_linear_rate<double>(2, far).learning_rate, best_linear_rate_leading<double>(2, far).learning_rate,
              1e-9);
  CHECK(std::isfinite(best_linear_rate<double>(far, 2).learning_rate));
  CHECK(names(message_of([] { long_context(5, 1e300, 10); }), "kappa is too large", "third moment"));
}

TEST_CASE("a standard deviation below the rounding of the mean counts as zero") {
  const Stopwatch watch;
  // Panels of that width would be lost in the rounding of the mean.
  const double mean = 10;
  for (const double spread : {1e-300, 1e-20, 1e-17, 3e-16, 1e-14}) {
    CAPTURE(spread);
    const LogitMoments<double> logit{mean, spread * spread};
    check_close(detail::gaussian_cross_entropy(logit), std::log1p(std::exp(-mean)), 1e-10);
  }
}

TEST_CASE("sparse neighborhoods are right at extreme intensities, and refused in too many dimensions") {
  const Stopwatch watch;
  check_close(sparse_neighborhood(1e300).ipr, 5e-301, 1e-12);
  check_close(sparse_neighborhood(1e300).self_weight, 1e-300, 1e-12);
  check_close(sparse_neighborhood(1e30).ipr, 5e-31, 1e-9);
  check_close(sparse_neighborhood(5, 1e300).ipr, 1.25e-301, 1e-11);
  check_close(sparse_largest_weight(5, 1e300), 5e-301, 1e-11);
  CHECK(names(message_of([] { sparse_neighborhood(1000, 1.0); }), "dimension is too large", "300"));
  CHECK(names(message_of([] { sparse_largest_weight(1000, 1.0); }), "dimension is too large", "300"));
}

}  // namespace extreme_arguments_test
