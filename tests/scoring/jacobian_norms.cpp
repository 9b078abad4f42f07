#include "incontext/scoring/jacobian_norms.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

double norm(const std::vector<double>& x) { return std::sqrt(product(x, x)); }

std::vector<double> minus(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

double one_norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double y : x) sum += std::abs(y);
  return sum;
}

/// Largest |a(z) - a(z')| / |z - z'| over random pairs, near and far.
template <class Norm>
double steepest(const auto& map, std::size_t n, double size, Norm of) {
  Random random(101);
  double steepest = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto z = random.normals(n, size);
    auto other = z;
    for (double& x : other) x += random.normal() * (trial % 2 == 0 ? 1e-3 : 1) * size;
    raise(steepest, of(minus(weights_of(map, z), weights_of(map, other))) / of(minus(z, other)));
  }
  return steepest;
}

}  // namespace

TEST_CASE("norms of diag(p) - p p^T agree with the matrix itself, and bracket its spectral norm", "[scoring]") {
  Random random(102);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t n = 1 + random.below(9);
    const auto p = weights_of(Softmax<double>{trial % 3 == 0 ? 0.1 : 1.0}, random.normals(n));
    const auto norms = jacobian_norms(view(p));
    double trace = 0, squares = 0, row_sum = 0, s2 = 0, s3 = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double row = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const double entry = (i == j ? p[i] : 0) - p[i] * p[j];
        squares += entry * entry;
        row += std::abs(entry);
      }
      trace += p[i] - p[i] * p[i];
      raise(row_sum, row);
      s2 += p[i] * p[i];
      s3 += p[i] * p[i] * p[i];
    }
    CHECK(std::abs(norms.trace - trace) < 1e-14);
    CHECK(std::abs(norms.trace - (1 - s2)) < 1e-14);
    CHECK(std::abs(norms.frobenius * norms.frobenius - squares) < 1e-14);
    CHECK(std::abs(squares - (s2 - 2 * s3 + s2 * s2)) < 1e-14);
    CHECK(std::abs(norms.row_sum - row_sum) < 1e-14);
    CHECK(norms.row_sum <= 0.5 + 1e-15);
    CHECK(norms.spectral_upper <= 0.5);

    std::vector<double> u = random.normals(n);
    double spectral = 0;
    for (int i = 0; i < 2000 && n > 1; ++i) {  // p o (u - p.u)
      const double mean = product(p, u);
      for (std::size_t j = 0; j < n; ++j) u[j] = p[j] * (u[j] - mean);
      spectral = norm(u);
      for (double& x : u) x /= spectral;
    }
    INFO(norms.spectral_lower << " <= " << spectral << " <= " << norms.spectral_upper);
    CHECK(norms.spectral_lower <= spectral * (1 + 1e-9) + 1e-300);
    CHECK(spectral <= norms.spectral_upper * (1 + 1e-12));

    double largest_split = 0;  // the norm from max norm to 1-norm is max over subsets A of 4 p(A) (1 - p(A))
    for (unsigned subset = 0; subset < (1U << n); ++subset) {
      double mass = 0;
      std::vector<double> signs(n);
      for (std::size_t i = 0; i < n; ++i) {
        signs[i] = (subset >> i & 1U) != 0 ? 1 : -1;
        if (signs[i] > 0) mass += p[i];
      }
      const double mean = product(p, signs);
      for (std::size_t j = 0; j < n; ++j) signs[j] = p[j] * (signs[j] - mean);
      CHECK(std::abs(one_norm(signs) - 4 * mass * (1 - mass)) < 1e-14);
      raise(largest_split, one_norm(signs));
    }
    CHECK(largest_split <= 1 + 1e-15);
  }
}

