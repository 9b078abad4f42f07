#include "incontext/classification/two_class_logits.hpp"

#include <cmath>
#include <limits>

#include "classification/contexts.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/two_class_softmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("logit differences are those of drawn contexts", "[classification]") {
  struct Point {
    int d, n;
    double kappa, angle;
  };
  for (const Point& at : {Point{2, 2, 3.0, 0.3}, Point{3, 6, 2.0, 1.2}, Point{5, 10, 4.0, 0.05}}) {
    SpherePoints points(at.d, 82);
    SampleMean linear, linear_square, kernel, kernel_square;
    const auto expected_linear = linear_logit_difference(at.d, at.angle, at.n, 3.0);
    const auto expected_kernel = kernel_logit_difference(at.d, at.kappa, at.angle, at.n, 3.0);
    for (int trial = 0; trial < 40'000; ++trial) {
      const auto sides = drawn_sides(points, at.n, at.kappa, at.angle);
      const double l = 3.0 / at.n * sides.linear, k = 3.0 / at.n * (sides.same - sides.other);
      linear.add(l);
      linear_square.add(std::pow(l - expected_linear.mean, 2));
      kernel.add(k);
      kernel_square.add(std::pow(k - expected_kernel.mean, 2));
    }
    INFO("d = " << at.d);
    CHECK(std::abs(linear.z(expected_linear.mean)) <= 5);
    CHECK(std::abs(linear_square.z(expected_linear.variance)) <= 5);
    CHECK(std::abs(kernel.z(expected_kernel.mean)) <= 5);
    CHECK(std::abs(kernel_square.z(expected_kernel.variance)) <= 5);
    // power: the angle a tenth off, and the variance of points drawn without regard to class
    CHECK(std::abs(linear.z(linear_logit_difference(at.d, at.angle + 0.1, at.n, 3.0).mean)) > 5);
    if (at.angle > 1) CHECK(std::abs(linear_square.z(9.0 / at.n / at.d)) > 5);
  }
}

TEST_CASE("the adaptive mean to order 1/n is off by what its header says", "[classification][range]") {
  Worst off;
  for (const int d : {2, 3, 5, 12}) {
    for (const double kappa : {0.5, 2.0, 4.0, 8.0}) {
      for (const int n : {8, 40, 400}) {
        const double crowding = partition_function_excess(d, kappa) / n;
        if (crowding > 0.1) continue;
        for (const double angle : {0.05, 0.3, 1.0}) {
          const auto cut = adaptive_logit_difference(d, kappa, angle, n, 1.0, QueryToken::excluded);
          const double exact = expected_adaptive_logit_difference(d, kappa, angle, n, 1.0, QueryToken::excluded);
          off.add(std::abs(cut.mean - exact) / (crowding * crowding), "d ", d, ", kappa ", kappa, ", n ", n, ", angle ",
                  angle);
        }
      }
    }
  }
  CHECK(off <= 1);
  CHECK(off > 0.5);  // power: half of it is exceeded
}

TEST_CASE("narrow limits join the steps", "[classification]") {
  const double eta = 20, kappa = 1e-6;
  const auto linear = linear_logit_difference(4, 0.6, 30, eta);
  const auto kernel = kernel_logit_difference(4, kappa, 0.6, 30, eta / kappa);
  CHECK(std::abs(kernel.mean / linear.mean - 1) <= 1e-5);
  CHECK(std::abs(kernel.variance / linear.variance - 1) <= 1e-5);
  const auto adaptive = adaptive_logit_difference(4, kappa, 0.6, 30, eta / kappa, QueryToken::excluded);
  CHECK(std::abs(adaptive.mean / linear.mean - 1) <= 1e-5);
  CHECK(std::abs(adaptive.variance / linear.variance - 1) <= 1e-5);
  const auto with_query = adaptive_logit_difference(4, kappa, 0.6, 30, eta / kappa, QueryToken::included);
  CHECK(std::abs(with_query.mean / linear.mean * 31 / 30 - 1) <= 1e-5);
  const auto one = linear_logit_difference(3, std::asin(1.0), 2, 1.0);
  CHECK(std::abs(one.mean - 0.5) <= 1e-15);
  CHECK(std::abs(one.variance - (1 / 3.0 - 0.25) / 2) <= 1e-15);
}

TEST_CASE("logit differences refuse what is outside their domain", "[classification]") {
  CHECK(names(message_of([] { linear_logit_difference(1, 0.1, 4, 1.0); }), "dimension", "value = 1"));
  CHECK(names(message_of([] { linear_logit_difference(3, 0.1, 5, 1.0); }), "context_length", "value = 5", "multiple"));
  CHECK(names(message_of([] { linear_logit_difference(3, 0.1, 0, 1.0); }), "context_length", "value = 0"));
  CHECK(names(message_of([] { linear_logit_difference(3, 0.1, 4, std::nan("")); }), "learning_rate"));
  CHECK(names(message_of([] { kernel_logit_difference(3, -1.0, 0.1, 4, 1.0); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { adaptive_logit_difference(3, 1.0, 2.0, 4, 1.0, QueryToken::excluded); }),
              "boundary_angle"));
  CHECK(names(message_of([] { adaptive_logit_difference(3, 1.0, 1.0, 4, double{INFINITY}, QueryToken::excluded); }),
              "gain"));
}

}  // namespace incontext::testing
