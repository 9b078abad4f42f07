#include "incontext/scoring/linear_attention.hpp"

#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("linear attention is its scores over temperature and length, and so are its derivatives", "[scoring]") {
  using Vector = std::vector<double>;
  const Vector z{2, -infinity, -6, 4, 0.5}, u{1, 3, -2, 0.5, 8};  // four scores are visible
  const LinearAttention<double> over_length{0.5}, raw{0.5, LinearNormalization::none};
  CHECK(weights_of(over_length, z) == Vector{1, 0, -3, 2, 0.25});
  CHECK(weights_of(raw, z) == Vector{4, 0, -12, 8, 1});
  CHECK(jvp_of(over_length, z, u) == Vector{0.5, 0, -1, 0.25, 4});
  CHECK(jvp_of(raw, z, u) == Vector{2, 0, -4, 1, 16});
  CHECK(vjp_of(over_length, z, u) == Vector{0.5, 0, -1, 0.25, 4});
  CHECK(vjp_of(raw, z, u) == Vector{2, 0, -4, 1, 16});
  CHECK(derivative_of(over_length, parameter::Temperature{}, z) == Vector{-2, 0, 6, -4, -0.5});
  CHECK(derivative_of(raw, parameter::Temperature{}, z) == Vector{-8, 0, 24, -16, -2});
}

}  // namespace incontext::testing
