#include "incontext/statistics/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/random/normal.hpp"
#include "incontext/statistics/holm.hpp"
#include "support/catch.hpp"

namespace agreement_test {

using namespace incontext;
using statistics::agree;
using statistics::Agreement;
using statistics::Estimate;
using statistics::family_wise_bound;
using statistics::holm_rejections;
using statistics::Moments;
using statistics::p_value;
using statistics::Verdict;
using statistics::verdicts;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// An estimate with the given standard error.
Estimate estimate_of(std::int64_t count, double mean, double standard_error) {
  const auto n = static_cast<double>(count);
  return Estimate{Moments{count, mean, standard_error * standard_error * n * (n - 1), 0}};
}

/// A family of estimates of 0 from samples of ten standard normals, the first few of them off by an effect.
std::vector<Agreement> simulated_family(std::uint64_t trial, int members, int off, double effect) {
  constexpr int size = 10;
  std::vector<Agreement> family;
  for (int member = 0; member < members; ++member) {
    double values[size];
    for (std::uint32_t block = 0; block < size / 2; ++block) {
      double z[2][1];
      normals(random::LaneStream<1>({95, trial}, random::StreamTag(static_cast<std::uint32_t>(member))), block, z);
      values[2 * block] = z[0][0];
      values[2 * block + 1] = z[1][0];
    }
    Moments moments = statistics::moments_of(values, size);
    if (member < off) moments.mean += effect;
    family.push_back(agree(0, Estimate(moments)));
  }
  return family;
}

/// Standard errors by which a count of a binomial trial is off.
double binomial_z(double count, double trials, double probability) {
  return (count - trials * probability) / std::sqrt(trials * probability * (1 - probability));
}

}  // namespace

TEST_CASE("z is the deviation in standard errors, with the estimate's sign") {
  CHECK(agree(1.0, estimate_of(100, 1.5, 0.25)).z == Approx(2.0).epsilon(1e-14));
  CHECK(agree(2.0, estimate_of(100, 1.5, 0.25)).z == Approx(-2.0).epsilon(1e-14));
  CHECK(agree(1.5, estimate_of(100, 1.5, 0.25)).z == 0);
  const Agreement result = agree(1.0, estimate_of(100, 1.5, 0.25));
  CHECK(result.theory == 1.0);
  CHECK(result.estimate.mean == 1.5);
  CHECK(result.within(2.1));
  CHECK_FALSE(result.within(1.9));
}

TEST_CASE("p-values are those of Student's tables") {
  // two-sided: t_{1} = 12.7062 at 0.05, t_{9} = 2.262157 at 0.05, t_{9} = 3.249836 at 0.01, t_{1000} = 1.962339 at 0.05
  CHECK(p_value(agree(0, estimate_of(2, 12.7062047361747, 1))) == Approx(0.05).epsilon(1e-9));
  CHECK(p_value(agree(0, estimate_of(10, 2.26215716279820, 1))) == Approx(0.05).epsilon(1e-9));
  CHECK(p_value(agree(0, estimate_of(10, -3.24983554159214, 1))) == Approx(0.01).epsilon(1e-9));
  CHECK(p_value(agree(0, estimate_of(1001, 1.96233908082641, 1))) == Approx(0.05).epsilon(1e-9));
  CHECK(p_value(agree(0, estimate_of(1000000001, 5, 1))) == Approx(5.733031e-7).epsilon(1e-6));
  CHECK(p_value(agree(0, estimate_of(10, 0, 1))) == Approx(1.0).epsilon(1e-15));
  // far in the tail, where the square of the excess overflows: 2 / (pi t), and its neighbor by Boost
  CHECK(p_value(agree(0, estimate_of(2, 1e200, 1))) == Approx(6.3661977236758134e-201).epsilon(1e-12));
  CHECK(p_value(agree(0, estimate_of(2, 1e149, 1))) == Approx(6.3661977236758134e-150).epsilon(1e-12));
  CHECK(p_value(agree(0, estimate_of(3, 2e150, 1))) == Approx(2.5e-301).epsilon(1e-12));
}

