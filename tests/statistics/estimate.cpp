#include "incontext/statistics/estimate.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "incontext/random/normal.hpp"
#include "incontext/statistics/confidence_interval.hpp"
#include "support/catch.hpp"

namespace estimate_test {

using namespace incontext;
using statistics::confidence_interval;
using statistics::Estimate;
using Interval = incontext::Interval<double>;
using statistics::Moments;

namespace {

constexpr int samples = 1 << 15;

/// Estimates of the mean 3 of N(3, 4) from samples of the given size.
std::vector<Estimate> simulated(int size) {
  std::vector<Estimate> estimates;
  constexpr int lanes = 64;
  std::vector<double> values(static_cast<std::size_t>(size));
  std::vector<double> rows(static_cast<std::size_t>(size + 1) * lanes);
  for (int first = 0; first < samples; first += lanes) {
    const random::LaneStream<lanes> stream({94, static_cast<std::uint64_t>(first)},
                                           random::StreamTag(static_cast<std::uint32_t>(size)));
    for (int i = 0; i < size; i += 2) {
      double z[2][lanes];
      normals(stream, static_cast<std::uint32_t>(i / 2), z);
      for (int k = 0; k < 2; ++k) {
        for (int lane = 0; lane < lanes; ++lane)
          rows[static_cast<std::size_t>((i + k) * lanes + lane)] = 3 + 2 * z[k][lane];
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      for (int i = 0; i < size; ++i)
        values[static_cast<std::size_t>(i)] = rows[static_cast<std::size_t>(i * lanes + lane)];
      estimates.emplace_back(statistics::moments_of(values.data(), size));
    }
  }
  return estimates;
}

/// Standard errors by which the share of intervals that hold the truth is off its level.
double coverage_deviation(const std::vector<Interval>& intervals, double level) {
  double held = 0;
  for (const Interval& interval : intervals) held += interval.contains(3) ? 1 : 0;
  const auto n = static_cast<double>(intervals.size());
  return (held - n * level) / std::sqrt(n * level * (1 - level));
}

}  // namespace

TEST_CASE("an estimate is the mean with its standard error") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  const Estimate estimate(statistics::moments_of(values.data(), 8));
  CHECK(estimate.count == 8);
  CHECK(estimate.mean == 5);
  CHECK(estimate.standard_error == Approx(std::sqrt(32.0 / 7 / 8)).epsilon(1e-15));
  CHECK(estimate.relative_error() == Approx(std::sqrt(32.0 / 7 / 8) / 5).epsilon(1e-15));
  CHECK(estimate.non_finite == 0);

  // Student's quantile of a table: t_{7, 0.975} = 2.36462
  const Interval interval = confidence_interval(estimate, 0.95);
  CHECK((interval.upper - interval.lower) / 2 == Approx(2.364624251 * estimate.standard_error).epsilon(1e-9));
  CHECK((interval.upper + interval.lower) / 2 == Approx(5.0).epsilon(1e-15));
  CHECK(interval.contains(5));
  CHECK(interval.contains(interval.lower));
  CHECK(interval.contains(interval.upper));
  CHECK_FALSE(interval.contains(interval.upper * 1.001));
  CHECK_FALSE(interval.contains(std::numeric_limits<double>::quiet_NaN()));
}

TEST_CASE("too few values give NaN, and an interval that holds nothing") {
  const Estimate none{Moments{}};
  CHECK(none.count == 0);
  CHECK(std::isnan(none.mean));
  CHECK(std::isnan(none.standard_error));
  CHECK(std::isnan(Estimate().mean));
  const Estimate one{Moments{1, 4.0, 0.0, 3}};
  CHECK(one.mean == 4);
  CHECK(one.non_finite == 3);
  CHECK(std::isnan(one.standard_error));
  CHECK(std::isnan(one.relative_error()));
  CHECK(std::isnan(confidence_interval(one, 0.5).lower));
  CHECK_FALSE(confidence_interval(one, 0.5).contains(4));
  CHECK_FALSE(confidence_interval(none, 0.5).contains(0));

  const Estimate constant{Moments{5, 2.5, 0.0, 0}};
  CHECK(constant.standard_error == 0);
  CHECK(confidence_interval(constant, 0.99).contains(2.5));
  CHECK_FALSE(confidence_interval(constant, 0.99).contains(2.5000001));
}

TEST_CASE("a level that is no probability is refused") {
  const Estimate estimate{Moments{10, 1.0, 2.0, 0}};
  for (const double level :
       {0.0, 1.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(confidence_interval(estimate, level), std::domain_error);
  }
}

// Through 1/2 + level/2 the level rounded to 1, whose quantile is infinite: Boost threw an overflow.
TEST_CASE("an interval at the level next to 1 is wide and finite") {
  const Estimate estimate{Moments{1000, 1.0, 2.0, 0}};
  const double level = std::nextafter(1.0, 0.0);
  const Interval interval = confidence_interval(estimate, level);
  const double reach = (interval.upper - interval.lower) / 2 / estimate.standard_error;
  CHECK(std::isfinite(reach));
  const boost::math::students_t law(999);
  CHECK(2 * cdf(complement(law, reach)) == Approx(1 - level).epsilon(1e-6));
  CHECK(confidence_interval(estimate, 1e-300).contains(1.0));
}

TEST_CASE("intervals hold the truth as often as they say") {
  for (const int size : {2, 5, 50}) {
    const std::vector<Estimate> estimates = simulated(size);
    for (const double level : {0.68, 0.95, 0.99}) {
      std::vector<Interval> intervals;
      for (const Estimate& estimate : estimates) intervals.push_back(confidence_interval(estimate, level));
      CAPTURE(size, level);
      CHECK(std::abs(coverage_deviation(intervals, level)) <= 5);
    }
  }
}

TEST_CASE("intervals of the normal law, of n for n - 1, or of a neighboring level do not") {
  const std::vector<Estimate> estimates = simulated(5);
  for (const double level : {0.68, 0.95, 0.99}) {
    const double normal = quantile(boost::math::normal(), 0.5 + 0.5 * level);
    const double freedom = quantile(boost::math::students_t(5), 0.5 + 0.5 * level);
    std::vector<Interval> normal_intervals, freer_intervals, near_intervals;
    for (const Estimate& estimate : estimates) {
      const double error = estimate.standard_error;
      normal_intervals.push_back({estimate.mean - normal * error, estimate.mean + normal * error});
      freer_intervals.push_back({estimate.mean - freedom * error, estimate.mean + freedom * error});
      near_intervals.push_back(confidence_interval(estimate, level - 0.02));
    }
    CAPTURE(level);
    CHECK(std::abs(coverage_deviation(normal_intervals, level)) > 5);
    if (level > 0.9) CHECK(std::abs(coverage_deviation(freer_intervals, level)) > 5);
    CHECK(std::abs(coverage_deviation(near_intervals, level)) > 5);
  }
}

}  // namespace estimate_test
