#include "incontext/statistics/controls.hpp"

#include <cmath>
#include <random>

#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"
#include "support/catch.hpp"

using namespace incontext::statistics;

namespace {

Estimate estimate_of(double mean, double standard_error, std::int64_t count = 4096) {
  Estimate estimate;
  estimate.mean = mean;
  estimate.standard_error = standard_error;
  estimate.count = count;
  return estimate;
}

ControlOutcome outcome(double claimed, double exact, std::int64_t count = 4096, std::int64_t fewest = 2) {
  return try_control(claimed, exact, estimate_of(1, 0.01, count), fewest).outcome;
}

}  // namespace

TEST_CASE("a wrong statement is rejected beyond five standard errors, on either side", "[controls]") {
  CHECK(outcome(1.0501, 1) == ControlOutcome::rejected);
  CHECK(outcome(0.9499, 1) == ControlOutcome::rejected);
  CHECK(try_control(0.9, 1, estimate_of(1, 0.01)).z == Approx(10));
  CHECK(outcome(1.0501, 1, 4096, 100000) == ControlOutcome::rejected);  // a rejection needs no trials more
  CHECK(try_control(1.1, 1, estimate_of(1, 0)).outcome == ControlOutcome::rejected);
}

TEST_CASE("one that is not rejected passes only where the simulation could tell", "[controls]") {
  CHECK(outcome(1.0499, 0.9498) == ControlOutcome::passed);  // the exact value is 10.01 standard errors away
  CHECK(outcome(1.0499, 0.95) == ControlOutcome::cannot_tell);
  CHECK(outcome(1.0499, 0.9498, 255, 256) == ControlOutcome::cannot_tell);
  CHECK(outcome(1.0499, 0.9498, 256, 256) == ControlOutcome::passed);
  CHECK(outcome(1, std::nan("")) == ControlOutcome::cannot_tell);  // there is no exact value
  CHECK(outcome(std::nan(""), 1) == ControlOutcome::cannot_tell);
  CHECK(outcome(2, 1, 1) == ControlOutcome::not_reached);
  CHECK(outcome(2, 1, 0) == ControlOutcome::not_reached);
  CHECK(std::isnan(try_control(2, 1, estimate_of(1, 0.01, 1)).z));
}

TEST_CASE("a value that is wrong by k standard errors is rejected as often as a normal deviate is beyond 5 - k",
          "[controls]") {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  constexpr int runs = 3000, values = 256;
  const double error = 1 / std::sqrt(static_cast<double>(values));
  for (const double k : {4.0, 5.0, 6.0}) {
    int rejected = 0;
    for (int run = 0; run < runs; ++run) {
      std::vector<double> sample(values);
      for (double& value : sample) value = normal(generator);
      const Estimate estimate(moments_of(sample.data(), values));
      rejected += try_control(k * error, 0, estimate).outcome == ControlOutcome::rejected ? 1 : 0;
    }
    const double expected = std::erfc((5 - k) / std::sqrt(2.0)) / 2;  // nearly: the error is estimated from 256 values
    const double spread = std::sqrt(expected * (1 - expected) / runs);
    CAPTURE(k, rejected, expected);
    CHECK(std::abs(rejected / double(runs) - expected) < 5 * spread + 0.02);
  }
}
