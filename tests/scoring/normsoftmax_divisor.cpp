#include "incontext/scoring/normsoftmax_divisor.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

double variance(const std::vector<double>& z, double freedom) {
  double squares = 0;
  for (const double x : z)
    squares += (x - total(z) / static_cast<double>(z.size())) * (x - total(z) / static_cast<double>(z.size()));
  return squares / freedom;
}

}  // namespace

TEST_CASE("the divisor is the smaller of scale and temperature", "[scoring]") {
  Random random(221);
  for (int trial = 0; trial < 50; ++trial) {
    const auto z = random.normals(2 + random.below(20), 3);
    const auto n = static_cast<double>(z.size());
    const double tau = 6 * random.uniform();
    const auto check = [&](ScoreScale scale, double expected) {
      const auto divisor = normsoftmax_divisor(NormSoftmax<double>{tau, scale}, z);
      CHECK(std::abs(divisor.scale / expected - 1) < 1e-13);
      CHECK(divisor.divisor == std::min(divisor.scale, tau));
      CHECK((divisor.branch == NormSoftmaxBranch::temperature) == (tau <= divisor.scale));
      const auto a = weights_of(NormSoftmax<double>{tau, scale}, z);
      CHECK(distance(a, weights_of(Softmax<double>{divisor.divisor}, z)) < 1e-14);
    };
    check(ScoreScale::population_stddev, std::sqrt(variance(z, n)));
    check(ScoreScale::sample_stddev, std::sqrt(variance(z, n - 1)));
    check(ScoreScale::population_variance, variance(z, n));
  }
  CHECK(normsoftmax_divisor(NormSoftmax<double>{1}, std::vector<double>{-1, 1}).branch ==
        NormSoftmaxBranch::temperature);
  CHECK(normsoftmax_divisor(NormSoftmax<double>{1}, std::vector<double>{3}).branch == NormSoftmaxBranch::constant_row);
  CHECK(normsoftmax_divisor(NormSoftmax<double>{1}, std::vector<double>{0.1, 0.1, 0.1}).divisor == 1);
  CHECK(normsoftmax_divisor(NormSoftmax<double>{1}, std::vector<double>{-infinity, -0.5, 0.5}).scale == 0.5);
  CHECK(std::isnan(normsoftmax_divisor(NormSoftmax<double>{1}, std::vector<double>{nan, 1}).scale));
  CHECK(std::isnan(normsoftmax_divisor(NormSoftmax<double>{-1}, std::vector<double>{0, 1}).divisor));
}

TEST_CASE("no row gives NormSoftmax a larger weight, and one spike attains it whatever its height", "[scoring]") {
  Random random(222);
  for (const ScoreScale scale : {ScoreScale::population_stddev, ScoreScale::sample_stddev}) {
    const NormSoftmax<double> map{1e9, scale};
    for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{30}}) {
      const double bound = normsoftmax_largest_weight(static_cast<std::ptrdiff_t>(n), scale);
      double largest = 0;
      for (int trial = 0; trial < 3000; ++trial) {
        auto z = random.normals(n, trial % 2 == 0 ? 1 : 0.01);
        if (trial % 3 == 0) z[0] += 100;
        const auto a = weights_of(map, z);
        raise(largest, *std::max_element(a.begin(), a.end()));
      }
      CHECK(largest <= bound * (1 + 1e-12));
      CHECK(largest > 0.97 * bound);  // a bound 3% too high would be noticed
      for (const double gap : {1e-6, 1.0, 1e6}) {
        std::vector<double> z(n, 2.0);
        z[n - 1] += gap;
        CHECK(std::abs(weights_of(map, z)[n - 1] / bound - 1) < 1e-9);
      }
    }
  }
}

TEST_CASE("the largest weight is smallest at n = 7, 1 at its ends, and unbounded for the variance", "[scoring]") {
  for (std::ptrdiff_t n = 2; n < 200; ++n) {
    CHECK(normsoftmax_largest_weight(n) >= normsoftmax_largest_weight(7));
  }
  CHECK(std::abs(normsoftmax_largest_weight(7) - 0.744) < 5e-4);
  CHECK(normsoftmax_largest_weight(1) == 1);
  CHECK(normsoftmax_largest_weight(100000000) == 1);
  CHECK(normsoftmax_largest_weight(5, ScoreScale::population_variance) == 1);
  CHECK(weights_of(NormSoftmax<double>{1e9, ScoreScale::population_variance}, {1e-3, 0, 0, 0, 0})[0] > 1 - 1e-12);
  CHECK(std::isnan(normsoftmax_largest_weight(0)));
  CHECK(std::abs(static_cast<double>(normsoftmax_largest_weight<float>(8)) - normsoftmax_largest_weight(8)) < 1e-6);
  CHECK(std::abs(static_cast<double>(normsoftmax_largest_weight<long double>(8)) - normsoftmax_largest_weight(8)) <
        1e-15);
}

}  // namespace incontext::testing
