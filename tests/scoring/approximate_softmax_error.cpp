#include "incontext/scoring/approximate_softmax_error.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

std::vector<double> error_of(double temperature, const std::vector<double>& z) {
  std::vector<double> out(z.size());
  approximate_softmax_error(ApproximateSoftmax<double>{temperature}, z, out);
  return out;
}

}  // namespace

TEST_CASE("the error is softmax minus its approximation, near, far and with masks", "[scoring]") {
  Random random(131);
  for (const double size : {0.3, 3.0, 40.0, 2000.0}) {
    auto z = random.normals(9, size);
    z[4] = -infinity;
    auto expected = weights_of(Softmax<double>{1.5}, z);
    const auto approximate = weights_of(ApproximateSoftmax<double>{1.5}, z);
    for (std::size_t i = 0; i < z.size(); ++i) expected[i] -= approximate[i];
    const auto error = error_of(1.5, z);
    CHECK(distance(error, expected) < 1e-15 * (1 + largest_size(approximate)));
    CHECK(std::abs(total(error)) < 1e-15 * (1 + largest_size(approximate)));
    CHECK(error[4] == 0);
  }
}

TEST_CASE("small scores: the difference of the weights loses the error, the closed form does not", "[scoring]") {
  const std::vector<double> u{1, -2, 0.5, 3};
  std::vector<double> z, leading(4);
  for (const double x : u) z.push_back(100 + 1e-8 * x);
  const auto error = error_of(1, z);
  approximate_softmax_leading_error(ApproximateSoftmax<double>{}, z, leading);
  const double size = largest_size(leading);
  CHECK(size < 1e-15);
  CHECK(distance(error, leading) < 1e-7 * size);
  auto naive = weights_of(Softmax<double>{}, z);
  const auto approximate = weights_of(ApproximateSoftmax<double>{}, z);
  for (std::size_t i = 0; i < 4; ++i) naive[i] -= approximate[i];
  CHECK(distance(naive, leading) > 0.01 * size);
}

TEST_CASE("equal scores and a single score have no error, an invalid row none to tell", "[scoring]") {
  CHECK(error_of(1, {5, 5, 5}) == std::vector<double>{0, 0, 0});
  CHECK(error_of(1, {7}) == std::vector<double>{0});
  CHECK(all_nan(error_of(0, {1, 2})));
  CHECK(all_nan(error_of(1, {1, nan})));
  CHECK(all_nan(error_of(1, {-infinity, -infinity})));
  std::vector<double> out(2);
  approximate_softmax_leading_error(ApproximateSoftmax<double>{-1}, std::vector<double>{1, 2}, out);
  CHECK(all_nan(out));
}

}  // namespace incontext::testing
