#include "incontext/training/affine_task.hpp"

#include "support/catch.hpp"
#include "support/real50.hpp"

/// Clipped answers at 50 digits.
namespace affine_task_50digits_test {

using namespace incontext::training;
using namespace incontext::testing;

TEST_CASE("inputs that are 0 leave one normal label: the clip error at 50 digits", "[training][50digits]") {
  const Real50 bound("1.5"), pi = boost::math::constants::pi<Real50>();
  const Real50 density = exp(Real50(-bound * bound / 2)) / sqrt(Real50(2 * pi));
  const Real50 tail = erfc(Real50(bound / sqrt(Real50(2)))) / 2;
  const Real50 exact = 2 * ((1 + bound * bound) * tail - bound * density);
  const AffineTask<Real50> task{Real50(0), Real50(1)};
  CHECK(abs(Real50(clipped_affine_error(task, bound).value - exact)) < Real50(1e-29) * exact);
  CHECK(abs(Real50(clipped_answer_bound(task, exact) - bound)) < Real50(1e-29));
}

TEST_CASE("the bound in double keeps the digits it claims", "[training][50digits]") {
  const double error = 45.35 * 40 / 38;
  const Real50 exact = clipped_answer_bound(AffineTask<Real50>{Real50(1), Real50(10)}, Real50(error));
  const double found = clipped_answer_bound(AffineTask<double>{1, 10}, error);
  CHECK(abs(Real50(found - exact)) < Real50(1e-9) * exact);
}

}  // namespace affine_task_50digits_test
