#include <cmath>
#include <limits>
#include <vector>

#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/jacobian_spectral_norm.hpp"
#include "incontext/scoring/normsoftmax_divisor.hpp"
#include "incontext/scoring/ssa_limits.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

// Rounding of spectral norms, SSA's limits, NormSoftmax' divisor and entmax' threshold, against the same templates at
// 50 digits.
namespace incontext::testing {

using namespace scoring;

namespace {

template <class T>
double eps() {
  return static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T>
double off(const T& value, const Real50& truth) {
  return std::abs(static_cast<double>(Real50(Real50(value) - truth)));
}

double size_of(const Real50& x) { return std::abs(static_cast<double>(x)); }

template <class T>
T norm_of(std::vector<T> entries, std::ptrdiff_t rows) {
  return spectral_norm(MatrixView<T>(entries.data(), rows, static_cast<std::ptrdiff_t>(entries.size()) / rows));
}

}  // namespace

TEMPLATE_TEST_CASE("spectral norms round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  Random random(241);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t rows = 1 + random.below(8), columns = 1 + random.below(8);
    auto entries = random.normals(rows * columns);
    if (trial % 3 == 0) {
      for (double& x : entries) x *= std::exp(8 * random.normal());
    }
    const auto a = converted<T>(entries);
    const Real50 truth = norm_of(converted<Real50>(a), static_cast<std::ptrdiff_t>(rows));
    const double bound = 8 * static_cast<double>(columns) * eps<T>() * size_of(truth);
    const T norm = norm_of(a, static_cast<std::ptrdiff_t>(rows));
    CHECK(off(norm, truth) <= bound);
    CHECK_FALSE(off(norm, Real50(truth * (1 + 20 * static_cast<double>(columns) * eps<T>()))) <= bound);
  }
}

TEMPLATE_TEST_CASE("SSA's limits round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  using std::log;
  Random random(242);
  for (int trial = 0; trial < 60; ++trial) {
    auto z = converted<T>(random.normals(1 + random.below(12), 3));
    if (trial % 2 == 0) {
      for (T& x : z) x = x < 0 ? x : T(-x);
    }
    const T k = T(1 + 6 * random.uniform());
    std::vector<T> out(z.size()), change(z.size());
    std::vector<Real50> truth(z.size()), exact_change(z.size()), p(z.size());
    const auto exact = converted<Real50>(z);
    ssa_scale_limit(SSA<T>{T(1), k}, z, out);
    ssa_scale_limit(SSA<Real50>{Real50(1), Real50(k)}, exact, truth);
    ssa_softmax_correction(k, z, change);
    ssa_softmax_correction(Real50(k), exact, exact_change);
    weights(Softmax<Real50>{Real50(1)}, exact, p);
    Real50 lowest = p[0], highest = p[0];
    double mean = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
      if (p[i] < lowest) lowest = p[i];
      if (highest < p[i]) highest = p[i];
      mean += size_of(p[i] * exact[i] * exact[i] / (2 * Real50(k)));
    }
    const double gap = static_cast<double>(Real50(log(Real50(highest / lowest))));
    for (std::size_t i = 0; i < z.size(); ++i) {
      CHECK(off(out[i], truth[i]) <= 4 * eps<T>() * (1 + static_cast<double>(k)) * size_of(truth[i]));
      const double sum = size_of(p[i]) * (size_of(exact[i] * exact[i] / (2 * Real50(k))) + mean);
      CHECK(off(change[i], exact_change[i]) <= 8 * eps<T>() * (1 + gap) * sum);
    }
  }
  const std::vector<T> z{T(1), T(2)};
  std::vector<Real50> truth(2), other(2);
  ssa_scale_limit(SSA<Real50>{Real50(1), Real50(2)}, converted<Real50>(z), truth);
  ssa_scale_limit(SSA<Real50>{Real50(1), Real50(2 + 100 * eps<T>())}, converted<Real50>(z), other);
  CHECK_FALSE(off(other[0], truth[0]) <= 12 * eps<T>() * size_of(truth[0]));
}

TEMPLATE_TEST_CASE("NormSoftmax' divisor and largest weight round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  Random random(243);
  for (const ScoreScale scale :
       {ScoreScale::population_stddev, ScoreScale::sample_stddev, ScoreScale::population_variance}) {
    for (int trial = 0; trial < 40; ++trial) {
      auto z = converted<T>(random.normals(2 + random.below(20), trial % 2 == 0 ? 1 : 1e-3));
      if (trial % 3 == 0) {
        for (T& x : z) x += T(50);
      }
      const auto divisor = normsoftmax_divisor(NormSoftmax<T>{T(8), scale}, z);
      const auto exact = normsoftmax_divisor(NormSoftmax<Real50>{Real50(8), scale}, converted<Real50>(z));
      if (!(exact.scale > 0)) continue;
      CHECK(off(divisor.scale, exact.scale) <= 8 * eps<T>() * size_of(exact.scale));
      CHECK(divisor.branch == exact.branch);
      const Real50 other = exact.scale * (1 + 20 * eps<T>());
      CHECK_FALSE(off(divisor.scale, other) <= 8 * eps<T>() * size_of(other));
    }
    for (const std::ptrdiff_t n : {2, 3, 7, 64, 1000, 1000000}) {
      const Real50 truth = normsoftmax_largest_weight<Real50>(n, scale);
      CHECK(off(normsoftmax_largest_weight<T>(n, scale), truth) <= 8 * eps<T>() * size_of(truth));
    }
  }
}

TEMPLATE_TEST_CASE("entmax' threshold rounds as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  Random random(244);
  for (const double alpha : {1.03125, 1.125, 1.5, 2.0, 3.0, 10.0}) {
    for (int trial = 0; trial < 40; ++trial) {
      const auto z = converted<T>(random.normals(1 + random.below(20), 2));
      const Real50 truth = entmax_support(Entmax<Real50>{Real50(alpha)}, view(converted<Real50>(z))).threshold;
      T largest = z[0];
      for (const T& x : z) largest = largest < x ? x : largest;
      const double bound = 8 * eps<T>() * (1 + (alpha - 1) * std::abs(static_cast<double>(largest)));
      const T threshold = entmax_support(Entmax<T>{T(alpha)}, view(z)).threshold;
      CHECK(off(threshold, truth) <= bound);
      CHECK_FALSE(off(threshold, Real50(truth + 3 * bound)) <= bound);
    }
  }
}

}  // namespace incontext::testing
