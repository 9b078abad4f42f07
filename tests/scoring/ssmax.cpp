#include "incontext/scoring/ssmax.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("SSMax is n^(s z) over its sum, with n the visible scores", "[scoring]") {
  const std::vector<double> z{0.5, -infinity, 1, 0.25, -infinity};
  double sum = 0;
  for (const double x : {0.5, 1.0, 0.25}) sum += std::pow(3.0, 0.5 * x);
  const auto a = weights_of(SSMax<double>{0.5}, z);
  CHECK(std::abs(a[2] - std::pow(3.0, 0.5) / sum) < 1e-15);
  CHECK(a[1] == 0);
  CHECK(std::abs(weights_of(SSMax<double>{0.5}, {0.5, 1, 0.25, -1e9, -1e9})[1] - a[2]) > 1e-3);
}

TEST_CASE("SSMax is sharper than softmax exactly above e^(1/s) scores", "[scoring]") {
  const SSMax<double> map{0.43};
  for (const std::size_t n : {std::size_t{10}, std::size_t{11}}) {
    std::vector<double> z(n, 0.0);
    z[0] = 2;
    const bool sharper = weights_of(map, z)[0] > weights_of(Softmax<double>{}, z)[0];
    CHECK(sharper == (static_cast<double>(n) > std::exp(1 / 0.43)));
  }
}

TEST_CASE("a score above 1/s stays in focus at any length, one below fades", "[scoring]") {
  const auto at_top = [](double gap, std::size_t n) {
    std::vector<double> z(n, 0.0);
    z[n / 2] = gap;
    return weights_of(SSMax<double>{0.5}, z)[n / 2];
  };
  CHECK(at_top(3, 1000000) > at_top(3, 1000));
  CHECK(at_top(3, 1000000) > 0.998);
  CHECK(at_top(1, 1000000) < at_top(1, 1000));
  CHECK(at_top(1, 1000000) < 0.002);
  CHECK(std::abs(at_top(2, 1000000) - 0.5) < 1e-6);  // exactly 1/s: n / (n + n - 1)
}

TEST_CASE("a negative inverse temperature prefers the smallest score", "[scoring]") {
  const auto a = weights_of(SSMax<double>{0, -2}, {1000, -1000, 0, 1000});
  CHECK(a == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("one visible score has weight one whatever its inverse temperature", "[scoring]") {
  CHECK(SSMax<double>{5}.inverse_temperature(1) == 0);
  CHECK(weights_of(SSMax<double>{5}, {-infinity, 7, -infinity}) == std::vector<double>{0, 1, 0});
}

}  // namespace incontext::testing
