#include "incontext/laws/gradient_sizes.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "incontext/training/layer_gradients.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// |xbar|^2, |C h|^2 for h along the query and for h orthogonal to it, of one row of n tokens in d dimensions.
struct TokenMoments {
  double mean_token = 0, parallel = 0, orthogonal = 0;

  TokenMoments(Random& random, std::size_t n, std::size_t d, double x) {
    std::vector<std::vector<double>> components;
    for (std::size_t c = 0; c < d; ++c) components.push_back(random.normals(n));
    const SampledRow row(components[0], x);
    std::vector<double> mean(d, 0.0);
    for (std::size_t c = 0; c < d; ++c) mean[c] = product(row.weights, components[c]);
    mean_token = product(mean, mean);
    for (std::size_t c = 0; c < d; ++c) {
      parallel += std::pow(covariance(row.weights, components, mean, c, 0), 2);
      orthogonal += std::pow(covariance(row.weights, components, mean, c, d - 1), 2);
    }
  }

 private:
  static double covariance(const std::vector<double>& a, const std::vector<std::vector<double>>& x,
                           const std::vector<double>& mean, std::size_t c, std::size_t e) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * (x[c][j] - mean[c]) * (x[e][j] - mean[e]);
    return sum;
  }
};

double imbalance(double n, double x, double d) { return gradient_sizes(gaussian_row(n, x), x, d).imbalance; }

}  // namespace

TEST_CASE("gradient sizes agree with sampled tokens", "[laws][statistics]") {
  // |z| <= 5 in 9 comparisons fails a true law once in 190 thousand tests
  for (const auto& [n, d, x] : {std::tuple{4, 2, 0.6}, std::tuple{10, 5, 2.0}, std::tuple{30, 3, 6.0}}) {
    Random random(457);
    SampleMean mean_token, parallel, orthogonal;
    for (int trial = 0; trial < 20000; ++trial) {
      const TokenMoments moments(random, static_cast<std::size_t>(n), static_cast<std::size_t>(d), x);
      mean_token.add(moments.mean_token);
      parallel.add(moments.parallel);
      orthogonal.add(moments.orthogonal);
    }
    const auto sizes = gradient_sizes(gaussian_row(static_cast<double>(n), x), x, static_cast<double>(d));
    INFO("n " << n << ", d " << d << ", x " << x);
    CHECK(std::abs(mean_token.z(sizes.mean_token)) <= 5);
    CHECK(std::abs(parallel.z(sizes.covariance_parallel)) <= 5);
    CHECK(std::abs(orthogonal.z(sizes.covariance_orthogonal)) <= 5);
    CHECK_FALSE(std::abs(mean_token.z(1.1 * sizes.mean_token)) <= 5);
    CHECK_FALSE(std::abs(parallel.z(sizes.covariance_orthogonal)) <= 5);
    CHECK_FALSE(std::abs(orthogonal.z(1.15 * sizes.covariance_orthogonal)) <= 5);
  }
}

TEST_CASE("W_K's gradient is small at small x and balanced at x of order one", "[laws]") {
  // slope in x: sqrt(n/d) sqrt(1 + d/n)
  for (const auto& [n, d] : {std::pair{197.0, 256.0}, std::pair{64.0, 16.0}, std::pair{1e6, 256.0}}) {
    const double slope = std::sqrt(n / d) * std::sqrt(1 + d / n), x = 1e-4 * std::sqrt(d / n);
    CHECK(std::abs(imbalance(n, x, d) / (slope * x) - 1) < 2.5 / n + 1e-6);
    CHECK_FALSE(std::abs(imbalance(n, x, d) / (std::sqrt(n / d) * x) - 1) < 1e-5);
  }
  CHECK(std::abs(imbalance(1e9, 1.0, 16.0) - 1) < 1e-3);
  for (const double n : {64.0, 197.0, 1e4}) {
    for (const double x : {0.01, 0.1, 0.3, 1.0}) {
      for (const double d : {1.0, 16.0, 64.0}) {
        INFO("n " << n << ", x " << x << ", d " << d);
        CHECK(std::abs(annealed_imbalance(n, x, d) / imbalance(n, x, d) - 1) < 0.05);
      }
    }
  }
  CHECK_FALSE(std::abs(annealed_imbalance(64.0, 4.0, 64.0) / imbalance(64.0, 4.0, 64.0) - 1) < 0.3);
}