TEST_CASE("a theory or an estimate that is not finite is not judged, and the reason names it") {
  const auto never = [](const Agreement& result, const std::string& reason) {
    CHECK_FALSE(result.within(1e300));
    CHECK(result.verdict(5) == Verdict::not_judged);
    CHECK(std::isnan(result.z));
    CHECK(std::isnan(p_value(result)));
    CHECK(result.reason == reason);
    CHECK(verdicts({result}, 1e-9) == std::vector<Verdict>{Verdict::not_judged});
  };
  const Estimate good = estimate_of(100, 1.0, 0.1);
  never(agree(not_a_number, good), "the theory is not a finite number");
  never(agree(infinity, good), "the theory is not a finite number");
  never(agree({1.0, not_a_number}, good), "the theory is not a finite number");

  never(agree(1.0, Estimate{Moments{100, 1.0, 3.0, 1}}), "1 of 101 trials was not finite");
  never(agree(1.0, Estimate{Moments{100, 1.0, 3.0, 7}}), "7 of 107 trials were not finite");
  never(agree(1.0, Estimate{Moments{}}), "fewer than two trials were run");
  never(agree(1.0, Estimate{Moments{1, 1.0, 0.0, 0}}), "fewer than two trials were run");
  never(agree(1.0, Estimate{Moments{100, infinity, 3.0, 0}}), "the mean of the trials is not finite");
  never(agree(1.0, Estimate{Moments{100, 1.0, not_a_number, 0}}), "the standard error of the trials is not finite");
}

// Squares that overflow give an infinite standard error, with which z would be 0 for any theory.
TEST_CASE("an infinite standard error judges nothing") {
  const std::vector<double> values{1e200, -1e200, 3e200, 2e200};
  const Estimate estimate(statistics::moments_of(values.data(), 4));
  CHECK(std::isinf(estimate.standard_error));
  CHECK(agree(7.0, estimate).verdict(5) == Verdict::not_judged);
  CHECK(agree(estimate.mean, estimate).verdict(5) == Verdict::not_judged);
}

TEST_CASE("the rounding and the error of the theory are subtracted from the deviation in z") {
  Estimate estimate = estimate_of(100, 1.5, 0.25);
  estimate.rounding = 0.0625;
  CHECK(agree(1.0, estimate).z == Approx(1.75).epsilon(1e-14));
  CHECK(agree({2.0, 0.0625}, estimate).z == Approx(-1.5).epsilon(1e-14));
  CHECK(agree({1.5625, 0.0625}, estimate).z == 0);
  CHECK(p_value(agree({1.0, 0.0625}, estimate)) < p_value(agree({1.0, 0.125}, estimate)));
  CHECK(agree(1.0, estimate).within(2));
  CHECK_FALSE(agree(1.0, estimate).within(1.7));
}

TEST_CASE("a closed form with an error estimate is a theory with that error") {
  struct Integral {
    double value, error_estimate;
  };
  const Agreement result = agree(Integral{1.0, -1e-3}, estimate_of(100, 1.5, 0.25));
  CHECK(result.theory == 1.0);
  CHECK(result.theory_error == 1e-3);
  CHECK(result.z == Approx((0.5 - 1e-3) / 0.25).epsilon(1e-14));
}

TEST_CASE("a row whose standard error is below its rounding is not judged, with both numbers as the reason") {
  // like a needle's weight of nearly 1 among a hundred scores: eight standard errors off, all of them rounding
  Estimate estimate = estimate_of(65536, 1.0, 1.25e-17);
  estimate.rounding = 4e-16;
  const Agreement result = agree(1 + 1.1e-16, estimate);
  CHECK(result.verdict(5) == Verdict::not_judged);
  CHECK(std::isnan(result.z));
  CHECK(result.reason == "standard error 1.2e-17 is below the rounding of the simulation, 4e-16");
  CHECK(verdicts({result}, 1e-3) == std::vector<Verdict>{Verdict::not_judged});
  CHECK(agree({1, 1e-3}, estimate_of(100, 1, 1e-4)).reason ==
        "standard error 0.0001 is below the error of the theory, 0.001");
  CHECK(agree({1, 1e-15}, estimate).reason ==
        "standard error 1.2e-17 is below the rounding of the simulation, 4e-16, and the error of the theory, 1e-15");
  CHECK(agree({1, 1e-3}, estimate).reason == "standard error 1.2e-17 is below the error of the theory, 0.001");
  // it is judged once the standard error is as large as the rounding
  estimate.standard_error = estimate.rounding;
  CHECK(agree(1 + 1.1e-16, estimate).verdict(5) == Verdict::agrees);
}

