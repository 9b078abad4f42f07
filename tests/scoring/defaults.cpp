#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"

using namespace incontext::scoring;

TEST_CASE(
    "a map without parameters given is the papers': scores as they are, SSMax with s = 1, SSA with b = 1, k = 1.5",
    "[defaults]") {
  CHECK(Softmax<double>{}.temperature == 1);
  CHECK(NormSoftmax<double>{}.temperature == 1);
  CHECK(SSMax<double>{}.scale == 1);
  CHECK(SSMax<double>{}.bias == 0);
  CHECK(SSA<double>{}.base == 1);
  CHECK(SSA<double>{}.exponent == 1.5);
  CHECK(SSA<double>{}.temperature == 1);
}