TEST_CASE("the annealed imbalance has a number where e^(x^2) has none", "[laws]") {
  for (const double x : {26.0, 27.0, 32.0, 1e3}) {
    CHECK(std::abs(annealed_imbalance(64.0, x, 16.0) / x - 1) < 1e-12);
    CHECK(std::abs(annealed_imbalance(64.0, x, 16.0) / (1.001 * x) - 1) > 1e-12);
  }
}

TEST_CASE("W_Q beside W_K and W_V in literal layers", "[laws][statistics]") {
  // |q|^2 and |W_K q|^2 at their means, as the law has them: x_q and the row of W_K along q are scaled.
  const Eigen::Index n = 6, d = 4, keys = 3;
  const double x = 2.5;
  const auto sizes = gradient_sizes(gaussian_row(static_cast<double>(n), x), x, static_cast<double>(d));
  Random random(12);
  const auto matrix = [&](Eigen::Index rows, Eigen::Index columns) {
    Eigen::MatrixXd m(rows, columns);
    for (double& entry : m.reshaped()) entry = random.normal();
    return m;
  };
  SampleMean query_less, key_less;
  const double squared_query = std::pow(query_imbalance(sizes, static_cast<double>(keys)), 2);
  const double wrong_query = std::pow(sizes.imbalance, 2);
  SampleMean with_key_law;
  for (int trial = 0; trial < 60000; ++trial) {
    const Eigen::MatrixXd tokens = matrix(n, d);
    Eigen::MatrixXd key = matrix(d, keys), value = matrix(d, 1), x_q = matrix(1, d);
    Eigen::VectorXd q = matrix(keys, 1);
    value *= std::sqrt(static_cast<double>(d)) / value.norm();
    x_q *= q.norm() / std::sqrt(static_cast<double>(keys)) / x_q.norm();
    const Eigen::VectorXd w = key * q;
    key += (std::sqrt(static_cast<double>(d)) * q.norm() / w.norm() - 1) * w * q.transpose() / q.squaredNorm();
    const training::LayerWeights<double> layer{x_q.transpose() * q.transpose() / x_q.squaredNorm(), key, value};
    const double tau = (key * q).norm() / x;
    const auto gradients = training::layer_gradients(scoring::Softmax<double>{tau}, tokens, x_q, layer,
                                                     Eigen::MatrixXd(Eigen::MatrixXd::Ones(1, 1)));
    const double by_query = gradients.gradient.query.squaredNorm(), by_key = gradients.gradient.key.squaredNorm();
    const double by_value = gradients.gradient.value.squaredNorm();
    query_less.add(by_query - squared_query * by_value);
    key_less.add(by_key - wrong_query * by_value);
    with_key_law.add(by_query - wrong_query * by_value);
  }
  CHECK(std::abs(query_less.z(0)) <= 5);
  CHECK(std::abs(key_less.z(0)) <= 5);
  CHECK_FALSE(std::abs(with_key_law.z(0)) <= 5);
}

TEST_CASE("with many key dimensions W_Q has W_K's law", "[laws]") {
  const auto sizes = gradient_sizes(gaussian_row(50.0, 1.0), 1.0, 20.0);
  CHECK(relative(query_imbalance(sizes, 1e12), sizes.imbalance) < 1e-11);
  CHECK(relative(query_imbalance(sizes, 1.0),
                 sizes.imbalance * std::sqrt(sizes.covariance_parallel / sizes.covariance_isotropic)) < 1e-14);
  CHECK(refuses([&] { query_imbalance(sizes, 0.0); }, {"key_dimension"}));
}

TEST_CASE("gradient sizes refuse what is no layer", "[laws]") {
  const auto row = gaussian_row(5.0, 1.0);
  CHECK(refuses([&] { gradient_sizes(row, -1.0, 3.0); }, {"gradient_sizes", "score_stddev", "-1"}));
  CHECK(refuses([&] { gradient_sizes(row, 1.0, 0.5); }, {"dimension", "0.5"}));
  CHECK(refuses([] { annealed_imbalance(0.0, 1.0, 3.0); }, {"annealed_imbalance", "row_length", "value = 0"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([&] { gradient_sizes(row, x, 3.0); }, {"score_stddev"}));
    CHECK(refuses([&] { gradient_sizes(row, 1.0, x); }, {"dimension"}));
    CHECK(refuses([&] { annealed_imbalance(3.0, x, 3.0); }, {"score_stddev"}));
    CHECK(refuses([&] { annealed_imbalance(3.0, 1.0, x); }, {"dimension"}));
  }
}

}  // namespace incontext::testing