TEST_CASE("norms of a peaked row keep their digits, of a uniform and a one-hot row are exact", "[scoring]") {
  const auto p = weights_of(Softmax<double>{}, {0, -50, -60});
  const double others = p[1] + p[2];
  const auto norms = jacobian_norms(view(p));
  CHECK(std::abs(norms.trace - 2 * others) < 1e-13 * others);
  CHECK(std::abs(norms.frobenius - std::sqrt(others * others + 3 * p[1] * p[1])) < 1e-4 * others);
  CHECK(std::abs(norms.spectral_lower - others) < 1e-14 * others);
  const auto uniform = jacobian_norms(view(std::vector<double>(4, 0.25)));
  CHECK(uniform.trace == 0.75);
  CHECK(std::abs(uniform.frobenius - std::sqrt(3.0) / 4) < 1e-16);
  CHECK(uniform.spectral_upper == 0.25);
  const auto hot = jacobian_norms(view(std::vector<double>{0, 1, 0}));
  CHECK(hot.trace == 0);
  CHECK(hot.frobenius == 0);
  CHECK(hot.row_sum == 0);
  CHECK(hot.spectral_upper == 0);
  CHECK(std::isnan(jacobian_norms(view(std::vector<double>{})).trace));
  CHECK(std::isnan(jacobian_norms(view(std::vector<double>{0.5, nan})).frobenius));
}

TEST_CASE("no pair of rows moves the weights faster than the Lipschitz constant", "[scoring]") {
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{12}}) {
    const auto count = static_cast<std::ptrdiff_t>(n);
    const auto check = [&](const auto& map, double constant, double size) {
      CHECK(steepest(map, n, size, norm) <= constant * (1 + 1e-9));
    };
    for (const double size : {0.1, 1.0, 10.0}) {
      check(Softmax<double>{0.5}, lipschitz_constant(Softmax<double>{0.5}), size);
      check(SSMax<double>{0.5, 0.25}, lipschitz_constant(SSMax<double>{0.5, 0.25}, count), size);
      check(SSMax<double>{0.5, -3}, lipschitz_constant(SSMax<double>{0.5, -3}, count), size);
      check(SSA<double>{0.8, 1.5, 2}, lipschitz_constant(SSA<double>{0.8, 1.5, 2}), size);
      check(ApproximateSoftmax<double>{0.5}, lipschitz_constant(ApproximateSoftmax<double>{0.5}, count), size);
      check(Sparsemax<double>{}, lipschitz_constant(Sparsemax<double>{}), size);
      // softmax: in every p-norm
      CHECK(steepest(Softmax<double>{0.5}, n, size, one_norm) <= 1 + 1e-9);
      CHECK(steepest(Softmax<double>{0.5}, n, size, [](const auto& x) { return largest_size(x); }) <= 1 + 1e-9);
    }
  }
}

TEST_CASE("the constants are attained by two equal scores, and no smaller ones would do", "[scoring]") {
  const auto slope = [](const auto& map) { return norm(jvp_of(map, {0, 0}, {std::sqrt(0.5), -std::sqrt(0.5)})); };
  CHECK(std::abs(slope(Softmax<double>{0.5}) - lipschitz_constant(Softmax<double>{0.5})) < 1e-15);
  CHECK(std::abs(slope(SSMax<double>{0.5, 0.25}) - lipschitz_constant(SSMax<double>{0.5, 0.25}, 2)) < 1e-15);
  CHECK(std::abs(slope(SSA<double>{0.8, 1.5, 2}) - lipschitz_constant(SSA<double>{0.8, 1.5, 2})) < 1e-15);
  CHECK(std::abs(slope(SSA<double>{0.8, 1.5}) - 0.6) < 1e-15);
  CHECK(std::abs(slope(ApproximateSoftmax<double>{0.5}) - lipschitz_constant(ApproximateSoftmax<double>{0.5}, 2)) <
        1e-15);
  CHECK(std::abs(slope(Sparsemax<double>{}) - 1) < 1e-15);
  CHECK(lipschitz_constant(ApproximateSoftmax<double>{0.5}, 1) == 0);
  CHECK(std::isnan(lipschitz_constant(Softmax<double>{0})));
  CHECK(std::isnan(lipschitz_constant(SSA<double>{1, 0.5})));
  CHECK(std::isnan(lipschitz_constant(SSMax<double>{nan}, 3)));
  CHECK(std::isnan(lipschitz_constant(ApproximateSoftmax<double>{0.5}, 0)));
}

TEST_CASE("NormSoftmax has no Lipschitz constant: it is steep in proportion to 1/sigma", "[scoring]") {
  const NormSoftmax<double> map{8};
  const auto steepness = [&](double size) { return norm(jvp_of(map, {size, 0, -size}, {1, -2, 1})); };
  CHECK(std::abs(steepness(1e-6) / steepness(1e-3) - 1000) < 1e-6);
}

}  // namespace incontext::testing
