#include "incontext/statistics/relations.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "incontext/statistics/estimate.hpp"
#include "support/catch.hpp"

using namespace incontext::statistics;

TEST_CASE("a relation between computed numbers holds up to rounding and fails beyond it", "[relations]") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto equal = [](double x, double theory) { return relation_holds(Relation::equals, x, theory); };
  CHECK(equal(1, 1));
  CHECK(equal(1 + 1e-10, 1));
  CHECK(equal(-1e-300, -1e-300));
  CHECK(equal(0, 0));
  CHECK_FALSE(equal(1 + 1e-8, 1));
  CHECK_FALSE(equal(1 - 1e-8, 1));
  CHECK_FALSE(equal(1e-300, 0));
  CHECK_FALSE(equal(nan, 1));
  CHECK_FALSE(equal(1, nan));
  CHECK_FALSE(equal(inf, 1));
  const auto differs = [](double x, double wrong) { return relation_holds(Relation::differs, x, wrong); };
  CHECK(differs(1.002, 1));
  CHECK(differs(-1, 1));
  CHECK(differs(1, 0));
  CHECK_FALSE(differs(1.0009, 1));
  CHECK_FALSE(differs(1, 1));
  CHECK_FALSE(differs(nan, 1));
  const auto at_most = [](double x, double bound) { return relation_holds(Relation::at_most, x, bound); };
  CHECK(at_most(0.5, 0.5));
  CHECK(at_most(-3, -2));
  CHECK(at_most(0, 0));
  CHECK(at_most(0.5 * (1 + 1e-14), 0.5));
  CHECK_FALSE(at_most(0.5 * (1 + 1e-10), 0.5));
  CHECK_FALSE(at_most(-2, -3));
  CHECK_FALSE(at_most(1e-30, 0));
  CHECK_FALSE(at_most(nan, 1));
  const auto at_least = [](double x, double bound) { return relation_holds(Relation::at_least, x, bound); };
  CHECK(at_least(0.5, 0.5));
  CHECK(at_least(-2, -3));
  CHECK_FALSE(at_least(0.5 * (1 - 1e-10), 0.5));
  CHECK_FALSE(at_least(-3, -2));
  CHECK_FALSE(at_least(1, nan));
}

TEST_CASE("of two cases the one nearer to breaking the relation has the larger excess", "[relations]") {
  CHECK(relation_excess(Relation::at_most, 0.9, 1) == Approx(-0.1));
  CHECK(relation_excess(Relation::at_most, 0.9, 1) > relation_excess(Relation::at_most, 0.8, 1));
  CHECK(relation_excess(Relation::at_least, 1.1, 1) > relation_excess(Relation::at_least, 1.2, 1));
  CHECK(relation_excess(Relation::differs, 1.1, 1) > relation_excess(Relation::differs, 1.2, 1));
  CHECK(relation_excess(Relation::equals, 1.1, 1) < relation_excess(Relation::equals, 1.2, 1));
}

TEST_CASE("a mean on the allowed side of a bound agrees, however far, and beyond it is judged like any other",
          "[relations]") {
  const auto compared = [](Relation relation, double deviations) {
    Estimate estimate;
    estimate.count = 4096;
    estimate.standard_error = 0.01;
    estimate.mean = 1 + 0.01 * deviations;
    return agree(1, relation, estimate);
  };
  for (const double deviations : {0.0, 2.0, 100.0}) {
    CHECK(compared(Relation::at_least, deviations).excess == 0);
    CHECK(compared(Relation::at_least, deviations).z == 0);
    CHECK(compared(Relation::at_most, -deviations).excess == 0);
    CHECK(compared(Relation::equals, deviations).excess == Approx(deviations));
  }
  CHECK(compared(Relation::at_least, -3).z == Approx(-3));
  CHECK(compared(Relation::at_most, 3).z == Approx(3));
  CHECK_THROWS_AS(compared(Relation::differs, 3), std::invalid_argument);
  Estimate broken;
  broken.count = 4096;
  broken.mean = 2;
  broken.standard_error = 0.01;
  broken.non_finite = 1;
  CHECK_FALSE(agree(1, Relation::at_least, broken).excess >= 0);  // what cannot be judged is not within a bound
}
