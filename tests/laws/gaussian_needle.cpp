#include "incontext/laws/gaussian_needle.hpp"

#include <algorithm>
#include <cmath>

#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

TEST_CASE("one or two noise tokens agree with direct integrals over their scores", "[laws]") {
  for (const double x : {0.0, 0.3, 1.5, 4.0}) {
    for (const double gap : {-6.0, -0.5, 0.0, 2.0, 9.0}) {
      const double one = normal_mean([&](double g) { return logistic(gap - x * g); });
      const double other = normal_mean([&](double g) { return logistic(x * g - gap); });
      CHECK(relative(needle_weight(1.0, x, gap).value, one) < 1e-11);
      CHECK(relative(noise_weight(1.0, x, gap).value, other) < 1e-11);
      const double two = normal_mean(
          [&](double g) {
            return normal_mean([&](double h) { return 1 / (1 + std::exp(x * g - gap) + std::exp(x * h - gap)); },
                               1.0 / 32);
          },
          1.0 / 32);
      CHECK(relative(needle_weight(2.0, x, gap).value, two) < 1e-11);
      for (const double own : {0.2, 5.0}) {
        const double random = normal_mean(
            [&](double g) { return normal_mean([&](double h) { return logistic(gap + own * h - x * g); }, 1.0 / 32); },
            1.0 / 32);
        CHECK(relative(random_needle_weight(RandomNeedle<double>{1.0, x, gap, own}).value, random) < 1e-11);
      }
    }
  }
}

TEST_CASE("weights of a needle agree with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 8 comparisons fails a true law once in 200 thousand tests
  for (const auto& [n, x] : {std::pair{20, 0.8}, std::pair{60, 4.0}}) {
    for (const double share : {0.5, 1.0}) {
      const double count = n, gap = share * (std::log(count) + x * x / 2);
      Random random(431);
      SampleMean fixed, drawn;
      for (int trial = 0; trial < 30000; ++trial) {
        const SampledRow row(random.normals(static_cast<std::size_t>(n)), x);
        fixed.add(logistic(gap - row.log_partition));
        drawn.add(logistic(gap + 2 * random.normal() - row.log_partition));
      }
      const double weight = needle_weight(count, x, gap).value;
      CHECK(std::abs(fixed.z(weight)) <= 5);
      const double random_weight = random_needle_weight(RandomNeedle<double>{count, x, gap, 2.0}).value;
      CHECK(std::abs(drawn.z(random_weight)) <= 5);
      CHECK_FALSE(std::abs(fixed.z(weight * 1.05)) <= 5);
      CHECK_FALSE(std::abs(drawn.z(random_weight * 1.1)) <= 5);
      CHECK_FALSE(std::abs(fixed.z(needle_weight_annealed(count, x, gap))) <= 5);
    }
  }
}

TEST_CASE("needle and noise share the weight, at every temperature and length", "[laws]") {
  for (const double n : {1.0, 2.0, 1e3, 1e6, 1e12}) {
    for (const double x : {0.0, 1e-6, 0.3, 3.0, 80.0, 800.0}) {
      for (const double share : {-1.0, 0.0, 0.7, 1.0, 1.5}) {
        const double gap = share * (std::log(n) + x * std::min(x, std::sqrt(2 * std::log(n))) + 1);
        const double needle = needle_weight(n, x, gap).value, noise = noise_weight(n, x, gap).value;
        INFO("n " << n << ", x " << x << ", beta m " << gap << ": " << needle << " " << noise);
        CHECK(std::abs(needle + noise - 1) < 1e-13);
        // Jensen, until 1 - a has no digits left
        CHECK(needle_weight_annealed(n, x, gap) <= needle * (1 + 1e-12));
        CHECK(noise <= noise_weight_leading_order(n, x, gap) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("a needle with the noise's own law is one token among equals", "[laws]") {
  for (const double n : {1.0, 64.0, 1e6, 1e12}) {
    for (const double x : {0.0, 0.5, 3.0, 20.0, 300.0}) {
      CHECK(relative(random_needle_weight(RandomNeedle<double>{n, x, 0.0, x}).value * (n + 1), 1) < 1e-11);
    }
  }
  for (const double gap : {-2.0, 0.0, 12.0}) {
    const double fixed = needle_weight(50.0, 2.0, gap).value;
    CHECK(relative(random_needle_weight(RandomNeedle<double>{50.0, 2.0, gap, 0.0}).value, fixed) < 1e-11);
    CHECK(relative(needle_weight(50.0, 0.0, gap).value, logistic(gap - std::log(50.0))) < 1e-13);
    CHECK(relative(needle_weight_annealed(50.0, 0.0, gap), logistic(gap - std::log(50.0))) < 1e-14);
  }
}

TEST_CASE("needles refuse what is no row", "[laws]") {
  CHECK(refuses([] { needle_weight(0.0, 1.0, 1.0); }, {"needle_weight", "noise_count", "value = 0"}));
  CHECK(refuses([] { needle_weight(1.5, 1.0, 1.0); }, {"noise_count", "1.5"}));
  CHECK(refuses([] { noise_weight(3.0, -1.0, 1.0); }, {"noise_weight", "noise_stddev", "-1"}));
  CHECK(refuses([] { random_needle_weight(RandomNeedle<double>{3.0, 1.0, 1.0, -2.0}); }, {"gap_stddev", "-2"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { needle_weight(x, 1.0, 1.0); }, {"noise_count"}));
    CHECK(refuses([x] { needle_weight(3.0, x, 1.0); }, {"noise_stddev"}));
    CHECK(refuses([x] { noise_weight(3.0, 1.0, x); }, {"gap"}));
    CHECK(refuses([x] { random_needle_weight(RandomNeedle<double>{3.0, 1.0, 1.0, x}); }, {"gap_stddev"}));
    CHECK(refuses([x] { needle_weight_annealed(3.0, 1.0, x); }, {"gap"}));
    CHECK(refuses([x] { noise_weight_leading_order(3.0, 1.0, x); }, {"gap"}));
  }
}

}  // namespace incontext::testing
