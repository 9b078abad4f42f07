#include "incontext/statistics/family_verdict.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/statistics/comparison.hpp"
#include "incontext/statistics/moments.hpp"
#include "support/catch.hpp"

using namespace incontext::statistics;

namespace {

/// An estimate that is `deviations` standard errors above 1.
Estimate off_by(double deviations, std::int64_t count = 65536) {
  Estimate estimate;
  estimate.count = count;
  estimate.standard_error = 0.01;
  estimate.mean = 1 + deviations * estimate.standard_error;
  return estimate;
}

Verdict alone(Comparison comparison) {
  std::vector<Comparison> family{std::move(comparison)};
  judge(family, 1e-3);
  return family.front().verdict;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a comparison agrees up to the bound of its family, and disagrees beyond", "[family]") {
  CHECK(alone(compare(1, off_by(3.2))) == Verdict::agrees);
  CHECK(alone(compare(1, off_by(3.4))) == Verdict::disagrees);  // the bound of one comparison is 3.29
  CHECK(alone(compare(1, off_by(-3.4))) == Verdict::disagrees);
  std::vector<Comparison> twenty(20, compare(1, off_by(0.5)));
  twenty[7] = compare(1, off_by(3.9));
  FamilyVerdict whole = judge(twenty, 1e-3);  // the bound of twenty is 4.06
  CHECK(whole.disagreements == 0);
  CHECK(whole.tested == 20);
  CHECK(whole.judged == 20);
  CHECK(whole.farthest == 7);
  CHECK(whole.bound == Approx(family_wise_bound(20, 1e-3)).epsilon(1e-3));
  twenty[7] = compare(1, off_by(4.2));
  whole = judge(twenty, 1e-3);
  CHECK(whole.disagreements == 1);
  CHECK(twenty[7].verdict == Verdict::disagrees);
  CHECK(twenty[8].verdict == Verdict::agrees);
}

TEST_CASE("few values have the wider bound of Student's law, and of fewer than five none is judged", "[family]") {
  const auto bound_of = [](std::int64_t count) {
    return family_bound({compare(1, off_by(0, count), 65536), compare(1, off_by(0), 65536)}, 1e-3);
  };
  // the definition: the chance to be beyond, summed over both tails and both members, is the level
  for (const std::int64_t count : {5, 16, 64}) {
    const boost::math::students_t law(static_cast<double>(count - 1));
    CHECK(4 * boost::math::cdf(boost::math::complement(law, bound_of(count))) == Approx(1e-3).epsilon(1e-9));
  }
  CHECK(bound_of(5) > bound_of(16));
  CHECK(alone(compare(1, off_by(3.4, 64), 65536)) == Verdict::agrees);
  CHECK(alone(compare(1, off_by(3.6, 64), 65536)) == Verdict::disagrees);
  for (const std::int64_t count : {2, 4}) {
    const Comparison few = compare(1, off_by(50, count), 65536);
    CHECK_FALSE(few.is_tested);
    CHECK(has(few.agreement.reason, "values is hardly known: at least 5"));
    CHECK(alone(few) == Verdict::not_judged);
  }
  CHECK(has(compare(1, Estimate()).agreement.reason, "not reached"));
  CHECK_THROWS_AS(family_bound({}, 0), std::domain_error);
  CHECK_THROWS_AS(family_bound({}, 1), std::domain_error);
}

TEST_CASE("fewer than 1000 trials do not call a theory wrong", "[family]") {
  std::vector<Comparison> family{compare(1, off_by(9, 999)), compare(1, off_by(0))};
  const FamilyVerdict whole = judge(family, 1e-3);
  CHECK(family[0].verdict == Verdict::not_judged);
  CHECK(family[0].agreement.reason == "z = 9, but the mean of 999 trials may not be normal: at least 1000");
  CHECK(whole.tested == 2);
  CHECK(whole.judged == 1);
  CHECK(alone(compare(1, off_by(9, 1000))) == Verdict::disagrees);
  CHECK(alone(compare(1, off_by(9, 16), 65536)) == Verdict::disagrees);  // values that are means of many trials
}

TEST_CASE("what is not tested makes the family no larger, and keeps its reason", "[family]") {
  std::vector<Comparison> family{compare(1, off_by(3.2))};
  for (int i = 0; i < 30; ++i) family.push_back(untested(1, off_by(50), "rare rows"));
  const FamilyVerdict whole = judge(family, 1e-3);
  CHECK(whole.bound < 3.3);
  CHECK(whole.tested == 1);
  CHECK(whole.disagreements == 0);
  CHECK(family[1].verdict == Verdict::not_judged);
  CHECK(family[1].agreement.reason == "rare rows");
  Estimate some = off_by(50);
  some.non_finite = 3;
  CHECK(untested(1, some, "rare rows").trials == some.count + 3);
}

TEST_CASE("a mean within its tolerance agrees, one beyond disagrees, and a coarse one is not judged", "[family]") {
  CHECK(alone(compare_within(1, 0.05, off_by(4.9))) == Verdict::agrees);
  CHECK(alone(compare_within(1, 0.05, off_by(8.2))) == Verdict::agrees);
  CHECK(alone(compare_within(1, 0.05, off_by(-8.4))) == Verdict::disagrees);
  CHECK(alone(compare_within(1, 0.041, off_by(0))) == Verdict::agrees);
  CHECK(alone(compare_within(1, 0.039, off_by(0))) == Verdict::not_judged);  // four standard errors are more
  CHECK(alone(compare_within(1, 0.039, off_by(100))) == Verdict::disagrees);
  CHECK(has(compare_within(1, 0.02, off_by(3)).agreement.reason, "cannot tell a deviation of the tolerance, 0.02"));
  CHECK(compare_within(1, 0.05, off_by(8)).agreement.z == Approx(3));
  CHECK(alone(compare_within(1, 0.05, Estimate())) == Verdict::not_judged);
}

TEST_CASE("the resolutions of a family: the median, and the place of the worst", "[family]") {
  std::vector<Comparison> family(5, compare(1, off_by(0)));
  Estimate coarse = off_by(0);
  coarse.standard_error = 0.2;
  family[2] = compare(1, coarse);
  family[4] = compare(0, off_by(-100));  // a theory of 0 has no relative resolution
  const FamilyVerdict whole = judge(family, 1e-3);
  CHECK(whole.coarsest == 2);
  CHECK(whole.median_resolution == Approx(0.01 * (whole.bound + 1.2815515655446004)));
  std::vector<Comparison> nothing;
  CHECK_FALSE(judge(nothing, 1e-3).coarsest.has_value());
  CHECK_FALSE(judge(nothing, 1e-3).farthest.has_value());
}

TEST_CASE("right theories raise a false alarm at the stated rate at most, and a wrong one among them is found",
          "[family]") {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  constexpr int runs = 2000, members = 6, values = 12;
  int alarms = 0, found = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<Comparison> right;
    for (int i = 0; i < members; ++i) {
      std::vector<double> sample(values);
      for (double& value : sample) value = normal(generator);
      right.push_back(compare(0, Estimate(moments_of(sample.data(), values)), 4096));
    }
    std::vector<Comparison> wrong = right;
    wrong[3].agreement = agree(3.0, right[3].agreement.estimate);  // ten standard errors from the truth
    alarms += judge(right, 0.1).disagreements > 0 ? 1 : 0;
    judge(wrong, 0.1);
    found += wrong[3].verdict == Verdict::disagrees ? 1 : 0;
  }
  CAPTURE(alarms, found);
  CHECK(alarms < runs * 0.1 + 5 * std::sqrt(runs * 0.1 * 0.9));
  CHECK(alarms > runs * 0.1 - 7 * std::sqrt(runs * 0.1 * 0.9));  // independent members: the rate is nearly attained
  CHECK(found > runs * 0.99);
}