TEST_CASE("a theory whose deviation exceeds the rounding disagrees, however small the standard error") {
  Estimate estimate = estimate_of(65536, 1.0, 1.25e-17);
  estimate.rounding = 4e-16;
  const Agreement wrong = agree(0.999, estimate);
  CHECK(wrong.verdict(5) == Verdict::disagrees);
  CHECK(verdicts({wrong}, 1e-3) == std::vector<Verdict>{Verdict::disagrees});
  estimate.standard_error = 0;  // a deterministic simulation
  CHECK(agree(0.999, estimate).verdict(5) == Verdict::disagrees);
  CHECK(p_value(agree(0.999, estimate)) == 0);
  CHECK(agree(1.0, estimate).verdict(5) == Verdict::not_judged);
  CHECK(agree({0.999, 0.01}, estimate).verdict(5) == Verdict::not_judged);
}

TEST_CASE("p-values are valid for every rounding, and a wrong theory is still found") {
  // worst case: rounding has moved the mean by all that it may
  constexpr int trials = 1 << 15;
  const double level = 0.01, error = 0.02;
  for (const double share : {0.25, 0.5, 1.0}) {
    int false_alarms = 0, without_rounding = 0, found = 0;
    for (std::uint64_t trial = 0; trial < trials; ++trial) {
      double z[2][1];
      normals(random::LaneStream<1>({98, trial}, random::StreamTag(0)), 0, z);
      Estimate estimate = estimate_of(1000000, 1 + share * error + error * z[0][0], error);
      without_rounding += p_value(agree(1.0, estimate)) <= level;
      estimate.rounding = share * error;
      false_alarms += p_value(agree(1.0, estimate)) <= level;
      found += p_value(agree(1.0 - 6 * error, estimate)) <= level;
    }
    CAPTURE(share);
    CHECK(binomial_z(false_alarms, trials, level) <= 5);
    CHECK(binomial_z(without_rounding, trials, level) > 5);
    CHECK(found > 0.99 * trials);
  }
}

TEST_CASE("a standard error of zero agrees with the exact value alone") {
  const Estimate exact{Moments{10, 2.5, 0.0, 0}};
  CHECK(agree(2.5, exact).z == 0);
  CHECK(p_value(agree(2.5, exact)) == 1);
  CHECK(agree(2.5, exact).within(1));
  const Agreement off = agree(std::nextafter(2.5, 3.0), exact);
  CHECK(off.z == -infinity);
  CHECK(p_value(off) == 0);
  CHECK_FALSE(off.within(1e300));
}

TEST_CASE("the resolution is the deviation seen nine times in ten") {
  const double bound = 5;
  const double theory = 4.0;
  const double error = 0.02;
  const Agreement result = agree(theory, estimate_of(1000000, theory, error));
  const double deviation = result.resolution(bound);
  CHECK(deviation == Approx((5 + 1.2815515655446004) * error / theory).epsilon(1e-12));
  constexpr int trials = 1 << 16;
  int seen = 0;
  int seen_at_less = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    double z[2][1];
    normals(random::LaneStream<1>({96, trial}, random::StreamTag(0)), 0, z);
    const double noise = error * z[0][0];
    seen += !agree(theory, estimate_of(1000000, theory * (1 + deviation) + noise, error)).within(bound);
    seen_at_less += !agree(theory, estimate_of(1000000, theory * (1 + 0.98 * deviation) + noise, error)).within(bound);
  }
  CHECK(std::abs(binomial_z(seen, trials, 0.9)) <= 5);
  CHECK(std::abs(binomial_z(seen_at_less, trials, 0.9)) > 5);
}

