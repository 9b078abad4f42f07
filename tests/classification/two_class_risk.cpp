#include "incontext/classification/two_class_risk.hpp"

#include <cmath>
#include <random>

#include "classification/contexts.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("losses and accuracies are those of drawn queries and Gaussian noise", "[classification]") {
  const int d = 4, n = 20;
  for (const double learning_rate : {0.5, 25.0, 400.0}) {
    SpherePoints points(d, 91);
    std::mt19937_64 engine(92);
    std::normal_distribution<double> normal;
    SampleMean loss, correct;
    for (int trial = 0; trial < 100'000; ++trial) {
      const auto z = linear_logit_difference(d, std::asin(std::abs(points.draw()[0])), n, learning_rate);
      const double logit = z.mean + std::sqrt(z.variance) * normal(engine);
      loss.add(std::log1p(std::exp(-std::abs(logit))) + std::max(-logit, 0.0));
      correct.add(logit > 0);
    }
    CHECK(std::abs(loss.z(linear_cross_entropy(d, n, learning_rate))) <= 5);
    CHECK(std::abs(loss.z(linear_cross_entropy(d, n, learning_rate * 1.2))) > 5);
    CHECK(std::abs(correct.z(linear_accuracy<double>(d, n))) <= 5);
    CHECK(std::abs(correct.z(linear_accuracy<double>(d + 1, n))) > 5);
  }
}

TEST_CASE("accuracy of long contexts is that of drawn ones", "[classification]") {
  const int d = 3, n = 60;
  const double kappa = 6.0;
  SpherePoints points(d, 93);
  SampleMean linear, kernel;
  for (int trial = 0; trial < 20'000; ++trial) {
    const auto sides = drawn_sides(points, n, kappa, std::asin(std::abs(points.draw()[0])));
    linear.add(sides.linear > 0);
    kernel.add(sides.same > sides.other);
  }
  CHECK(std::abs(linear.z(linear_accuracy<double>(d, n))) <= 5);
  CHECK(std::abs(kernel.z(kernel_accuracy(d, kappa, n))) <= 5);
  CHECK(std::abs(linear.z(linear_accuracy<double>(d, 2 * n))) > 5);
  CHECK(std::abs(kernel.z(kernel_accuracy(d, kappa, 2 * n))) > 5);
}

TEST_CASE("the best rate is a minimum, and the boundary layer's closed form where contexts are long",
          "[classification]") {
  for (const int d : {2, 5, 200}) {
    for (const int n : {2, 100, 1'000'000}) {
      const auto best = best_linear_rate<double>(d, n);
      INFO("d = " << d << ", n = " << n);
      CHECK(best.cross_entropy < linear_cross_entropy(d, n, best.learning_rate * 1.01));
      CHECK(best.cross_entropy < linear_cross_entropy(d, n, best.learning_rate * 0.99));
      const auto leading = best_linear_rate_leading<double>(d, n);
      if (n > 10'000 * d) {
        CHECK(std::abs(best.learning_rate / leading.learning_rate - 1) <= 1e-3);
        CHECK(std::abs(best.cross_entropy / leading.cross_entropy - 1) <= 1e-3);
      } else if (n < d) {
        CHECK(std::abs(best.learning_rate / leading.learning_rate - 1) > 0.1);
      }
    }
  }
  CHECK(std::abs(linear_cross_entropy(3, 10, 0.0) - std::log(2.0)) <= 1e-12);
  CHECK(std::abs(kernel_accuracy(6, 1e-4, 50) - linear_accuracy<double>(6, 50)) <= 1e-6);
  // at huge learning rates only the hinge is left: the loss grows in proportion to the rate
  CHECK(std::abs(linear_cross_entropy(3, 10, 2e8) / linear_cross_entropy(3, 10, 1e8) - 2) <= 1e-6);
}

TEST_CASE("the best rate agrees with a root at 30 digits to ten digits", "[classification]") {
  struct Case {
    int d, n;
    BestRate<double> best;  // root of E z/(1 + e^z) at 30 digits, by sums over g and Gauss' rule over the angle
  };
  for (const auto& [d, n, best] : {Case{2, 2, {3.7646155129362002172, 0.40225924515056977542}},
                                   Case{3, 10, {9.6657447690135496412, 0.30346957209952673433}},
                                   Case{5, 100, {39.809030712328839939, 0.15823266259238337874}}}) {
    const auto found = best_linear_rate<double>(d, n);
    INFO("d = " << d << ", n = " << n << ", rate " << found.learning_rate);
    CHECK(std::abs(found.learning_rate / best.learning_rate - 1) <= 1e-10);
    CHECK(std::abs(found.cross_entropy / best.cross_entropy - 1) <= 1e-11);
  }
}

TEST_CASE("losses and accuracies refuse what is outside their domain", "[classification]") {
  CHECK(names(message_of([] { linear_cross_entropy(1, 4, 1.0); }), "dimension", "value = 1"));
  CHECK(names(message_of([] { linear_cross_entropy(3, 7, 1.0); }), "context_length", "value = 7"));
  CHECK(names(message_of([] { linear_cross_entropy(3, 4, std::nan("")); }), "learning_rate"));
  CHECK(names(message_of([] { linear_accuracy<double>(3, 1); }), "context_length", "value = 1"));
  CHECK(names(message_of([] { kernel_accuracy(3, 0.0, 4); }), "kappa", "value = 0"));
  CHECK(names(message_of([] { best_linear_rate<double>(3, 3); }), "context_length", "value = 3"));
}

}  // namespace incontext::testing
