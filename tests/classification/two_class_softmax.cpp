#include "incontext/classification/two_class_softmax.hpp"

#include <cmath>
#include <limits>

#include "classification/contexts.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the exact logit difference of attention is that of drawn contexts", "[classification]") {
  struct Point {
    int d, n;
    double kappa, angle;
  };
  for (const Point& at : {Point{2, 4, 5.0, 0.5}, Point{3, 2, 3.0, 0.2}, Point{7, 10, 8.0, 1.5}}) {
    for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
      SpherePoints points(at.d, 83);
      SampleMean logits;
      for (int trial = 0; trial < 40'000; ++trial) {
        const auto sides = drawn_sides(points, at.n, at.kappa, at.angle);
        logits.add(2 * (sides.same - sides.other) /
                   (sides.same + sides.other + (query == QueryToken::included ? 1 : 0)));
      }
      const auto expected = [&](double angle) {
        return expected_adaptive_logit_difference(at.d, at.kappa, angle, at.n, 2.0, query);
      };
      INFO("d = " << at.d << ", n = " << at.n);
      CHECK(std::abs(logits.z(expected(at.angle))) <= 5);
      CHECK(std::abs(logits.z(expected(at.angle > 1 ? 0.7 : at.angle + 0.1))) > 5);
    }
  }
}

TEST_CASE("the exact logit difference is right in long contexts, at the boundary and at the pole", "[classification]") {
  for (const int d : {2, 3, 8, 64}) {
    const auto exact = expected_adaptive_logit_difference(d, 3.0, 0.3, 1'000'000, 1.0, QueryToken::excluded);
    const auto delta = adaptive_logit_difference(d, 3.0, 0.3, 1'000'000, 1.0, QueryToken::excluded);
    CHECK(std::abs(exact / delta.mean - 1) <= 1e-9);
    CHECK(std::abs(exact / delta.limit - 1) > 1e-9);
  }
  CHECK(expected_adaptive_logit_difference(3, 3.0, 0.0, 10, 1.0, QueryToken::excluded) == 0);
  CHECK(expected_adaptive_logit_difference(3, 0.0, 0.3, 10, 1.0, QueryToken::excluded) == 0);
  // n = 2 at the pole in space: u uniform on [0, 1], u' on [-1, 0]; E tanh(kappa (u - u')/2) over a triangle
  double two = 0;
  const int steps = 20'000;
  for (int i = 0; i < steps; ++i) {
    const double x = 2 * (i + 0.5) / steps;
    two += (1 - std::abs(x - 1)) * std::tanh(2.0 * x / 2) * 2 / steps;
  }
  const double pole = std::asin(1.0);
  CHECK(std::abs(expected_adaptive_logit_difference(3, 2.0, pole, 2, 1.0, QueryToken::excluded) / two - 1) <= 1e-7);
}

TEST_CASE("the exact logit difference refuses what is outside its domain", "[classification]") {
  const auto refused = [](int d, double kappa, double angle, int n) {
    return message_of([&] { expected_adaptive_logit_difference(d, kappa, angle, n, 1.0, QueryToken::excluded); });
  };
  CHECK(names(refused(1, 1.0, 0.1, 4), "dimension", "value = 1"));
  CHECK(names(refused(3, -1.0, 0.1, 4), "kappa", "value = -1"));
  CHECK(names(refused(3, 1.0, 0.1, 3), "context_length", "value = 3"));
  CHECK(names(refused(3, 1.0, 7.0, 4), "boundary_angle", "value = 7"));
}

}  // namespace incontext::testing
