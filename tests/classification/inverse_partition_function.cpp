#include "incontext/classification/inverse_partition_function.hpp"

#include <cmath>
#include <limits>

#include "classification/contexts.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the inverse partition function is that of drawn contexts", "[classification]") {
  struct Point {
    int d, n;
    double kappa;
  };
  for (const Point& at : {Point{2, 5, 1.5}, Point{3, 12, 4.0}, Point{8, 20, 6.0}}) {
    for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
      const double self = query == QueryToken::included ? 1 : 0;
      SpherePoints points(at.d, 71);
      SampleMean mean, square, ipr;
      const auto law = inverse_partition_function(at.d, at.kappa, at.n, query);
      for (int trial = 0; trial < 20'000; ++trial) {
        double sum = self, squares = 0;
        for (const double u : drawn_cosines(points, at.n)) {
          const double w = std::exp(at.kappa * (u - 1));
          sum += w;
          squares += w * w;
        }
        mean.add(1 / sum);
        square.add(std::pow(1 / sum - law.mean, 2));
        ipr.add(squares / (sum * sum));
      }
      INFO("d = " << at.d << ", self = " << self);
      CHECK(std::abs(mean.z(law.mean)) <= 5);
      CHECK(std::abs(square.z(law.variance)) <= 5);
      CHECK(std::abs(ipr.z(law.ipr)) <= 5);
      const auto wrong = inverse_partition_function(at.d + 1, at.kappa, at.n, query);
      CHECK(std::abs(mean.z(wrong.mean)) > 5);
      CHECK(std::abs(ipr.z(wrong.ipr)) > 5);
    }
  }
}

TEST_CASE("one point, no kernel, and long contexts are known in closed form", "[classification]") {
  for (const int d : {2, 3, 9}) {
    for (const double kappa : {0.3, 4.0, 25.0}) {
      const auto one = inverse_partition_function(d, kappa, 1, QueryToken::excluded);
      CHECK(std::abs(one.mean / std::exp(kappa + log_kernel_mean(d, kappa)) - 1) <= 1e-12);
      CHECK(std::abs(one.second_moment / std::exp(2 * kappa + log_kernel_mean(d, 2 * kappa)) - 1) <= 1e-12);
      CHECK(std::abs(one.variance / (one.mean * one.mean) / partition_function_excess(d, kappa) - 1) <= 1e-10);
      CHECK(std::abs(one.ipr - 1) <= 1e-12);
    }
    const auto flat = inverse_partition_function(d, 0.0, 7, QueryToken::included);
    CHECK(std::abs(flat.mean - 1 / 8.0) <= 1e-16);
    CHECK(std::abs(flat.ipr - 7 / 64.0) <= 1e-16);
    CHECK(flat.variance == 0);
    // delta method: the terms left out are of the next order in v/n
    const std::int64_t n = 10'000'000;
    const double v = partition_function_excess(d, 2.0), mass = 1e7 * std::exp(log_kernel_mean(d, 2.0) - 2.0);
    const auto many = inverse_partition_function(d, 2.0, n, QueryToken::excluded);
    CHECK(std::abs(many.mean * mass - 1 - v / 1e7) <= 1e-12);
    CHECK(std::abs(many.variance * mass * mass * 1e7 / v - 1) <= 1e-5);
    CHECK(std::abs(many.ipr * 1e7 / (1 + v) - 1) <= 1e-5);
  }
  // a partition function that varies strongly keeps its variance: one point, whose weight is anything from e^-80 to 1
  const auto wide = inverse_partition_function(2, 40.0, 1, QueryToken::excluded);
  CHECK(std::abs(wide.variance / (wide.mean * wide.mean) / partition_function_excess(2, 40.0) - 1) <= 1e-10);
  // a partition function that hardly varies keeps its variance
  const auto nearly = inverse_partition_function(5, 1e-3, 1'000'000, QueryToken::excluded);
  CHECK(std::abs(nearly.variance / (nearly.mean * nearly.mean) * 1e6 / partition_function_excess(5, 1e-3) - 1) <= 1e-9);
}

TEST_CASE("the variance of the inverse partition function keeps its digits where the kernel is nearly flat",
          "[classification]") {
  for (const double kappa : {1e-2, 1e-4, 1e-6, 1e-8}) {
    const double bound = 1e-11 + 2e-24 / (kappa * kappa);
    for (const std::int64_t n : {1, 3, 1'000'000}) {
      const auto law = inverse_partition_function(3, kappa, n, QueryToken::excluded);
      const double v = partition_function_excess(3, kappa), square = law.mean * law.mean;
      INFO("kappa = " << kappa << ", n = " << n);
      // for one point the variance is v times the squared mean; for n nearly equal weights it is v / n times it,
      // to first order
      CHECK(std::abs(law.variance / square * static_cast<double>(n) / v - 1) <= (n == 1 ? bound : bound + 8 * v));
    }
  }
}

TEST_CASE("extremes: overflow says infinity, the query tames it, float agrees", "[classification]") {
  const auto empty = inverse_partition_function(3, 500.0, 5, QueryToken::excluded);
  CHECK(std::isinf(empty.mean));
  CHECK(std::isinf(empty.variance));
  CHECK(0.9 < empty.ipr);
  CHECK(empty.ipr < 1);
  const auto tame = inverse_partition_function(3, 1e4, 20, QueryToken::included);
  CHECK(0.99 < tame.mean);
  CHECK(tame.mean < 1);
  CHECK(0 < tame.variance);
  CHECK(tame.variance < 1e-3);
  const auto f = inverse_partition_function(4, 3.0f, 10, QueryToken::included);
  const auto d = inverse_partition_function(4, 3.0, 10, QueryToken::included);
  CHECK(std::abs(f.mean / d.mean - 1) <= 64 * std::numeric_limits<float>::epsilon());
  CHECK(std::abs(f.ipr / d.ipr - 1) <= 64 * std::numeric_limits<float>::epsilon());
}

TEST_CASE("the inverse partition function refuses what is outside its domain", "[classification]") {
  const auto refused = [](int d, double kappa, int n, QueryToken query = QueryToken::excluded) {
    return message_of([&] { inverse_partition_function(d, kappa, n, query); });
  };
  CHECK(names(refused(1, 1.0, 5), "inverse_partition_function", "dimension", "value = 1"));
  CHECK(names(refused(3, -0.5, 5), "kappa", "value = -0.5"));
  CHECK(names(refused(3, std::nan(""), 5), "kappa"));
  CHECK(names(refused(3, 2e5, 5), "kappa", "too large", "at most 1e4 without the query's key"));
  CHECK(names(refused(3, 2e5, 5, QueryToken::included), "kappa", "too large", "at most 1e5"));
  CHECK(names(refused(3, 1.0, 0), "context_length", "value = 0"));
}

}  // namespace incontext::testing