TEST_CASE("Holm's procedure gives the verdicts of textbook families") {
  // in order of size: 0.005 <= 0.05/4, 0.01 <= 0.05/3, 0.03 > 0.05/2 stops, though 0.04 <= 0.05
  CHECK(holm_rejections({0.01, 0.04, 0.03, 0.005}, 0.05) == std::vector<bool>{true, false, false, true});
  // every step just passes, with equality at the last
  CHECK(holm_rejections({0.05, 0.0125, 0.025, 0.016}, 0.05) == std::vector<bool>{true, true, true, true});
  CHECK(holm_rejections({0.0126, 0.016, 0.02, 0.04}, 0.05) == std::vector<bool>(4, false));
  CHECK(holm_rejections({}, 0.05).empty());
  CHECK(holm_rejections({0.05}, 0.05) == std::vector<bool>{true});
  CHECK(holm_rejections({0.051}, 0.05) == std::vector<bool>{false});
  CHECK(holm_rejections({1.0, 1.0}, 0.99) == std::vector<bool>(2, false));
  CHECK(holm_rejections({0.0, 1.0}, 0.01) == std::vector<bool>{true, false});
}

TEST_CASE("a p-value that is NaN is rejected first") {
  CHECK(holm_rejections({0.5, not_a_number, 0.9}, 0.05) == std::vector<bool>{false, true, false});
  CHECK(holm_rejections({not_a_number}, 1e-12) == std::vector<bool>{true});
  CHECK(holm_rejections({-0.1, 0.5}, 0.05) == std::vector<bool>{true, false});
  // it still counts as a member of the family
  CHECK(holm_rejections({0.02, not_a_number, 0.9}, 0.05) == std::vector<bool>{true, true, false});
  CHECK(holm_rejections({0.03, not_a_number, 0.9}, 0.05) == std::vector<bool>{false, true, false});
}

TEST_CASE("a family's verdicts: members that cannot be tested are not counted in it, unresolved ones are") {
  Estimate unresolved = estimate_of(1000001, 1.0, 0.1);
  unresolved.rounding = 0.2;
  const Agreement nothing = agree(not_a_number, estimate_of(100, 1.0, 0.1));
  const Agreement off = agree(1.0, estimate_of(1000001, 1.225, 0.1));  // p = 0.0244
  const Agreement coarse = agree(1.0, unresolved);
  const auto not_judged = Verdict::not_judged;
  CHECK(verdicts({off, nothing}, 0.025) == std::vector<Verdict>{Verdict::disagrees, not_judged});
  CHECK(verdicts({off, coarse}, 0.025) == std::vector<Verdict>{Verdict::agrees, not_judged});
  CHECK(verdicts({coarse, nothing, off}, 0.05) == std::vector<Verdict>{not_judged, not_judged, Verdict::disagrees});
  CHECK(verdicts({agree(2.0, unresolved)}, 0.05) == std::vector<Verdict>{Verdict::disagrees});
}

TEST_CASE("levels and families that make no sense are refused") {
  for (const double level : {0.0, 1.0, -1.0, 2.0, not_a_number}) {
    CHECK_THROWS_AS(holm_rejections({0.5}, level), std::domain_error);
    CHECK_THROWS_AS(verdicts({}, level), std::domain_error);
    CHECK_THROWS_AS(family_wise_bound(3, level), std::domain_error);
  }
  CHECK_THROWS_AS(family_wise_bound(0, 0.05), std::invalid_argument);
}

