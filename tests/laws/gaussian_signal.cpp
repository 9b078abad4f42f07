#include "incontext/laws/gaussian_signal.hpp"

#include <algorithm>
#include <cmath>

#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

TEST_CASE("one or two noise tokens: direct integrals over their scores", "[laws]") {
  for (const double x : {0.0, 0.3, 1.5, 4.0}) {
    for (const double exponent : {-6.0, -0.5, 0.0, 2.0, 9.0}) {
      const double one = normal_mean([&](double g) { return logistic(exponent - x * g); });
      const double other = normal_mean([&](double g) { return logistic(x * g - exponent); });
      CHECK(relative(signal_weight(1.0, x, exponent).value, one) < 1e-11);
      CHECK(relative(noise_weight(1.0, x, exponent).value, other) < 1e-11);
      const double two = normal_mean(
          [&](double g) {
            return normal_mean(
                [&](double h) { return 1 / (1 + std::exp(x * g - exponent) + std::exp(x * h - exponent)); }, 1.0 / 32);
          },
          1.0 / 32);
      CHECK(relative(signal_weight(2.0, x, exponent).value, two) < 1e-11);
      for (const double own : {0.2, 5.0}) {
        const double random = normal_mean(
            [&](double g) {
              return normal_mean([&](double h) { return logistic(exponent + own * h - x * g); }, 1.0 / 32);
            },
            1.0 / 32);
        CHECK(relative(random_signal_weight(RandomNeedle<double>{1.0, x, exponent, own}).value, random) < 1e-11);
      }
    }
  }
}

TEST_CASE("weights of a signal agree with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 8 comparisons fails a true law once in 200 thousand tests
  for (const auto& [n, x] : {std::pair{20, 0.8}, std::pair{60, 4.0}}) {
    for (const double share : {0.5, 1.0}) {
      const double count = n, exponent = share * (std::log(count) + x * x / 2);
      Random random(431);
      SampleMean fixed, drawn;
      for (int trial = 0; trial < 30000; ++trial) {
        const SampledRow row(random.normals(static_cast<std::size_t>(n)), x);
        fixed.add(logistic(exponent - row.log_partition));
        drawn.add(logistic(exponent + 2 * random.normal() - row.log_partition));
      }
      const double weight = signal_weight(count, x, exponent).value;
      CHECK(std::abs(fixed.z(weight)) <= 5);
      const double random_weight = random_signal_weight(RandomNeedle<double>{count, x, exponent, 2.0}).value;
      CHECK(std::abs(drawn.z(random_weight)) <= 5);
      CHECK_FALSE(std::abs(fixed.z(weight * 1.05)) <= 5);
      CHECK_FALSE(std::abs(drawn.z(random_weight * 1.1)) <= 5);
      CHECK_FALSE(std::abs(fixed.z(signal_weight_annealed(count, x, exponent))) <= 5);
    }
  }
}

TEST_CASE("signal and noise share the weight, at every temperature and length", "[laws]") {
  for (const double n : {1.0, 2.0, 1e3, 1e6, 1e12}) {
    for (const double x : {0.0, 1e-6, 0.3, 3.0, 80.0, 800.0}) {
      for (const double share : {-1.0, 0.0, 0.7, 1.0, 1.5}) {
        const double exponent = share * (std::log(n) + x * std::min(x, std::sqrt(2 * std::log(n))) + 1);
        const double signal = signal_weight(n, x, exponent).value, noise = noise_weight(n, x, exponent).value;
        INFO("n " << n << ", x " << x << ", beta m " << exponent << ": " << signal << " " << noise);
        CHECK(std::abs(signal + noise - 1) < 1e-13);
        // Jensen, until 1 - a has no digits left
        CHECK(signal_weight_annealed(n, x, exponent) <= signal * (1 + 1e-12));
        CHECK(noise <= noise_weight_leading_order(n, x, exponent) * (1 + 1e-12));
      }
    }
  }
}

TEST_CASE("a signal with the noise's own law is one token among equals", "[laws]") {
  for (const double n : {1.0, 64.0, 1e6, 1e12}) {
    for (const double x : {0.0, 0.5, 3.0, 20.0, 300.0}) {
      CHECK(relative(random_signal_weight(RandomNeedle<double>{n, x, 0.0, x}).value * (n + 1), 1) < 1e-11);
    }
  }
  for (const double exponent : {-2.0, 0.0, 12.0}) {
    const double fixed = signal_weight(50.0, 2.0, exponent).value;
    CHECK(relative(random_signal_weight(RandomNeedle<double>{50.0, 2.0, exponent, 0.0}).value, fixed) < 1e-11);
    CHECK(relative(signal_weight(50.0, 0.0, exponent).value, logistic(exponent - std::log(50.0))) < 1e-13);
    CHECK(relative(signal_weight_annealed(50.0, 0.0, exponent), logistic(exponent - std::log(50.0))) < 1e-14);
  }
}

TEST_CASE("signals refuse what is no row", "[laws]") {
  CHECK(refuses([] { signal_weight(0.0, 1.0, 1.0); }, {"signal_weight", "noise_count", "value = 0"}));
  CHECK(refuses([] { signal_weight(1.5, 1.0, 1.0); }, {"noise_count", "1.5"}));
  CHECK(refuses([] { noise_weight(3.0, -1.0, 1.0); }, {"noise_weight", "spread", "-1"}));
  CHECK(refuses([] { random_signal_weight(RandomNeedle<double>{3.0, 1.0, 1.0, -2.0}); }, {"gap_stddev", "-2"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { signal_weight(x, 1.0, 1.0); }, {"noise_count"}));
    CHECK(refuses([x] { signal_weight(3.0, x, 1.0); }, {"spread"}));
    CHECK(refuses([x] { noise_weight(3.0, 1.0, x); }, {"exponent"}));
    CHECK(refuses([x] { random_signal_weight(RandomNeedle<double>{3.0, 1.0, 1.0, x}); }, {"gap_stddev"}));
    CHECK(refuses([x] { signal_weight_annealed(3.0, 1.0, x); }, {"exponent"}));
    CHECK(refuses([x] { noise_weight_leading_order(3.0, 1.0, x); }, {"exponent"}));
  }
}

}  // namespace incontext::testing
