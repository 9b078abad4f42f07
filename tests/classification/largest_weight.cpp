#include "incontext/classification/largest_weight.hpp"

#include <algorithm>
#include <cmath>

#include "classification/contexts.hpp"
#include "incontext/classification/inverse_partition_function.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the largest weight is that of drawn contexts", "[classification]") {
  struct Point {
    int d, n;
    double kappa;
  };
  for (const Point& at : {Point{2, 3, 2.0}, Point{3, 15, 6.0}, Point{10, 8, 9.0}}) {
    for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
      SpherePoints points(at.d, 72);
      SampleMean largest;
      for (int trial = 0; trial < 20'000; ++trial) {
        double sum = query == QueryToken::included ? 1 : 0, most = 0;
        for (const double u : drawn_cosines(points, at.n)) {
          const double w = std::exp(at.kappa * (u - 1));
          sum += w;
          most = std::max(most, w);
        }
        largest.add(most / sum);
      }
      INFO("d = " << at.d);
      CHECK(std::abs(largest.z(expected_largest_weight(at.d, at.kappa, at.n, query))) <= 5);
      CHECK(std::abs(largest.z(expected_largest_weight(at.d + 1, at.kappa, at.n, query))) > 5);
    }
  }
}

TEST_CASE("two points by quadrature over both, one point, no kernel, narrow kernels", "[classification]") {
  const double kappa = 3.0;
  // d = 3: cosines are uniform; E max/(sum) = E 1/(1 + e^(-kappa |u - u'|)), |u - u'| has density (2 - x)/2 on [0, 2]
  double two = 0;
  const int steps = 20'000;
  for (int i = 0; i < steps; ++i) {
    const double x = 2 * (i + 0.5) / steps;
    two += (2 - x) / 2 / (1 + std::exp(-kappa * x)) * 2 / steps;
  }
  CHECK(std::abs(expected_largest_weight(3, kappa, 2, QueryToken::excluded) / two - 1) <= 1e-8);
  CHECK(std::abs(expected_largest_weight(6, 4.0, 1, QueryToken::excluded) - 1) <= 1e-12);
  CHECK(std::abs(expected_largest_weight(6, 4.0, 1, QueryToken::included) +
                 inverse_partition_function(6, 4.0, 1, QueryToken::included).mean - 1) <= 1e-12);
  CHECK(expected_largest_weight(6, 0.0, 4, QueryToken::included) == 0.2);
  CHECK(expected_largest_weight(2, 800.0, 3, QueryToken::excluded) > 0.95);
  // long contexts: exp(-kappa Gamma(1 + 1/q) (n c)^(-1/q)) e^kappa / (n A), q = 1 and c = 1/2 in space
  const double n = 1e6, leading = std::exp(6.0 - 6.0 * 2 / n - log_kernel_mean(3, 6.0)) / n;
  CHECK(std::abs(expected_largest_weight(3, 6.0, 1'000'000, QueryToken::excluded) / leading - 1) <= 1e-4);
}

TEST_CASE("the largest weight is between the inverse participation ratio and its root", "[classification]") {
  for (const int d : {2, 5, 100}) {
    for (const int n : {2, 50, 1000}) {
      for (const double kappa : {0.5, 20.0}) {
        const double most = expected_largest_weight(d, kappa, n, QueryToken::excluded);
        const double ipr = inverse_partition_function(d, kappa, n, QueryToken::excluded).ipr;
        INFO("d = " << d << ", n = " << n << ", kappa = " << kappa);
        CHECK(ipr <= most);
        CHECK(most <= std::sqrt(ipr));
      }
    }
  }
}

TEST_CASE("the largest weight refuses what is outside its domain", "[classification]") {
  const auto refused = [](int d, double kappa, int n) {
    return message_of([&] { expected_largest_weight(d, kappa, n, QueryToken::excluded); });
  };
  CHECK(names(refused(1, 1.0, 5), "expected_largest_weight", "dimension", "value = 1"));
  CHECK(names(refused(3, -2.0, 5), "kappa", "value = -2"));
  CHECK(names(refused(3, 1.0, 0), "context_length", "value = 0"));
}

}  // namespace incontext::testing
