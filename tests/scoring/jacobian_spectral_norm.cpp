#include "incontext/scoring/jacobian_spectral_norm.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/jacobian_norms.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

template <class Map>
auto norm_of(const Map& map, const std::vector<typename Map::value_type>& z) {
  const auto n = static_cast<std::ptrdiff_t>(z.size());
  std::vector<typename Map::value_type> scratch(z.size() * z.size());
  return jacobian_spectral_norm(map, z, MatrixView<typename Map::value_type>(scratch.data(), n, n));
}

double norm_of_matrix(std::vector<double> entries, std::ptrdiff_t rows) {
  return spectral_norm(MatrixView<double>(entries.data(), rows, static_cast<std::ptrdiff_t>(entries.size()) / rows));
}

/// By the power method on J^T J, through both products.
double by_powers(const auto& map, const std::vector<double>& z) {
  Random random(201);
  std::vector<double> u = random.normals(z.size());
  double square = 0;
  for (int i = 0; i < 3000; ++i) {
    u = vjp_of(map, z, jvp_of(map, z, u));
    square = std::sqrt(product(u, u));
    if (!(square > 0)) return 0;
    for (double& x : u) x /= square;
  }
  return std::sqrt(square);
}

}  // namespace

TEST_CASE("the spectral norm of every map agrees with the power method", "[scoring]") {
  Random random(202);
  for_each_smooth_map<double>([&](const auto& map, const Facts& facts) {
    for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{12}}) {
      auto z = random.normals(n);
      z[0] = 1 + std::abs(z[0]);  // so that no sum of rectified scores is 0
      const double norm = norm_of(map, z);
      INFO(facts.name << ", n = " << n);
      CHECK(std::abs(norm - by_powers(map, z)) <= 1e-9 * norm + 1e-15);
    }
  });
  const std::vector<double> z{0.3, -1, 2};
  CHECK(std::abs(norm_of(SSA<double>{1, 1.5}, z) / by_powers(SSA<double>{1, 1.501}, z) - 1) > 1e-4);
}

TEST_CASE("norms known in closed form: uniform, a spike over equal scores, two tokens, rotations", "[scoring]") {
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{40}, std::size_t{120}}) {
    const double count = static_cast<double>(n);
    CHECK(std::abs(norm_of(Softmax<double>{0.5}, std::vector<double>(n, 7.0)) - 2 / count) < 1e-14);
    std::vector<double> z(n, 0.0);
    z[1] = 3;
    const double rest = (count - 1) / (count - 1 + std::exp(3.0));
    const double spike = rest * (1 - rest) * count / (count - 1);
    CHECK(std::abs(norm_of(Softmax<double>{}, z) - spike) < 1e-14);
  }
  CHECK(std::abs(norm_of(SSA<double>{0.8, 1.5}, {0, 0}) - 0.6) < 1e-15);
  CHECK(norm_of(Sparsemax<double>{}, {5, 0, 0}) == 0);
  CHECK(std::abs(norm_of(Sparsemax<double>{}, {0.5, 0.25, 0}) - 1) < 1e-15);
  const double c = std::cos(0.7), s = std::sin(0.7);
  CHECK(std::abs(norm_of_matrix({3 * c, -2 * s, 3 * s, 2 * c}, 2) - 3) < 1e-15);
  CHECK(std::abs(norm_of_matrix({1, 2, 3, 4, 5, 6}, 2) - 9.508032000695724) < 1e-13);
  CHECK(std::abs(norm_of_matrix({1, 2, 3, 4, 5, 6}, 2) - norm_of_matrix({1, 4, 2, 5, 3, 6}, 3)) < 1e-13);
}

TEST_CASE("the spectral norm is in the bracket that needs no matrix, also where it is tiny", "[scoring]") {
  Random random(203);
  for (int trial = 0; trial < 60; ++trial) {
    const auto z = random.normals(1 + random.below(20), trial % 3 == 0 ? 40 : 1);
    const auto norms = jacobian_norms(view(weights_of(Softmax<double>{}, z)));
    const double norm = norm_of(Softmax<double>{}, z);
    CHECK(norms.spectral_lower <= norm * (1 + 1e-12));
    CHECK(norm <= norms.spectral_upper * (1 + 1e-12));
  }
  const double tiny = std::exp(-600.0);  // the square would underflow
  CHECK(std::abs(norm_of(Softmax<double>{}, {600, 0}) / (2 * tiny) - 1) < 1e-12);
}

TEST_CASE("masked scores do not count, other scalars agree, and rows without a Jacobian have no norm", "[scoring]") {
  const double plain = norm_of(Softmax<double>{}, {1, 0.5, -2});
  CHECK(std::abs(norm_of(Softmax<double>{}, {1, -infinity, 0.5, -2}) - plain) < 1e-15);
  CHECK(std::abs(static_cast<double>(norm_of(Softmax<float>{}, {1, 0.5F, -2})) - plain) < 1e-6);
  CHECK(std::abs(static_cast<double>(norm_of(Softmax<long double>{}, {1, 0.5L, -2})) - plain) < 1e-15);
  CHECK(std::isnan(norm_of(Softmax<double>{}, {1, nan})));
  CHECK(std::isnan(norm_of(Softmax<double>{-1}, {1, 2})));
  CHECK(std::abs(norm_of(NormSoftmax<double>{8}, {1, 1, 1}) - norm_of(Softmax<double>{8}, {1, 1, 1})) < 1e-16);
  CHECK(std::isnan(norm_of(Hardmax<double>{}, {1, 1})));
  CHECK(spectral_norm(MatrixView<double>(nullptr, 0, 0)) == 0);
}

}  // namespace incontext::testing
