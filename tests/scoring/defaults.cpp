#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/kernel.hpp"
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
  CHECK(MatrixNormSoftmax<double>{}.temperature == 1);
  CHECK(SSMax<double>{}.scale == 1);
  CHECK(SSMax<double>{}.bias == 0);
  CHECK(SSA<double>{}.base == 1);
  CHECK(SSA<double>{}.exponent == 1.5);
  CHECK(SSA<double>{}.temperature == 1);
}

TEST_CASE("defaults of entmax, the Gaussian kernel and heat schedules", "[defaults]") {
  CHECK(Entmax<double>{}.alpha == 1.5);
  CHECK(GaussianKernel<double>{}.bandwidth == 1);
  CHECK(HeatSchedule<double>{}.start_temperature == 1.0 / 3);
  CHECK(HeatSchedule<double>{}.end_temperature == 8);
  CHECK(HeatSchedule<double>{}.epochs == 1);
  CHECK(HeatSchedule<double>{}.shape == HeatShape::half_cosine_inverse);
}
