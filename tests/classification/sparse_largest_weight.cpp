#include "incontext/classification/sparse_largest_weight.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "classification/sphere.hpp"
#include "incontext/classification/largest_weight.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("in three dimensions the largest weight among Poisson points is the query's among them", "[classification]") {
  for (const double lambda : {1e-9, 1e-3, 0.3, 1.0, 7.0, 1e4}) {
    const double self = sparse_neighborhood(lambda).self_weight;
    CHECK(std::abs(sparse_largest_weight(3, lambda) / self - 1) <= 1e-12);
    if (lambda < 1e-2) continue;
    CHECK(std::abs(sparse_largest_weight(4, lambda) / self - 1) > 1e-2);
  }
  const float eps = std::numeric_limits<float>::epsilon();
  CHECK(std::abs(sparse_largest_weight(5, 0.7f) / sparse_largest_weight(5, 0.7) - 1) <= 64 * eps);
}

TEST_CASE("the largest weight among Poisson points is that of drawn ones", "[classification]") {
  struct Case {
    int dimension;
    double lambda, reach;
    int trials;
  };
  std::mt19937_64 engine(75);
  std::exponential_distribution<double> gap;
  for (const Case at : {Case{2, 1.0, 40, 40'000}, {5, 0.5, 25, 10'000}, {10, 0.02, 20, 1500}}) {
    const double q = (at.dimension - 1) / 2.0;
    SampleMean largest;
    for (int trial = 0; trial < at.trials; ++trial) {
      double sum = 0, arrival = gap(engine), nearest = 0;
      for (double s = 0; s < at.reach || sum == 0; arrival += gap(engine)) {
        s = std::pow(arrival / at.lambda, 1 / q);
        if (sum == 0) nearest = s;
        sum += std::exp(nearest - s);
      }
      largest.add(1 / sum);
    }
    INFO("d = " << at.dimension);
    CHECK(std::abs(largest.z(sparse_largest_weight(at.dimension, at.lambda))) <= 5);
    CHECK(std::abs(largest.z(sparse_largest_weight(at.dimension, at.lambda * 1.25))) > 5);
  }
}

TEST_CASE("the largest weight among Poisson points meets its limits, and contexts meet it", "[classification]") {
  for (const int d : {2, 4, 5, 20, 50}) {
    const double q = (d - 1) / 2.0, log_gamma = std::lgamma(q + 1);
    // the correction is of order the nearest point's s, which a dense crowd brings to 0
    const double nearest = 1e-4, lambda = 1e5 * std::pow(nearest, -q), mass = std::exp(std::log(lambda) + log_gamma);
    CHECK(std::abs(sparse_largest_weight(d, lambda) * mass - 1) <= 4e-4);
    CHECK(sparse_largest_weight(d, 0.0) == 1);
    if (d == 2 || d == 50) continue;
    const double share = 1e-5, sparse = std::pow(share / (std::log(2.0) * q * std::tgamma(2 - 1 / q)), q);
    CHECK(std::abs((1 - sparse_largest_weight(d, sparse)) / share - 1) <= 1e-2);
  }
  CHECK(std::abs(sparse_largest_weight(2, 1e-300) - 1) <= 1e-14);
  CHECK(std::abs(sparse_largest_weight(3, std::numeric_limits<double>::min()) - 1) <= 1e-14);
  struct Case {
    int dimension;
    double lambda;
  };
  for (const Case at : {Case{2, 2.0}, {4, 0.5}, {6, 0.1}}) {
    const double q = (at.dimension - 1) / 2.0, kappa = 2e3;
    const double cap = sphere_constants<double>(at.dimension).cap;
    const auto n = static_cast<std::int64_t>(at.lambda * std::pow(kappa, q) / cap);
    const double context = expected_largest_weight(at.dimension, kappa, n, QueryToken::excluded);
    CHECK(std::abs(sparse_largest_weight(at.dimension, at.lambda) / context - 1) <= 1e-3);
    CHECK(std::abs(sparse_largest_weight(at.dimension, at.lambda * 1.05) / context - 1) > 1e-3);
  }
}

TEST_CASE("the largest weight among Poisson points refuses what is outside its domain", "[classification]") {
  CHECK(names(message_of([] { sparse_largest_weight(1, 0.5); }), "sparse_largest_weight", "dimension", "value = 1"));
  CHECK(names(message_of([] { sparse_largest_weight(4, -1.0); }), "lambda", "value = -1"));
  CHECK(names(message_of([] { sparse_largest_weight(4, std::nan("")); }), "lambda", "value = nan"));
}

}  // namespace incontext::testing
