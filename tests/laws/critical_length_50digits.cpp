#include "incontext/laws/critical_length.hpp"

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/real50.hpp"

/// Critical lengths in double against weights at 50 digits from an integral of their own.
namespace incontext::testing {

namespace {

/// The needle's weight among n - 1 scores: E 1/(1 + S) = int e^-t (E e^(-t s))^(n-1) dt, S a sum of n - 1 independent
/// s = e^(x g - gap). Both integrals by the trapezoidal rule, that over t after t = exp(v - e^-v).
Real50 weight_among(std::int64_t n, const Real50& stddev, const Real50& gap) {
  const Real50 fine = Real50(1) / 10, step = Real50(1) / 16;
  std::vector<Real50> term, density;
  for (int i = -120; i <= 120; ++i) {
    const Real50 g = i * fine;
    term.push_back(exp(Real50(stddev * g - gap)));
    density.push_back(fine * exp(Real50(-g * g / 2)) / sqrt(Real50(2 * boost::math::constants::pi<Real50>())));
  }
  Real50 sum = 0;
  for (int i = -16 * 4; i <= 16 * 4; ++i) {
    const Real50 v = i * step, t = exp(Real50(v - exp(Real50(-v))));
    if (t > 60) continue;
    Real50 transform = 0;
    for (std::size_t j = 0; j < term.size(); ++j) transform += density[j] * exp(Real50(-t * term[j]));
    sum += step * t * (1 + exp(Real50(-v))) * exp(Real50(-t)) * pow(transform, static_cast<int>(n - 1));
  }
  return sum;
}

}  // namespace

TEST_CASE("critical lengths in double are those of weights at 50 digits", "[laws]") {
  struct Case {
    double stddev, gap, weight;
  };
  for (const Case& at : {Case{1.0, 4.5, 0.5}, {0.5, 5.0, 0.9}}) {
    const auto found = laws::softmax_critical_length(at.stddev, at.gap, at.weight);
    const auto length = static_cast<std::int64_t>(found.length);
    const auto precise = [&](std::int64_t n) { return weight_among(n, Real50(at.stddev), Real50(at.gap)); };
    const Real50 kept = precise(length), lost = precise(length + 1);
    INFO("stddev " << at.stddev << ", gap " << at.gap << ", weight " << at.weight << ": n = " << length);
    CHECK(kept >= Real50(at.weight));  // one score fewer or more would be wrong
    CHECK(lost < Real50(at.weight));
    CHECK(std::abs(found.weight / static_cast<double>(kept) - 1) < 1e-11);
    CHECK(std::abs(found.weight_beyond / static_cast<double>(lost) - 1) < 1e-11);
    // Power: a thousandth more noise.
    const Real50 noisier = weight_among(length, Real50(1.001 * at.stddev), Real50(at.gap));
    CHECK(std::abs(found.weight / static_cast<double>(noisier) - 1) > 1e-5);
  }
}

TEST_CASE("the critical length of SSMax in double is that of weights at 50 digits", "[laws]") {
  const double scale = 0.43, variance = 0.25, score = 2.0, weight = 0.6;
  const auto found = laws::ssmax_critical_length(scale, variance, score, weight);
  const auto length = static_cast<std::int64_t>(found.length);
  const auto precise = [&](std::int64_t n) {
    const Real50 beta = Real50(scale) * log(Real50(n));
    return weight_among(n, Real50(beta * sqrt(Real50(variance))), Real50(beta * Real50(score)));
  };
  INFO("n = " << length);
  REQUIRE(length > 1);
  CHECK(std::abs(found.weight / static_cast<double>(precise(length)) - 1) < 1e-11);
  CHECK(std::abs(found.weight_beyond / static_cast<double>(precise(length + 1)) - 1) < 1e-11);
}

}  // namespace incontext::testing
