#include "incontext/classification/sparse_neighbourhood.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "classification/oracle.hpp"
#include "classification/sphere.hpp"
#include "incontext/classification/inverse_kernel_mass.hpp"
#include "support/catch.hpp"
#include "support/message.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the Poisson neighbourhood reproduces the reference values", "[classification][oracle]") {
  for (const Json& one : cases("poisson_d3")) {
    const auto law = sparse_neighbourhood(number(one["in"]["lambda"]));
    check_output(one, "J", law.self_weight);
    check_output(one, "E_sum_p2", law.participation);
  }
}

TEST_CASE("the Poisson neighbourhood is that of drawn points", "[classification]") {
  std::mt19937_64 engine(73);
  std::exponential_distribution<double> gap;
  const double lambda = 1.7;
  Draws self, participation;
  for (int trial = 0; trial < 50'000; ++trial) {
    double sum = 0, squares = 0;
    for (double s = gap(engine) / lambda; s < 40; s += gap(engine) / lambda) {
      sum += std::exp(-s);
      squares += std::exp(-2 * s);
    }
    self.add(1 / (1 + sum));
    participation.add(squares / (sum * sum));
  }
  CHECK(std::abs(self.z(sparse_neighbourhood(lambda).self_weight)) <= 5);
  CHECK(std::abs(participation.z(sparse_neighbourhood(lambda).participation)) <= 5);
  CHECK(std::abs(self.z(sparse_neighbourhood(lambda * 1.05).self_weight)) > 5);
  CHECK(std::abs(participation.z(sparse_neighbourhood(lambda * 1.05).participation)) > 5);
}

TEST_CASE("the Poisson neighbourhood meets its limits and long contexts meet it", "[classification]") {
  const double gamma = 0.57721566490153286;
  CHECK(std::abs(sparse_neighbourhood(1.0).self_weight - std::exp(-gamma)) <= 1e-14);
  for (const double lambda : {1.0, 2.0, 50.0, 1e4}) {
    const auto law = sparse_neighbourhood(lambda);
    CHECK(std::abs(law.participation - (1 - lambda * law.self_weight)) <= 1e-12);
  }
  CHECK(std::abs(sparse_neighbourhood(1e8).participation * 2e8 - 1) <= 1e-6);
  CHECK(std::abs(sparse_neighbourhood(1e-9).self_weight - 1) <= 1e-8);
  CHECK(sparse_neighbourhood(0.0).participation == 1);
  const auto law = sparse_neighbourhood(0.5);
  const auto context = inverse_kernel_mass(3, 2e4, 20'000, QueryKey::included);
  CHECK(std::abs(context.mean / law.self_weight - 1) <= 1e-3);
  const float eps = std::numeric_limits<float>::epsilon();
  CHECK(std::abs(sparse_neighbourhood(3.0f).self_weight / sparse_neighbourhood(3.0).self_weight - 1) <= 64 * eps);
  CHECK_THROWS_AS(sparse_neighbourhood(-0.1), std::domain_error);
  CHECK(names(message_of([] { sparse_neighbourhood(std::nan("")); }), "sparse_neighbourhood", "lambda"));
}

}  // namespace incontext::testing
