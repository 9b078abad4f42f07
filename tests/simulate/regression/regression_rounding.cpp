#include "incontext/simulate/regression/regression_rounding.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"
#include "simulate/regression/models.hpp"
#include "support/catch.hpp"

namespace regression_rounding_test {

namespace {

using namespace incontext;

/// phi(z) = beta z |z|, whose slope vanishes at 0 and grows with the score.
struct SignedSquare {
  double beta;

  INCONTEXT_HD bool in_domain() const { return beta > 0; }
  INCONTEXT_HD bool decreasing() const { return false; }
  INCONTEXT_HD double value(const double& z) const { return beta * z * (z < 0 ? -z : z); }
  INCONTEXT_HD double difference(const double& z, const double& w) const { return value(z) - value(w); }
  INCONTEXT_HD double slope(const double& z) const { return 2 * beta * (z < 0 ? -z : z); }
  INCONTEXT_HD double curvature(const double& z) const { return z < 0 ? -2 * beta : 2 * beta; }
};

struct SignedSquareSoftmax {
  using value_type = double;
  double beta;

  INCONTEXT_HD SignedSquare elementwise(std::ptrdiff_t) const { return {beta}; }
};

}  // namespace

TEST_CASE("a linear map enlarges scores by its slope, whatever their size", "[simulate]") {
  for (const double score : {0.0, 1e-8, 1.0, 1e6}) {
    for (const double temperature : {0.25, 8.0}) {
      const auto phi = scoring::Softmax<double>{temperature}.elementwise(10);
      CHECK(std::abs(simulate::detail::largest_factor(phi, score) * temperature - 1) < 1e-15);
    }
  }
}

TEST_CASE("a map that is flat at 0 enlarges scores by its slope at large ones", "[simulate]") {
  for (const double score : {0.1, 3.0}) {
    CHECK(std::abs(simulate::detail::largest_factor(SignedSquare{0.5}, score) - 4 * score) < 1e-13 * score);
  }
}

TEST_CASE("the rounding of a reduced simulation grows with a map that is flat at 0", "[simulate]") {
  const auto rounding = [](double beta) {
    const auto estimate = simulate::reduced_softmax_error(testing::plain_attention(3), testing::isotropic_task(3), 20,
                                                          SignedSquareSoftmax{beta}, {.seed = 3, .trials = 1024});
    return estimate.rounding;
  };
  CHECK(rounding(1e3) > 100 * rounding(1e-3));
}

}  // namespace regression_rounding_test
