#include "incontext/baselines/neighbor_averages.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "incontext/baselines/descent_layers.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::neighbor_averages_test {

using namespace baselines;

namespace {

constexpr TaskVariances<double> task{.noise_variance = 0.2, .task_variance = 0.4};

/// The squared errors of averaging and of k nearest neighbors on drawn contexts.
std::pair<SampleMean, SampleMean> drawn_errors(int l, int d, int k, int trials) {
  std::mt19937_64 engine(2208);
  std::normal_distribution<double> normal;
  std::pair<SampleMean, SampleMean> errors;
  std::vector<double> w(d), query(d), x(d);
  std::vector<std::pair<double, double>> by_distance(l);
  for (int trial = 0; trial < trials; ++trial) {
    double label = std::sqrt(task.noise_variance) * normal(engine), averaged = 0, near = 0;
    for (int i = 0; i < d; ++i) {
      w[i] = std::sqrt(task.task_variance) * normal(engine);
      query[i] = normal(engine);
      label += w[i] * query[i];
    }
    for (auto& [distance, y] : by_distance) {
      for (double& entry : x) entry = normal(engine);
      const auto dot = [&](const std::vector<double>& with) {
        return std::inner_product(x.begin(), x.end(), with.begin(), 0.0);
      };
      y = dot(w) + std::sqrt(task.noise_variance) * normal(engine);
      averaged += y * dot(query) / l;
      distance = 0;
      for (int i = 0; i < d; ++i) distance += (x[i] - query[i]) * (x[i] - query[i]);
    }
    std::sort(by_distance.begin(), by_distance.end());
    for (int j = 0; j < k; ++j) near += by_distance[j].second / k;
    errors.first.add((averaged - label) * (averaged - label));
    errors.second.add((near - label) * (near - label));
  }
  return errors;
}

}  // namespace

TEST_CASE("averaging and nearest neighbors err as on drawn contexts", "[statistics]") {
  // 10 comparisons
  struct Size {
    int l, d, k;
  };
  for (const auto [l, d, k] : {Size{5, 1, 1}, Size{12, 1, 4}, Size{10, 20, 3}, Size{30, 3, 2}, Size{6, 5, 6}}) {
    const auto [averaging, nearest] = drawn_errors(l, d, k, 60000);
    CAPTURE(l, d, k, averaging.mean(), nearest.mean());
    CHECK(std::abs(averaging.z(averaging_risk(l, d, task))) < 5);
    CHECK(std::abs(nearest.z(nearest_neighbors_risk(l, d, k, task))) < 5);
    // without the fourth moments of the inputs; another number of neighbors
    const double without = task.noise_variance + d * (task.noise_variance + d * task.task_variance) / l;
    CHECK_FALSE(std::abs(averaging.z(without)) < 5);
    CHECK_FALSE(std::abs(nearest.z(nearest_neighbors_risk(l, d, k > 1 ? k / 2 : 2, task))) < 5);
  }
}

TEST_CASE("averaging is a step of gradient descent at the rate 1") {
  for (const std::int64_t l : {1, 4, 40, 1000}) {
    for (const std::int64_t d : {1, 7, 64}) {
      CHECK(relative(averaging_risk(l, d, task), descent_risk(WishartSpectrum<double>(l, d), task, {1.0})) < 1e-12);
    }
  }
}

TEST_CASE("one neighbor in one dimension is the nearest by a double integral") {
  // E min |x_i - q|^2 = int phi(q) int_0^inf 2 r P(|x - q| > r)^l dr dq
  const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  for (const int l : {2, 10, 1000}) {
    double sum = 0, total = 0;
    for (double q = -9; q <= 9; q += 1.0 / 16) {
      const double density = std::exp(-q * q / 2);
      for (double t = -20; t < 3.5; t += 1.0 / 32) {  // r = e^t
        const double r = std::exp(t), farther = cdf(q - r) + cdf(-q - r);
        sum += density * 2 * r * r * std::pow(farther, l) / 32;
      }
      total += density;
    }
    CAPTURE(l, sum / total);
    CHECK(relative(neighbor_mean_square<double>(l, 1, 1), sum / total) < 1e-9);
  }
}

TEST_CASE("nearest neighbors keep their digits at every size") {
  for (const std::int64_t d : {1, 2, 5, 40, 1000}) {
    for (const std::int64_t l : {2, 50, 1'000'000}) {
      for (const std::int64_t k : {std::int64_t{1}, l / 2, l - 1}) {
        CAPTURE(d, l, k);
        const double found = neighbor_mean_square<double>(l, d, k);
        CHECK(relative(found, static_cast<double>(neighbor_mean_square<long double>(l, d, k))) <
              (l > 1000 ? 2e-11 : 1e-13));
      }
    }
  }
}

TEST_CASE("nearest neighbors at their limits") {
  CHECK(relative(nearest_neighbors_risk(8, 5, 8, task), (0.2 + 0.4 * 5) * (1 + 1.0 / 8)) < 1e-15);
  CHECK(nearest_neighbors_risk(8, 5, 100, task) == nearest_neighbors_risk(8, 5, 8, task));
  // the mean without the farthest of 10^5 is nearly that of all, which are no neighbors
  CHECK(relative(neighbor_mean_square<double>(100'000, 5, 99'999), 5.0) < 1e-4);
  CHECK(neighbor_mean_square<double>(1'000'000, 1, 1) < 1e-6);
  CHECK(std::abs(nearest_neighbors_risk(1'000'000, 1, 1, task) - 0.4) < 1e-6);
  // as l^(-2/d) with Gamma(1 + 2/d) E[(volume of the unit ball times density)^(-2/d)] in front, here for d = 6
  const double front = std::tgamma(4.0 / 3) * 2 * M_PI * std::pow(M_PI * M_PI * M_PI / 6, -1.0 / 3) * std::pow(1.5, 3);
  CHECK(std::abs(neighbor_mean_square<double>(1'000'000, 6, 1) / (front * 0.01) - 1) < 0.1);
}

TEST_CASE("averages refuse what they cannot read, by name") {
  const auto refused = [](auto call, std::string_view named) { return names(message_of(call), named); };
  CHECK(refused([] { averaging_risk(0, 3, task); }, "examples"));
  CHECK(refused([] { averaging_risk(3, 0, task); }, "dimension"));
  CHECK(refused([] { averaging_risk<double>(3, 3, {-1, 1}); }, "noise_variance"));
  CHECK(refused([] { nearest_neighbors_risk(0, 3, 1, task); }, "examples"));
  CHECK(refused([] { nearest_neighbors_risk(1'000'001, 3, 1, task); }, "examples"));
  CHECK(refused([] { nearest_neighbors_risk(3, 1001, 1, task); }, "dimension"));
  CHECK(refused([] { nearest_neighbors_risk(3, 0, 1, task); }, "dimension"));
  CHECK(refused([] { nearest_neighbors_risk(3, 3, 0, task); }, "neighbors"));
  CHECK(refused([] { nearest_neighbors_risk<double>(3, 3, 1, {1, -1}); }, "task_variance"));
}

}  // namespace incontext::testing::neighbor_averages_test
