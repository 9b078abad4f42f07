#include "incontext/classification/two_class_kernel_risk.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "classification/contexts.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("losses of kernel methods are those of drawn queries and Gaussian noise", "[classification]") {
  const int d = 3, n = 40;
  const double kappa = 2.0;
  SpherePoints points(d, 96);
  std::mt19937_64 engine(97);
  std::normal_distribution<double> normal;
  SampleMean kernel, adaptive;
  for (int trial = 0; trial < 20'000; ++trial) {
    const double angle = std::asin(std::abs(points.draw()[0])), g = normal(engine);
    const auto loss = [&](double mean, double variance) {
      const double z = mean + std::sqrt(variance) * g;
      return std::log1p(std::exp(-std::abs(z))) + std::max(-z, 0.0);
    };
    const auto k = kernel_logit_difference(d, kappa, angle, n, 50.0);
    const auto a = adaptive_logit_difference(d, kappa, angle, n, 12.0, QueryToken::included);
    kernel.add(loss(k.mean, k.variance));
    adaptive.add(loss(a.mean, a.variance));
  }
  CHECK(std::abs(kernel.z(kernel_cross_entropy(d, kappa, n, 50.0))) <= 5);
  CHECK(std::abs(kernel.z(kernel_cross_entropy(d, kappa, n, 80.0))) > 5);
  CHECK(std::abs(adaptive.z(adaptive_cross_entropy(d, kappa, n, 12.0, QueryToken::included))) <= 5);
  CHECK(std::abs(adaptive.z(adaptive_cross_entropy(d, kappa, n, 7.0, QueryToken::included))) > 5);
}

TEST_CASE("losses of kernel methods in short contexts are integrals over the angle and the noise", "[classification]") {
  const double kappa = 2.0;
  struct Case {
    int d, n;
  };
  for (const Case& at : {Case{2, 2}, Case{4, 2}, Case{4, 10}}) {
    const int d = at.d, n = at.n;
    // an integral over the angle to the normal of the boundary, and a sum over the noise in steps of 1/8 of its
    // standard deviation
    const auto loss = [&](const auto& logits_at) {
      return angle_mean(d, [&](double from_normal) {
        const LogitMoments<double> z = logits_at(std::abs(std::acos(0.0) - from_normal));
        double sum = 0;
        for (int i = -72; i <= 72; ++i) {
          const double g = i / 8.0, logit = z.mean + std::sqrt(z.variance) * g;
          sum += std::exp(-g * g / 2) * (std::log1p(std::exp(-std::abs(logit))) + std::max(-logit, 0.0));
        }
        return sum / 8 / std::sqrt(4 * std::acos(0.0));
      });
    };
    const auto moments = [](const auto& z) { return LogitMoments<double>{z.mean, z.variance}; };
    INFO("d = " << d << ", n = " << n);
    const double kernel = loss([&](double a) { return kernel_logit_difference(d, kappa, a, n, 3.0); });
    CHECK(std::abs(kernel_cross_entropy(d, kappa, n, 3.0) / kernel - 1) <= 1e-10);
    for (const auto query : {QueryToken::excluded, QueryToken::included}) {
      const auto logits = [&](double a) { return adaptive_logit_difference(d, kappa, a, n, 2.0, query); };
      const double adaptive = loss([&](double a) { return moments(logits(a)); });
      CHECK(std::abs(adaptive_cross_entropy(d, kappa, n, 2.0, query) / adaptive - 1) <= 1e-10);
      const double of_limits = loss([&](double a) {
        return LogitMoments<double>{logits(a).limit, logits(a).variance};
      });
      CHECK(std::abs(adaptive_cross_entropy(d, kappa, n, 2.0, query) / of_limits - 1) > 1e-4);
    }
  }
}

TEST_CASE("losses of long contexts are those of drawn ones", "[classification]") {
  const int d = 3, n = 100;
  const double kappa = 2.0, gain = 12.0;
  SpherePoints points(d, 98);
  SampleMean loss;
  for (int trial = 0; trial < 10'000; ++trial) {
    const auto sides = drawn_sides(points, n, kappa, std::asin(std::abs(points.draw()[0])));
    const double z = gain * (sides.same - sides.other) / (sides.same + sides.other);
    loss.add(std::log1p(std::exp(-std::abs(z))) + std::max(-z, 0.0));
  }
  CHECK(std::abs(loss.z(adaptive_cross_entropy(d, kappa, n, gain, QueryToken::excluded))) <= 5);
  CHECK(std::abs(loss.z(adaptive_cross_entropy(d, kappa, 2 * n, gain, QueryToken::excluded))) > 5);
}

TEST_CASE("losses of kernel methods meet the linear one", "[classification]") {
  const double linear = linear_cross_entropy(4, 50, 30.0);
  CHECK(std::abs(kernel_cross_entropy(4, 1e-6, 50, 3e7) / linear - 1) <= 1e-5);
  CHECK(std::abs(adaptive_cross_entropy(4, 1e-6, 50, 3e7, QueryToken::excluded) / linear - 1) <= 1e-5);
  CHECK(std::abs(adaptive_cross_entropy(4, 1e-6, 50, 3e7 * 51 / 50, QueryToken::included) / linear - 1) <= 1e-5);
  CHECK(std::abs(kernel_cross_entropy(4, 0.0, 50, 3.0) - std::log(2.0)) <= 1e-12);
  CHECK(std::abs(adaptive_cross_entropy(4, 2.0, 50, 0.0, QueryToken::excluded) - std::log(2.0)) <= 1e-12);
}

TEST_CASE("losses of kernel methods refuse what is outside their domain", "[classification]") {
  CHECK(names(message_of([] { kernel_cross_entropy(3, -1.0, 4, 1.0); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { kernel_cross_entropy(3, 1.0, 5, 1.0); }), "context_length", "value = 5"));
  CHECK(names(message_of([] { adaptive_cross_entropy(1, 1.0, 4, 1.0, QueryToken::excluded); }), "dimension",
              "value = 1"));
}

}  // namespace incontext::testing
