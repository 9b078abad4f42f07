#include "incontext/classification/circle_attention.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "classification/sphere.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

std::vector<double> attention_of(const std::vector<double>& prototypes, double query, double kappa, int n,
                                 QueryToken token) {
  return circle_attention<double>(prototypes, query, kappa, n, token);
}

}  // namespace

TEST_CASE("attention on the circle, one point per class, is its double integral", "[classification]") {
  const std::vector<double> prototypes{0.3, 2.0};  // cells from -0.99 to 1.15 + n pi: the two half circles
  const double query = 0.8, kappa = 2.5, pi = std::acos(-1.0), low = (0.3 + 2.0) / 2 - pi;
  const int steps = 1500;
  for (const QueryToken token : {QueryToken::excluded, QueryToken::included}) {
    double own = 0, other = 0;
    for (int a = 0; a < steps; ++a) {
      const double first = std::exp(kappa * (std::cos(low + pi * (a + 0.5) / steps - query) - 1));
      for (int b = 0; b < steps; ++b) {
        const double second = std::exp(kappa * (std::cos(low + pi + pi * (b + 0.5) / steps - query) - 1));
        const double all = first + second + (token == QueryToken::included ? 1 : 0);
        own += first / all;
        other += second / all;
      }
    }
    const auto exact = attention_of(prototypes, query, kappa, 2, token);
    CHECK(std::abs(exact[0] / (own / steps / steps) - 1) <= 1e-6);
    CHECK(std::abs(exact[1] / (other / steps / steps) - 1) <= 1e-6);
    CHECK(std::abs(attention_of(prototypes, query, kappa, 4, token)[1] / (other / steps / steps) - 1) > 1e-3);
  }
}

TEST_CASE("attention on the circle is that of drawn contexts of five cells", "[classification]") {
  const std::vector<double> prototypes{5.9, 0.4, 2.0, 1.1, -2.5};
  const double query = 0.9, kappa = 6.0;
  SpherePoints points(2, 91);
  std::vector<SampleMean> with(5), without(5);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::vector<double> sums(5, 0.0);
    std::vector<int> counts(5, 0);
    for (int full = 0; full < 5;) {
      const auto u = points.draw();
      const double angle = std::atan2(u[1], u[0]);
      std::size_t nearest = 0;
      for (std::size_t c = 1; c < 5; ++c) {
        if (std::cos(angle - prototypes[c]) > std::cos(angle - prototypes[nearest])) nearest = c;
      }
      if (counts[nearest] == 3) continue;
      sums[nearest] += std::exp(kappa * (std::cos(angle - query) - 1));
      full += ++counts[nearest] == 3 ? 1 : 0;
    }
    double all = 0;
    for (const double s : sums) all += s;
    for (std::size_t c = 0; c < 5; ++c) {
      without[c].add(sums[c] / all);
      with[c].add(sums[c] / (all + 1));
    }
  }
  const auto excluded = attention_of(prototypes, query, kappa, 15, QueryToken::excluded);
  const auto included = attention_of(prototypes, query, kappa, 15, QueryToken::included);
  const auto limit = circle_cells<double>(prototypes, query, kappa, 15, 1.0).balanced_weights;
  for (std::size_t c = 0; c < 5; ++c) {
    CHECK(std::abs(without[c].z(excluded[c])) <= 5);
    CHECK(std::abs(with[c].z(included[c])) <= 5);
  }
  CHECK(std::abs(without[3].z(limit[3])) > 5);  // power: the limit of long contexts is not it
}

TEST_CASE("attention on the circle keeps its sum and its limits", "[classification]") {
  const std::vector<double> prototypes{5.9, 0.4, 2.0, 1.1, -2.5};
  for (const double kappa : {0.0, 3.0, 80.0}) {
    double sum = 0;
    for (const double a : attention_of(prototypes, 0.9, kappa, 20, QueryToken::excluded)) sum += a;
    CHECK(std::abs(sum - 1) <= 1e-12);
  }
  const auto flat = attention_of(prototypes, 0.9, 0.0, 20, QueryToken::included);
  for (const double a : flat) CHECK(std::abs(a - 4 / 21.0) <= 1e-13);
  const auto far = attention_of(prototypes, 0.9, 3.0, 5'000'000, QueryToken::included);
  const auto limit = circle_cells<double>(prototypes, 0.9, 3.0, 5, 1.0).balanced_weights;
  for (std::size_t c = 0; c < 5; ++c) CHECK(std::abs(far[c] / limit[c] - 1) <= 1e-5);
}

TEST_CASE("attention on the circle refuses what is outside its domain", "[classification]") {
  const auto refused = [](double kappa, int n) {
    return message_of([&] { attention_of({0.1, 1.0, 3.0}, 0.0, kappa, n, QueryToken::excluded); });
  };
  CHECK(names(refused(1.0, 4), "context_length", "value = 4"));
  CHECK(names(refused(-1.0, 3), "kappa", "value = -1"));
  CHECK(names(refused(501.0, 3), "kappa", "value = 501", "at most 500"));
}

}  // namespace incontext::testing
