#include <cmath>
#include <cstddef>
#include <vector>

#include "classification/quadratic_kernel.hpp"
#include "incontext/classification/adaptive_onset.hpp"
#include "incontext/classification/circle_attention.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the onset's ratio keeps its digits", "[classification]") {
  for (const int k : {3, 5, 10, 100}) {
    const Real50 exact = adaptive_onset_ratio<Real50>(k);
    CHECK(std::abs(adaptive_onset_ratio<double>(k) / static_cast<double>(exact) - 1) <= 1e-12);
  }
}

TEST_CASE("attention on the circle keeps its digits", "[classification]") {
  const std::vector<Real50> exact_prototypes{Real50(0.25), Real50(2), Real50(4.5)};
  const std::vector<double> prototypes{0.25, 2, 4.5};
  const auto exact = circle_attention<Real50>(exact_prototypes, Real50(0.5), Real50(3), 6, QueryToken::included);
  const auto rounded = circle_attention<double>(prototypes, 0.5, 3.0, 6, QueryToken::included);
  for (std::size_t c = 0; c < 3; ++c) CHECK(std::abs(rounded[c] - static_cast<double>(exact[c])) <= 1e-11);
}

TEST_CASE("the feature map's and the kernel attention's constructions are the step at 50 digits", "[classification]") {
  check_constructions(Real50(3), 1e-45);
}

}  // namespace incontext::testing
