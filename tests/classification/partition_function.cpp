#include "incontext/classification/partition_function.hpp"

#include <cmath>
#include <limits>

#include "classification/sphere.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the excess is the variance of one term by quadrature", "[classification]") {
  for (const int d : {2, 3, 6, 30}) {
    for (const double kappa : {0.001, 0.7, 5.0, 11.0, 60.0}) {
      const double mean = std::exp(log_kernel_mean(d, kappa) - kappa);
      const double variance =
          angle_mean(d, [&](double a) { return std::pow(std::exp(kappa * (std::cos(a) - 1)) / mean - 1, 2); });
      INFO("d = " << d << ", kappa = " << kappa);
      CHECK(std::abs(partition_function_excess(d, kappa) / variance - 1) <= 1e-9);
      CHECK(std::abs(partition_function_excess(d + 1, kappa) / variance - 1) > 1e-4);
    }
  }
}

TEMPLATE_TEST_CASE("the excess meets its closed forms on the line and in space", "[classification]", float, double,
                   long double) {
  using T = TestType;
  const T eps = std::numeric_limits<T>::epsilon();
  for (const double k : {1e-5, 0.5, 3.0, 6.0, 20.0}) {
    const T kappa = T(k), t = std::tanh(kappa);
    CHECK(std::abs(partition_function_excess(1, kappa) / (t * t) - 1) <= 32 * eps * T(1.7));  // 2 kappa - log A < log 2
    CHECK(partition_function_excess(1, -kappa) == partition_function_excess(1, kappa));
    if (k > 0.4) CHECK(std::abs(partition_function_excess(3, kappa) + 1 - kappa / t) <= 64 * eps * kappa);
  }
  CHECK(partition_function_excess(4, T(0)) == 0);
  CHECK(std::abs(partition_function_excess(7, T(1e-6)) * 7 / T(1e-12) - 1) <= 64 * eps + T(1e-10));
  CHECK(std::abs(log_kernel_second_moment_ratio(3, T(9000)) - std::log(T(9000))) <= 32 * eps * 10);
}

TEST_CASE("the variance of the partition function is that of drawn contexts", "[classification]") {
  const int d = 3, n = 8;
  const double kappa = 2.0;
  SpherePoints points(d, 61);
  SampleMean sum, square;
  for (int trial = 0; trial < 100'000; ++trial) {
    double s = 0;
    for (int j = 0; j < n; ++j) s += std::exp(kappa * points.draw()[0]);
    sum.add(s);
    square.add(std::pow(s - n * kernel_mean(d, kappa), 2));
  }
  CHECK(std::abs(sum.z(n * kernel_mean(d, kappa))) <= 5);
  const auto variance = [&](double v) { return n * std::pow(kernel_mean(d, kappa), 2) * v; };
  CHECK(std::abs(square.z(variance(partition_function_excess(d, kappa)))) <= 5);
  CHECK(std::abs(square.z(variance(partition_function_excess(d + 1, kappa)))) > 5);
}

TEST_CASE("the variation has no overflow where the excess has, and the query's key damps it", "[classification]") {
  CHECK(std::isinf(partition_function_excess(300, 2e5)));
  const double log_v = log_kernel_second_moment_ratio(300, 2e5);
  CHECK(log_v > 710);
  const double damped = partition_function_variation(300, 2e5, 10, QueryToken::included);
  const double log_self = 2e5 - log_kernel_mean(300, 2e5) - std::log(10.0);
  CHECK(std::abs(std::log(damped) - ((log_v - std::log(10.0)) / 2 - log_self)) <= 1e-9);
  CHECK(partition_function_variation(5, 0.0, 10, QueryToken::excluded) == 0);
  const double free = partition_function_variation(4, 3.0, 1'000'000'000, QueryToken::excluded);
  CHECK(std::abs(partition_function_variation(4, 3.0, 1'000'000'000, QueryToken::included) / free - 1) <= 1e-7);
  // below kappa = 0 the query is the farthest key
  const double self = std::exp(-3.0) / (20 * kernel_mean(4, 3.0));
  const double below = partition_function_variation(4, -3.0, 20, QueryToken::included);
  CHECK(std::abs(below * (1 + self) / partition_function_variation(4, 3.0, 20, QueryToken::excluded) - 1) <= 1e-14);
}

TEST_CASE("the partition function refuses what is outside its domain", "[classification]") {
  CHECK_THROWS_AS(partition_function_excess(0, 1.0), std::invalid_argument);
  CHECK_THROWS_AS(partition_function_excess(3, std::nan("")), std::domain_error);
  CHECK_THROWS_AS(log_kernel_second_moment_ratio(3, INFINITY), std::domain_error);
  CHECK(names(message_of([] { partition_function_variation(3, 1.0, 0, QueryToken::excluded); }), "context_length",
              "value = 0"));
  CHECK(names(message_of([] { partition_function_variation(3, INFINITY, 5, QueryToken::excluded); }), "kappa", "inf"));
}

TEST_CASE("the variation of the partition function holds from the smallest to the largest concentrations",
          "[classification]") {
  for (const double kappa : {1e-8, 1e-20, 1e-160, 1e-300}) {  // v = kappa^2 / d, whose square root is in range
    const double free = partition_function_variation(10, kappa, 1000, QueryToken::excluded);
    CHECK(std::abs(free / (kappa / std::sqrt(10.0 * 1000)) - 1) <= 1e-14);
    CHECK(std::abs(partition_function_variation(10, kappa, 1000, QueryToken::included) / free * 1.001 - 1) <= 1e-7);
    CHECK(partition_function_variation(10, -kappa, 1000, QueryToken::excluded) == free);
  }
  for (const double kappa : {1e200, 1e300, 1e307}) {  // v = kappa - 1 in three dimensions
    CHECK(std::abs(partition_function_variation(3, kappa, 1000, QueryToken::excluded) / std::sqrt(kappa / 1000) - 1) <=
          1e-12);
    CHECK(std::abs(log_kernel_second_moment_ratio(3, kappa) - std::log(kappa)) <= 1e-12 * std::log(kappa));
  }
  for (const double kappa : {2e307, -1e308}) {
    CHECK_THROWS_AS(partition_function_excess(3, kappa), std::domain_error);
    CHECK_THROWS_AS(log_kernel_second_moment_ratio(3, kappa), std::domain_error);
    CHECK_THROWS_AS(partition_function_variation(3, kappa, 10, QueryToken::included), std::domain_error);
  }
}

}  // namespace incontext::testing
