#include "incontext/statistics/effect.hpp"

#include <boost/math/distributions/non_central_t.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "incontext/statistics/moments.hpp"
#include "support/catch.hpp"

namespace effect_test {

using namespace incontext;
using statistics::agree;
using statistics::Agreement;
using statistics::Effect;
using statistics::effect_of;
using statistics::Estimate;
using statistics::Verdict;

namespace {

/// A theory of 2 beside the mean of `count` normal values whose true mean is off by `off`, relative to the theory.
Agreement simulated(std::mt19937_64& generator, int count, double off, double stddev) {
  std::normal_distribution<double> normal(2 * (1 + off), stddev);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = normal(generator);
  return agree(2, Estimate(statistics::moments_of(values.data(), count)));
}

bool rejects(const Agreement& agreement, const Effect& effect) {
  return agreement.excess > 0 && std::abs(effect.deviation) > effect.within - std::abs(effect.deviation);
}

}  // namespace

TEST_CASE("an effect is what Student's quantiles of a table give", "[statistics]") {
  Estimate estimate;
  estimate.count = 11;
  estimate.mean = 2.2;
  estimate.standard_error = 0.05;
  estimate.rounding = 0.002;
  const auto effect = effect_of(agree({2, 0.008}, estimate), 0.01);
  CHECK(effect.deviation == Approx(0.1));
  CHECK(effect.deviation_error == Approx(0.025));
  // t of 10 degrees of freedom: 3.169 at 0.995, 1.372 at 0.9
  CHECK(effect.within == Approx(0.1 + 3.169 * 0.025 + 0.005).epsilon(1e-4));
  CHECK(effect.resolution == Approx((3.169 + 1.372) * 0.025 + 0.005).epsilon(1e-4));
  const auto absolute = effect_of(agree(0, estimate), 0.01);
  CHECK(absolute.deviation == 2.2);
  CHECK(absolute.deviation_error == 0.05);
  CHECK(std::isnan(effect_of(agree(0, Estimate()), 0.01).within));
  CHECK_THROWS_AS(effect_of(agree(2, estimate), 0.0), std::domain_error);
}

TEST_CASE("nothing agrees whose true deviation is outside of what is stated, and the resolution has its power",
          "[statistics]") {
  constexpr double level = 0.01;
  constexpr int trials = 4000;
  std::mt19937_64 generator(20);
  int agreed = 0;
  for (const int count : {4, 16, 64}) {
    for (const double off : {0.0, 0.05, 0.2, 0.6}) {
      int outside = 0, outside_of_half = 0;
      for (int trial = 0; trial < trials; ++trial) {
        const Agreement agreement = simulated(generator, count, off, 0.5);
        const Effect effect = effect_of(agreement, level);
        const auto verdict = resolved_verdict(agreement, effect, rejects(agreement, effect));
        agreed += verdict == Verdict::agrees;
        outside += verdict == Verdict::agrees && off > effect.within;
        // the power check: a bound with half of the error is wrong far more often
        const double half = std::abs(effect.deviation) + (effect.within - std::abs(effect.deviation)) / 2;
        outside_of_half += off > half;
      }
      CAPTURE(count, off, outside, outside_of_half);
      // at most the level of the test, of which one half is on each side; five standard errors of a binomial count
      CHECK(outside <= trials * level / 2 + 5 * std::sqrt(trials * level / 2));
      if (off == 0.2 && count == 64) CHECK(outside_of_half > 3 * trials * level);
    }
  }
  CHECK(agreed > 2 * trials);  // where the theory is right and there are enough values
}

TEST_CASE("a deviation of the size of the resolution is noticed nine times in ten", "[statistics]") {
  constexpr double level = 1e-3;
  constexpr int trials = 4000;
  std::mt19937_64 generator(21);
  for (const int count : {16, 32, 64}) {
    // the resolution at the true standard error, 0.5 / sqrt(count) over the theory 2
    Estimate exact;
    exact.count = count;
    exact.mean = 2;
    exact.standard_error = 0.5 / std::sqrt(count);
    const double off = effect_of(agree(2, exact), level).resolution;
    int noticed = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const Agreement agreement = simulated(generator, count, off, 0.5);
      noticed += rejects(agreement, effect_of(agreement, level));
    }
    // the noncentral law of t has the exact power
    const boost::math::students_t central(count - 1.0);
    const boost::math::non_central_t law(count - 1.0, off * 2 / exact.standard_error);
    const double power = cdf(complement(law, quantile(complement(central, level / 2))));
    CAPTURE(count, noticed, power);
    CHECK(std::abs(noticed - trials * power) < 5 * std::sqrt(trials * power * (1 - power)));
    CHECK(power > 0.85);
    CHECK(power < 0.95);
  }
}

TEST_CASE("a verdict is said in words with its resolution", "[statistics]") {
  const auto said = [](double mean, double error, std::int64_t count, double theory = 1) {
    Estimate estimate;
    estimate.count = count;
    estimate.mean = mean;
    estimate.standard_error = error;
    const Agreement agreement = agree(theory, estimate);
    const Effect effect = effect_of(agreement, 1e-3);
    return conclusion(agreement, effect, resolved_verdict(agreement, effect, rejects(agreement, effect)), "rows");
  };
  CHECK(said(1.01, 0.02, 64) == "agrees within 7.9% (would have noticed 9.5%)");
  CHECK(said(2.06, 0.02, 64) == "wrong by 106%");
  CHECK(said(0.48, 0.14, 16) == "not rejected, would not have noticed 76%: too few rows");
  CHECK(said(0.75, 0.09, 64) == "not rejected, may be wrong by 56%: too few rows");
  CHECK(said(0.02, 0.02, 64, 0) == "agrees within 0.089 (would have noticed 0.095)");
  CHECK(said(1, 0.1, 1) == "not judged: fewer than two trials were run");
}

TEST_CASE("a share in percent has two digits, or all of a whole number", "[statistics]") {
  using incontext::statistics::percent_text;
  CHECK(percent_text(0.00812345) == "0.81%");
  CHECK(percent_text(0.099) == "9.9%");
  CHECK(percent_text(0.9949) == "99%");
  CHECK(percent_text(0.9951) == "100%");
  CHECK(percent_text(123.456) == "12346%");
  CHECK(percent_text(9999.994) == "999999%");
  CHECK(percent_text(12345.6) == "1.2e+06%");
  CHECK(percent_text(0) == "0%");
  CHECK(percent_text(INFINITY) == "inf%");
}

}  // namespace effect_test
