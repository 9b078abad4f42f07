#include "incontext/laws/needle_cross_entropy.hpp"

#include "support/catch.hpp"
#include "support/real50.hpp"

/// The same templates at 50 digits, against closed forms and against themselves in double.
namespace needle_cross_entropy_50digits_test {

using namespace incontext;
using namespace incontext::laws;
using namespace incontext::testing;

TEST_CASE("a needle of fixed score among two values: the binomial sum at 50 digits", "[laws][50digits]") {
  const Real50 p("0.4"), beta("2.5"), score("1.25");
  const TwoValueLaw<Real50> law{Real50(0), Real50(1), p};
  Real50 exact(0), chance = (Real50(1) - p) * (Real50(1) - p) * (Real50(1) - p);
  for (int k = 0; k <= 3; ++k) {
    exact += chance * log(Real50(1) + k * exp(Real50(beta * (1 - score))) + (3 - k) * exp(Real50(-beta * score)));
    chance *= p / (Real50(1) - p) * (3 - k) / (k + 1);
  }
  const NormalNeedle<Real50> needle{score, Real50(0)};
  CHECK(abs(needle_cross_entropy(law, Real50(3), needle, beta).value - exact) < Real50(1e-29) * exact);
}

TEST_CASE("double keeps the digits it claims", "[laws][50digits]") {
  const auto apart = [](const auto& law50, const auto& law, double n, double mean, double beta) {
    const NormalNeedle<Real50> needle{Real50(mean), Real50(0)};  // of fixed score: the other integral is as slow again
    const Real50 exact = needle_cross_entropy(law50, Real50(n), needle, Real50(beta)).value;
    const double found = needle_cross_entropy(law, n, NormalNeedle<double>{mean, 0}, beta).value;
    return static_cast<double>(Real50(abs(Real50(found) - exact) / exact));
  };
  CHECK(apart(NormalLaw<Real50>{Real50(1)}, NormalLaw<double>{1}, 50, 2, 1.5) < 1e-10);
  CHECK(apart(TwoValueLaw<Real50>{Real50(0), Real50(1), Real50(0.25)}, TwoValueLaw<double>{0, 1, 0.25}, 50, 1.5, 9) <
        1e-10);
}

}  // namespace needle_cross_entropy_50digits_test
