#include "examples/support/judgement.hpp"

#include <incontext/statistics/estimate.hpp>

#include <cmath>
#include <vector>

#include "examples/support/report.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::statistics::Estimate;
using incontext::testing::part;

namespace {

/// An estimate that lies `deviations` standard errors above 1.
Estimate off_by(double deviations, std::int64_t count = 65536) {
  Estimate estimate;
  estimate.count = count;
  estimate.standard_error = 0.01;
  estimate.mean = 1 + deviations * estimate.standard_error;
  return estimate;
}

Verdict verdict_of(const std::vector<Estimate>& estimates, double theory = 1) {
  Judgement judgement;
  for (const Estimate& estimate : estimates) judgement.judged(theory, estimate);
  return judgement.verdict();
}

}  // namespace

TEST_CASE("agreement up to the family-wise bound, disagreement beyond", "[judgement]") {
  CHECK(verdict_of({off_by(3.2)}).agrees);
  CHECK_FALSE(verdict_of({off_by(3.4)}).agrees);  // one comparison: 3.29
  CHECK_FALSE(verdict_of({off_by(-3.4)}).agrees);
  std::vector<Estimate> twenty(20, off_by(0.5));
  twenty[7] = off_by(3.9);
  CHECK(verdict_of(twenty).agrees);  // twenty comparisons: 4.06
  twenty[7] = off_by(4.2);
  CHECK_FALSE(verdict_of(twenty).agrees);
  CHECK(verdict_of(twenty).details["disagreements"] == 1);
}

TEST_CASE("a theory that is off by more than the resolution is rejected, by less than half of it is not",
          "[judgement]") {
  const std::vector<Estimate> exact(12, off_by(0));
  const double resolution = verdict_of(exact).details["resolution"];
  CHECK_THAT(resolution, Catch::Matchers::WithinRel(0.01 * (3.935 + 1.2816), 1e-3));
  CHECK_FALSE(verdict_of(exact, 1 + resolution).agrees);
  CHECK(verdict_of(exact, 1 + resolution / 2).agrees);
}

TEST_CASE("few batches have the wider bound of Student's t", "[judgement]") {
  CHECK(verdict_of({off_by(3.4, 64)}).agrees);
  CHECK_FALSE(verdict_of({off_by(3.6, 64)}).agrees);
}

TEST_CASE("what is not finite disagrees", "[judgement]") {
  Estimate estimate = off_by(0);
  estimate.non_finite = 1;
  CHECK_FALSE(verdict_of({estimate}).agrees);
  CHECK_FALSE(verdict_of({off_by(0)}, std::nan("")).agrees);
  CHECK(verdict_of({estimate}).text == part("largest |z| nan"));
}

TEST_CASE("an unjudged row counts towards nothing, and a run without judged rows agrees", "[judgement]") {
  Judgement judgement;
  const auto cells = Judgement::unjudged(2, off_by(0));
  CHECK(std::holds_alternative<std::monostate>(cells.back()));
  CHECK(judgement.size() == 0);
  CHECK(judgement.verdict().agrees);
  CHECK(judgement.verdict().text == part("Nothing to judge"));
}
