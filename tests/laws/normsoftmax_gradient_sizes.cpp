#include "incontext/laws/normsoftmax_gradient_sizes.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

// The comparison with simulated rows of tokens is in tests/simulate/gradients/gradient_norms.cpp.
namespace incontext::testing {

using namespace laws;

namespace {

/// The mean squares given one row of standardized scores, by their definitions with the matrix (I - u u^T / n) P.
struct StandardizedRow {
  double mean_token, parallel, orthogonal;
  double orthogonal_shape;  // without its factor 1 / variance, which is independent of it and n / (n - 3) in the mean

  StandardizedRow(const std::vector<double>& g, double d) {
    const double n = static_cast<double>(g.size());
    double mean = 0, variance = 0;
    for (const double score : g) mean += score / n;
    for (const double score : g) variance += (score - mean) * (score - mean) / n;
    std::vector<double> u;
    for (const double score : g) u.push_back((score - mean) / std::sqrt(variance));
    const std::vector<double> a = SampledRow(u, 1.0).weights;
    std::vector<double> pu(g.size());
    double weighted = 0;
    for (std::size_t i = 0; i < g.size(); ++i) weighted += a[i] * u[i];
    for (std::size_t i = 0; i < g.size(); ++i) pu[i] = a[i] * (u[i] - weighted);
    double trace = 0, squares = 0, transposed = 0, along = 0, ipr = 0;
    const auto entry = [&](std::size_t i, std::size_t j) {
      return (i == j ? a[i] : 0) - a[i] * a[j] - u[i] * pu[j] / n;
    };
    for (std::size_t i = 0; i < g.size(); ++i) {
      double moved = 0;
      trace += entry(i, i);
      ipr += a[i] * a[i];
      for (std::size_t j = 0; j < g.size(); ++j) {
        squares += entry(i, j) * entry(i, j);
        transposed += entry(i, j) * entry(j, i);
        moved += entry(i, j) * u[j];
      }
      along += moved * moved;
    }
    const double height = mean + std::sqrt(variance) * weighted;
    mean_token = (d - 1) * ipr + height * height;
    parallel = (d - 1) * along;
    orthogonal_shape = (d - 1) * squares + trace * trace + transposed;
    orthogonal = orthogonal_shape / variance;
  }
};

}  // namespace

TEST_CASE("NormSoftmax's gradients agree with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 6 comparisons fails a true law once in 300 thousand tests
  for (const auto& [n, d] : {std::pair{32, 8.0}, std::pair{64, 32.0}}) {
    Random random(613);
    SampleMean mean_token, parallel, orthogonal;
    for (int trial = 0; trial < 20000; ++trial) {
      const StandardizedRow row(random.normals(static_cast<std::size_t>(n)), d);
      mean_token.add(row.mean_token);
      parallel.add(row.parallel);
      orthogonal.add(row.orthogonal);
    }
    const auto sizes = normsoftmax_gradient_sizes(double(n), d);
    INFO("n " << n << ", d " << d);
    CHECK(std::abs(mean_token.z(sizes.mean_token)) <= 5);
    CHECK(std::abs(parallel.z(sizes.covariance_parallel)) <= 5);
    CHECK(std::abs(orthogonal.z(sizes.covariance_orthogonal)) <= 5);
    CHECK_FALSE(std::abs(mean_token.z(1.05 * sizes.mean_token)) <= 5);
    CHECK_FALSE(std::abs(parallel.z(1.05 * sizes.covariance_parallel)) <= 5);
    CHECK_FALSE(std::abs(orthogonal.z(1.05 * sizes.covariance_orthogonal)) <= 5);
    // softmax at the mean x, which keeps the component along which NormSoftmax has no gradient
    const auto soft = gradient_sizes(gaussian_row(double(n), 1.0), 1.0, d);
    CHECK_FALSE(std::abs(parallel.z(soft.covariance_parallel)) <= 5);
  }
}

TEST_CASE("NormSoftmax's gradients agree with sampled short rows and have their limit in long ones", "[laws]") {
  Random random(617);
  SampleMean mean_token, parallel, orthogonal, orthogonal_shape;
  for (int trial = 0; trial < 40000; ++trial) {
    const StandardizedRow row(random.normals(8), 4);
    mean_token.add(row.mean_token);
    parallel.add(row.parallel);
    orthogonal.add(row.orthogonal);
    orthogonal_shape.add(row.orthogonal_shape);
  }
  const auto sizes = normsoftmax_gradient_sizes(8.0, 4.0);
  // the smallest of its terms, E V^2 / n^2, is 0.9% of it here
  const double shape = sizes.covariance_orthogonal * 5 / 8;
  INFO("shape " << shape << ", sampled " << orthogonal_shape.mean() << ", z " << orthogonal_shape.z(shape));
  CHECK(std::abs(orthogonal_shape.z(shape)) <= 5);
  CHECK_FALSE(std::abs(orthogonal_shape.z(0.993 * shape)) <= 5);
  CHECK_FALSE(std::abs(orthogonal_shape.z(1.007 * shape)) <= 5);
  const double sampled = std::sqrt((parallel.mean() + 3 * orthogonal.mean()) / 4 / mean_token.mean());
  CHECK(std::abs(sizes.imbalance / sampled - 1) < 0.01);
  CHECK_FALSE(std::abs(gradient_sizes(gaussian_row(8.0, 1.0), 1.0, 4.0).imbalance / sampled - 1) < 0.01);
  for (const double d : {2.0, 16.0, 256.0}) {
    CHECK(std::abs(normsoftmax_gradient_sizes(1e10, d).imbalance / std::sqrt(1 - 1 / d) - 1) < 1e-6);
    CHECK_FALSE(std::abs(normsoftmax_gradient_sizes(1e3, d).imbalance / std::sqrt(1 - 1 / d) - 1) < 1e-6);
  }
  CHECK(normsoftmax_gradient_sizes(1e10, 1.0).imbalance < 1e-4);  // one component: the one that is not learned
}

TEST_CASE("NormSoftmax's gradients refuse what is no layer", "[laws]") {
  CHECK(
      refuses([] { normsoftmax_gradient_sizes(3.0, 4.0); }, {"normsoftmax_gradient_sizes", "row_length", "value = 3"}));
  CHECK(refuses([] { normsoftmax_gradient_sizes(5.5, 4.0); }, {"row_length", "not whole", "5.5"}));
  CHECK(refuses([] { normsoftmax_gradient_sizes(8.0, 0.5); }, {"dimension", "0.5"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { normsoftmax_gradient_sizes(x, 4.0); }, {"row_length"}));
    CHECK(refuses([x] { normsoftmax_gradient_sizes(8.0, x); }, {"dimension"}));
  }
}

}  // namespace incontext::testing
