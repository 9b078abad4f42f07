#include "incontext/classification/circle_cells.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "classification/sphere.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

CircleCells<double> cells_of(const std::vector<double>& prototypes, double query, double kappa, int n, double gain) {
  return circle_cells<double>(prototypes, query, kappa, n, gain);
}

}  // namespace

TEST_CASE("cells on the circle are those of the nearest prototype, by counting", "[classification]") {
  const std::vector<double> prototypes{5.9, 0.4, 2.0, 1.1, -2.5};  // out of order, and one turn off
  const double query = 0.9, kappa = 3.0;
  const int k = 5, n = 15, grid = 200'000;
  std::vector<double> volume(k), mass(k), square(k);
  for (int i = 0; i < grid; ++i) {
    const double angle = 2 * std::acos(-1.0) * (i + 0.5) / grid;
    std::size_t nearest = 0;
    for (std::size_t c = 1; c < prototypes.size(); ++c) {
      if (std::cos(angle - prototypes[c]) > std::cos(angle - prototypes[nearest])) nearest = c;
    }
    const double w = std::exp(kappa * (std::cos(angle - query) - 1));
    volume[nearest] += 1.0 / grid;
    mass[nearest] += w / grid;
    square[nearest] += w * w / grid;
  }
  const auto cells = cells_of(prototypes, query, kappa, n, 6.0);
  double mean = 0, variance = 0, total = 0;
  for (std::size_t c = 0; c < k; ++c) {
    const double a = mass[c] / volume[c];
    mean += n / k * a;
    variance += n / k * (square[c] / volume[c] - a * a);
    total += mass[c];
  }
  for (std::size_t c = 0; c < k; ++c) {
    CHECK(std::abs(cells.volume[c] - volume[c]) <= 2e-5);
    CHECK(std::abs(cells.probability[c] - mass[c] / total) <= 2e-5);
    CHECK(std::abs(cells.balanced_weights[c] - mass[c] / volume[c] * (n / k) / mean) <= 1e-4);
  }
  CHECK(std::abs(cells.mean_partition_function / mean - 1) <= 1e-4);
  CHECK(std::abs(cells.partition_function_variance / variance - 1) <= 1e-3);
  // power: the probabilities are not the weights of balanced contexts where cells differ in size
  CHECK(std::abs(cells.probability[1] - cells.balanced_weights[1]) > 0.01);
}

TEST_CASE("cells on the circle meet their limits", "[classification]") {
  const auto whole = cells_of({1.0}, 2.0, 5.0, 3, 4.0);
  CHECK(std::abs(whole.volume[0] - 1) <= 1e-15);
  CHECK(std::abs(whole.probability[0] - 1) <= 1e-13);
  CHECK(whole.balanced_classes[0] == 1);
  CHECK(std::abs(whole.mean_partition_function - 3 * std::exp(log_kernel_mean(2, 5.0) - 5.0)) <= 1e-13);
  const auto flat = cells_of({0.1, 2.0, 3.0}, 0.0, 0.0, 6, 4.0);
  for (const double weight : flat.balanced_weights) CHECK(std::abs(weight - 1 / 3.0) <= 1e-15);
  CHECK(flat.partition_function_variance <= 1e-28);
  const auto narrow = cells_of({0.1, 2.0, 4.0}, 0.1, 1e4, 6, 4.0);
  CHECK(std::abs(narrow.probability[0] - 1) <= 1e-12);
  const auto turned = cells_of({0.1 + 20, 2.0 + 20, 3.0 + 20}, 20.5, 2.0, 6, 4.0);
  const auto plain = cells_of({0.1, 2.0, 3.0}, 0.5, 2.0, 6, 4.0);
  for (std::size_t c = 0; c < 3; ++c) CHECK(std::abs(turned.probability[c] - plain.probability[c]) <= 1e-14);
}

TEST_CASE("cells on the circle refuse what is outside their domain", "[classification]") {
  CHECK(names(message_of([] { cells_of({}, 0.0, 1.0, 6, 4.0); }), "prototypes", "value = 0"));
  CHECK(names(message_of([] { cells_of({0.1, 1.0}, 0.0, 1.0, 5, 4.0); }), "context_length", "value = 5"));
  CHECK(names(message_of([] { cells_of({0.1, 1.0, 2.0}, 0.0, 1.0, 2, 4.0); }), "context_length", "at least 3"));
  CHECK(names(message_of([] { cells_of({0.1, 1.0}, 0.0, -1.0, 6, 4.0); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { cells_of({0.5, 0.5, 0.5}, 0.0, 1.0, 6, 4.0); }), "volume of a cell"));
  CHECK(names(message_of([] { cells_of({0.1, std::nan("")}, 0.0, 1.0, 6, 4.0); }), "a prototype"));
}

}  // namespace incontext::testing
