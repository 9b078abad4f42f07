#include "incontext/laws/two_level_jacobian.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "laws/refusal.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace laws;

TEST_CASE("norms of a two-level Jacobian are those of the matrix", "[laws]") {
  for (const std::size_t n : {2u, 3u, 5u, 30u}) {
    for (const double p : {0.0, 1e-3, 1.0 / static_cast<double>(n), 0.5, 0.9, 1 - 1e-9, 1.0}) {
      std::vector<double> a(n, (1 - p) / static_cast<double>(n - 1));
      a[0] = p;
      double trace = 0, frobenius = 0, entropy = 0;
      for (std::size_t i = 0; i < n; ++i) {
        trace += a[i] * (1 - a[i]);
        entropy -= a[i] > 0 ? a[i] * std::log(a[i]) : 0;
        for (std::size_t k = 0; k < n; ++k) frobenius += std::pow(i == k ? a[i] * (1 - a[i]) : a[i] * a[k], 2);
      }
      // power method, from a start that has components along both eigenvectors
      std::vector<double> u(n), next(n);
      for (std::size_t i = 0; i < n; ++i) u[i] = std::cos(1.0 + 2.0 * static_cast<double>(i));
      double spectral = 0;
      for (int step = 0; step < 4000; ++step) {
        const double mean = product(a, u);
        for (std::size_t i = 0; i < n; ++i) next[i] = a[i] * (u[i] - mean);
        spectral = std::sqrt(product(next, next) / product(u, u));
        if (!(spectral > 0)) break;
        for (std::size_t i = 0; i < n; ++i) u[i] = next[i] / spectral;
      }
      const auto j = two_level_jacobian(static_cast<double>(n), p);
      INFO("n " << n << ", p " << p);
      CHECK(std::abs(j.trace - trace) <= 1e-14 * (trace + 1e-16));
      CHECK(std::abs(j.squared_frobenius - frobenius) <= 1e-13 * frobenius + 1e-32);
      CHECK(std::abs(j.entropy - entropy) <= 1e-13 * entropy);
      CHECK(std::abs(j.spectral_norm - spectral) <= 1e-6 * spectral);
      CHECK(j.trace <= 1 - std::exp(-entropy) + 1e-15);
    }
  }
}

TEST_CASE("norms of a two-level Jacobian have their limits", "[laws]") {
  for (const double n : {3.0, 1e6, 1e15}) {
    const auto uniform = two_level_jacobian(n, 1 / n);
    CHECK(std::abs(uniform.spectral_norm * n - 1) < 1e-14);
    CHECK(std::abs(uniform.entropy / std::log(n) - 1) < 1e-14);
    CHECK(std::abs(std::exp(-uniform.entropy) / uniform.spectral_norm - 1) < 1e-12);
  }
  const auto peaked = two_level_jacobian(50.0, 1.0);
  CHECK(peaked.spectral_norm == 0);
  CHECK(peaked.squared_frobenius == 0);
  CHECK(peaked.entropy == 0);
  const double tiny = 0x1p-30;
  CHECK(std::abs(two_level_jacobian(50.0, 1 - tiny).spectral_norm / tiny - 50.0 / 49) < 1e-8);
  // the norm is not a function of the entropy: a needle, and a uniform row of fewer scores with the same entropy,
  // differ
  const auto spike = two_level_jacobian(64.0, 0.5);
  CHECK_FALSE(std::abs(spike.spectral_norm / std::exp(-spike.entropy) - 1) < 0.5);
}

TEST_CASE("norms of a two-level Jacobian refuse what is no row", "[laws]") {
  CHECK(refuses([] { two_level_jacobian(1.0, 0.5); }, {"two_level_jacobian", "row_length", "value = 1"}));
  CHECK(refuses([] { two_level_jacobian(5.0, 1.5); }, {"weight", "1.5"}));
  CHECK(refuses([] { two_level_jacobian(5.0, -0.5); }, {"weight", "-0.5"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { two_level_jacobian(x, 0.5); }, {"row_length"}));
    CHECK(refuses([x] { two_level_jacobian(5.0, x); }, {"weight"}));
  }
}

}  // namespace incontext::testing