TEST_CASE("if all theories hold, one is rejected as rarely as the level says") {
  constexpr int families = 1 << 13;
  constexpr int members = 20;
  const double level = 0.05;
  double wrong = 0;
  double wrong_without_correction = 0;
  for (std::uint64_t trial = 0; trial < families; ++trial) {
    const std::vector<Agreement> family = simulated_family(trial, members, 0, 0);
    const std::vector<Verdict> verdict = verdicts(family, level);
    wrong += std::count(verdict.begin(), verdict.end(), Verdict::disagrees) > 0 ? 1 : 0;
    wrong_without_correction +=
        std::any_of(family.begin(), family.end(), [&](const Agreement& a) { return p_value(a) <= level; }) ? 1 : 0;
  }
  // of independent members exactly 1 - (1 - level/m)^m, just below the level
  const double exact = 1 - std::pow(1 - level / members, members);
  CHECK(exact <= level);
  CHECK(std::abs(binomial_z(wrong, families, exact)) <= 5);
  CHECK(std::abs(binomial_z(wrong_without_correction, families, exact)) > 5);
  CHECK(std::abs(binomial_z(wrong_without_correction, families, 1 - std::pow(1 - level, members))) <= 5);
}

TEST_CASE("if some theories are wrong they are found, and the others are still safe") {
  constexpr int families = 1 << 12;
  constexpr int members = 20;
  constexpr int off = 15;
  const double level = 0.05;
  double wrong = 0;
  double found = 0;
  double found_by_bonferroni = 0;
  for (std::uint64_t trial = 0; trial < families; ++trial) {
    const std::vector<Agreement> family = simulated_family(trial, members, off, 2.0);
    const std::vector<Verdict> verdict = verdicts(family, level);
    bool any_wrong = false;
    for (int member = 0; member < members; ++member) {
      const auto at = static_cast<std::size_t>(member);
      if (member >= off) any_wrong = any_wrong || verdict[at] == Verdict::disagrees;
      if (member < off) {
        found += verdict[at] == Verdict::disagrees ? 1 : 0;
        found_by_bonferroni += p_value(family[at]) <= level / members ? 1 : 0;
      }
    }
    wrong += any_wrong ? 1 : 0;
  }
  CHECK(binomial_z(wrong, families, level) <= 5);
  CHECK(wrong > 0);
  CHECK(found > 0.9 * families * off);
  CHECK(found > found_by_bonferroni + 5 * std::sqrt(found_by_bonferroni));  // the step-down test finds more
}

TEST_CASE("the largest of a family of normal deviates stays below the family's bound") {
  CHECK(family_wise_bound(1, 0.05) == Approx(1.959963984540054).epsilon(1e-13));
  CHECK(family_wise_bound(1, 5.733031437583878e-7) == Approx(5.0).epsilon(1e-12));
  CHECK(family_wise_bound(5, 0.05) == Approx(2.5758293035489004).epsilon(1e-13));
  CHECK(family_wise_bound(1000000, 1e-300) > 37);
  CHECK(std::isfinite(family_wise_bound(1000000, 1e-300)));
  double before = 0;
  for (const std::size_t members : {1u, 2u, 3u, 10u, 100u, 10000u}) {
    CHECK(family_wise_bound(members, 0.01) > before);
    before = family_wise_bound(members, 0.01);
  }

  constexpr int families = 1 << 16;
  constexpr int members = 16;
  const double level = 0.05;
  const double bound = family_wise_bound(members, level);
  const double bound_of_fewer = family_wise_bound(members - 4, level);
  int beyond = 0;
  int beyond_fewer = 0;
  for (std::uint64_t trial = 0; trial < families; ++trial) {
    double largest = 0;
    const random::LaneStream<1> stream({97, trial}, random::StreamTag(0));
    for (std::uint32_t block = 0; block < members / 2; ++block) {
      double z[2][1];
      normals(stream, block, z);
      largest = std::max({largest, std::abs(z[0][0]), std::abs(z[1][0])});
    }
    beyond += largest > bound;
    beyond_fewer += largest > bound_of_fewer;
  }
  const double exact = 1 - std::pow(1 - level / members, members);
  CHECK(exact <= level);
  CHECK(std::abs(binomial_z(beyond, families, exact)) <= 5);
  CHECK(std::abs(binomial_z(beyond_fewer, families, exact)) > 5);
}

}  // namespace agreement_test
