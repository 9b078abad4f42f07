#include "incontext/scoring/entmax.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("the threshold solves its own equation, and no other one does", "[scoring]") {
  Random random(231);
  for (const double alpha : {1.05, 1.25, 1.5, 2.0, 3.0}) {
    for (int trial = 0; trial < 40; ++trial) {
      const auto z = random.normals(1 + random.below(20), 2);
      const auto support = entmax_support(Entmax<double>{alpha}, view(z));
      const auto mass = [&](double threshold) {
        double sum = 0;
        for (const double x : z) sum += std::pow(std::max((alpha - 1) * x - threshold, 0.0), 1 / (alpha - 1));
        return sum;
      };
      CHECK(std::abs(mass(support.threshold) - 1) < 1e-10);
      CHECK(std::abs(mass(support.threshold + 1e-6) - 1) > 1e-8);
      std::ptrdiff_t above = 0;
      for (const double x : z) above += (alpha - 1) * x > support.threshold + 1e-14 ? 1 : 0;
      CHECK(above == support.size);
    }
  }
  const std::vector<double> z{0.5, 0.25, -3};
  const auto support = entmax_support(Sparsemax<double>{}, view(z));
  CHECK(std::abs(support.threshold + 0.125) < 1e-15);
  CHECK(support.size == 2);
}

TEST_CASE("the support shrinks to one score at the gap 1 / (alpha - 1) and not below it, for any number of scores",
          "[scoring]") {
  for (const double alpha : {1.25, 1.5, 2.0, 3.0, 10.0}) {
    const Entmax<double> map{alpha};
    for (const std::size_t n : {std::size_t{2}, std::size_t{1000}}) {
      std::vector<double> z(n, 0.0);
      z[0] = 1 / (alpha - 1);
      CHECK(entmax_support(map, view(z)).size == 1);
      z[0] *= 1 - 1e-3;
      CHECK(entmax_support(map, view(z)).size == static_cast<std::ptrdiff_t>(n));
    }
  }
}

TEST_CASE("one score is its own support, masked scores are in none, and rows without weights have none", "[scoring]") {
  const auto of = [](const auto& map, std::vector<double> z) { return entmax_support(map, view(z)); };
  CHECK(of(Entmax<double>{1.5}, {4}).threshold == 1);
  CHECK(of(Entmax<double>{1.5}, {4}).size == 1);
  CHECK(of(Entmax<double>{1.5}, {-infinity, 1, 0}).threshold == of(Entmax<double>{1.5}, {1, 0}).threshold);
  CHECK(of(Entmax<double>{1.5}, {-infinity, 1, 0}).size == 2);
  CHECK(std::isnan(of(Entmax<double>{1.5}, {nan}).threshold));
  CHECK(of(Entmax<double>{1.5}, {nan}).size == 0);
  CHECK(std::isnan(of(Entmax<double>{1}, {0, 1}).threshold));
}

}  // namespace incontext::testing
