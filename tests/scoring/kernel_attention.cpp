#include "incontext/scoring/kernel_attention.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/softmax.hpp"
#include "scoring/kernels.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

std::vector<double> values_over_sum(const Vectors<double>& data, const auto& kernel_value) {
  std::vector<double> a;
  for (std::ptrdiff_t j = 0; j < data.keys.rows; ++j) a.push_back(kernel_value(data.query, data.keys.row(j), j));
  const double sum = total(a);
  for (double& x : a) x /= sum;
  return a;
}

double dot(Row<const double> q, Row<const double> k) {
  double sum = 0;
  for (std::ptrdiff_t c = 0; c < q.size; ++c) sum += q[c] * k[c];
  return sum;
}

template <class K>
std::vector<double> weights_at(const KernelAttention<K>& map, const Vectors<double>& point) {
  std::vector<double> out(static_cast<std::size_t>(point.keys.rows));
  weights(map, point.query, point.keys, out, 2);
  return out;
}

/// Whether a derivative is the central difference of the weights; the difference's own error is below 1e-8.
bool is_difference(std::vector<double> derivative, const std::vector<double>& above, const std::vector<double>& below,
                   double step) {
  for (std::size_t i = 0; i < derivative.size(); ++i) derivative[i] -= (above[i] - below[i]) / (2 * step);
  return largest_size(derivative) <= 1e-7 * (1 + largest_size(above));
}

}  // namespace

TEST_CASE("exponential and Gaussian kernels over their sum are softmax, near and far", "[scoring]") {
  Random random(61);
  for (const double size : {0.5, 30.0}) {
    const Vectors<double> data(random, 7, 3, size);
    std::vector<double> a(7), scores(7), shifted(7);
    for (std::ptrdiff_t j = 0; j < 7; ++j) {
      scores[static_cast<std::size_t>(j)] = dot(data.query, data.keys.row(j));
      shifted[static_cast<std::size_t>(j)] =
          (dot(data.query, data.keys.row(j)) - dot(data.keys.row(j), data.keys.row(j)) / 2) / 4;
    }
    weights(KernelAttention<ExponentialKernel<double>>{{1.5}}, data.query, data.keys, a);
    std::vector<double> expected(7);
    weights(Softmax<double>{1.5}, scores, expected);
    CHECK(distance(a, expected) < 1e-12);
    weights(KernelAttention<GaussianKernel<double>>{{2}}, data.query, data.keys, a);
    weights(Softmax<double>{}, shifted, expected);
    CHECK(distance(a, expected) < 1e-11);
    std::vector<double> log_row(7);
    log_weights(KernelAttention<GaussianKernel<double>>{{2}}, data.query, data.keys, log_row);
    log_weights(Softmax<double>{}, shifted, expected);
    CHECK(distance(log_row, expected) < 1e-10);
  }
}

TEST_CASE("polynomial, elu and cosFormer kernels are their definitions", "[scoring]") {
  Random random(62);
  const Vectors<double> data(random, 6, 4, 1);
  std::vector<double> a(6);
  weights(KernelAttention<PolynomialKernel<double>>{{4, 0.5, 1.5}}, data.query, data.keys, a);
  CHECK(distance(a, values_over_sum(data, [](auto q, auto k, auto) { return std::pow(0.5 * dot(q, k) + 1.5, 4); })) <
        1e-14);
  weights(KernelAttention<EluKernel<double>>{}, data.query, data.keys, a);
  const auto feature = [](double x) { return x > 0 ? x + 1 : std::exp(x); };
  CHECK(distance(a, values_over_sum(data, [&](auto q, auto k, auto) {
                   double sum = 0;
                   for (std::ptrdiff_t c = 0; c < 4; ++c) sum += feature(q[c]) * feature(k[c]);
                   return sum;
                 })) < 1e-14);
  weights(cosformer(6.0), data.query, data.keys, a, 2);
  CHECK(distance(a, values_over_sum(data, [&](auto q, auto k, std::ptrdiff_t j) {
                   double sum = 0;
                   for (std::ptrdiff_t c = 0; c < 4; ++c) sum += std::max(q[c], 0.0) * std::max(k[c], 0.0);
                   return sum * std::cos(std::acos(-1.0) * static_cast<double>(2 - j) / 12);
                 })) < 1e-14);
}

TEST_CASE("a cosFormer query without a positive component attends to nothing", "[scoring]") {
  const std::vector<double> q{-1, -2}, k{1, 2, 3, 4};
  std::vector<double> a(2, nan), query_out(2), keys_out(4);
  weights(cosformer(2.0), q, MatrixView<const double>(k.data(), 2, 2), a);
  CHECK(a == std::vector<double>{0, 0});
  vjp(cosformer(2.0), q, MatrixView<const double>(k.data(), 2, 2), std::vector<double>{1, 1}, query_out,
      MatrixView<double>(keys_out.data(), 2, 2));
  CHECK(query_out == std::vector<double>{0, 0});
}

TEST_CASE("what kernel attention cannot normalize is NaN", "[scoring]") {
  const std::vector<double> q{1, 0}, k{1, 5, -1, 7};
  const MatrixView<const double> keys(k.data(), 2, 2);
  std::vector<double> a(2), query_out(2), keys_out(4);
  const auto refused = [&](const auto& map) {
    weights(map, q, keys, a);
    CHECK(all_nan(a));
    jvp(map, q, keys, q, keys, a);
    CHECK(all_nan(a));
    vjp(map, q, keys, std::vector<double>{1, 2}, query_out, MatrixView<double>(keys_out.data(), 2, 2));
    CHECK(all_nan(query_out));
    CHECK(all_nan(keys_out));
  };
  refused(KernelAttention<DotKernel<double>>{{1}});  // 1 - 1
  refused(KernelAttention<DotKernel<double>>{{0}, KernelNormalization::none});
  refused(KernelAttention<ExponentialKernel<double>>{{-1}});
  refused(KernelAttention<GaussianKernel<double>>{{0}});
  refused(KernelAttention<PolynomialKernel<double>>{{0, 1, 1}});
  refused(cosformer(0.0));
  log_weights(KernelAttention<GaussianKernel<double>>{{1}, KernelNormalization::none}, q, keys, a);
  CHECK(all_nan(a));
  std::vector<double> none;
  weights(KernelAttention<GaussianKernel<double>>{}, q, MatrixView<const double>(nullptr, 0, 2), none);
  const std::vector<double> bad{1, nan, -1, 7};
  weights(KernelAttention<GaussianKernel<double>>{}, q, MatrixView<const double>(bad.data(), 2, 2), a);
  CHECK(all_nan(a));
}

TEST_CASE("derivatives of kernel attention are the differences of its weights, and the adjoint is the transpose",
          "[scoring]") {
  constexpr double step = 0x1p-17;
  Random random(64);
  Vectors<double> point(random, 5, 3, 1);
  const Vectors<double> direction(random, 5, 3, 1);
  point.query_data[0] = 0.75;  // rectified kernels need a positive component
  const std::vector<double> g = random.normals(5);
  for_each_kernel_attention<double>([&](auto map, const std::string& name) {
    INFO(name << ", normalizer " << static_cast<int>(map.normalization));
    const auto above = weights_at(map, point.moved(direction, step));
    const auto below = weights_at(map, point.moved(direction, -step));
    std::vector<double> change(5), query_pull(3), key_pull(15);
    jvp(map, point.query, point.keys, direction.query, direction.keys, change, 2);
    CHECK(is_difference(change, above, below, step));
    vjp(map, point.query, point.keys, g, query_pull, MatrixView<double>(key_pull.data(), 5, 3), 2);
    const double pulled = product(query_pull, direction.query_data) + product(key_pull, direction.key_data);
    const double size = largest_size(change) + std::abs(pulled);
    CHECK(std::abs(pulled - product(g, change)) <= 1e-13 * size);
    CHECK(std::abs(pulled - product(g, change) * (1 + 1e-9)) > 1e-13 * std::abs(pulled));
    change[4] += 1e-5 * (1 + largest_size(above));
    CHECK_FALSE(is_difference(change, above, below, step));
  });
}

TEST_CASE("derivatives of kernel attention by the kernel's parameters are the differences of its weights",
          "[scoring]") {
  constexpr double step = 0x1p-17;
  Random random(65);
  const Vectors<double> point(random, 5, 3, 1);
  const auto check = [&](auto map, auto name) {
    INFO("normalizer " << static_cast<int>(map.normalization));
    std::vector<double> rate(5);
    derivative(map, name, point.query, point.keys, rate);
    auto above = map, below = map;
    name.of(above.kernel) += step;
    name.of(below.kernel) -= step;
    CHECK(is_difference(rate, weights_at(above, point), weights_at(below, point), step));
    rate[4] += 1e-5 * (1 + largest_size(rate));
    CHECK_FALSE(is_difference(rate, weights_at(above, point), weights_at(below, point), step));
  };
  using enum KernelNormalization;
  for (const auto n : {none, context_length, sum}) {
    check(KernelAttention<DotKernel<double>>{{2}, n}, parameter::Temperature{});
    check(KernelAttention<ExponentialKernel<double>>{{2}, n}, parameter::Temperature{});
    check(KernelAttention<GaussianKernel<double>>{{2}, n}, parameter::Bandwidth{});
    check(KernelAttention<PolynomialKernel<double>>{{3, 1, 2}, n}, parameter::Scale{});
    check(KernelAttention<PolynomialKernel<double>>{{3, 1, 2}, n}, parameter::Offset{});
  }
}

TEST_CASE("a sum of kernel values below the floor does not move the normalizer, one at the floor does", "[scoring]") {
  // kernel values q.k / 2 = 1/2 and 1, so their sum is 3/2; the direction changes them by 3/2 and 2
  const std::vector<double> q{1, 2}, k{1, 0, 0, 1}, dq{1, 1}, dk{1, 0.5, 0, 1}, g{3, -1};
  const MatrixView<const double> keys(k.data(), 2, 2), key_direction(dk.data(), 2, 2);
  using Vector = std::vector<double>;
  Vector a(2), change(2), rate(2), query_pull(2), key_pull(4);
  const auto evaluate = [&](double floor) {
    const KernelAttention<DotKernel<double>> map{{2}, KernelNormalization::sum, floor};
    weights(map, q, keys, a);
    jvp(map, q, keys, dq, key_direction, change);
    vjp(map, q, keys, g, query_pull, MatrixView<double>(key_pull.data(), 2, 2));
    derivative(map, parameter::Temperature{}, q, keys, rate);
  };
  evaluate(4);
  CHECK(a == Vector{0.125, 0.25});
  CHECK(change == Vector{0.375, 0.375});
  CHECK(query_pull == Vector{0.375, -0.125});
  CHECK(key_pull == Vector{0.375, 0.75, -0.125, -0.25});
  CHECK(rate == Vector{-0.0625, -0.125});
  for (const double floor : {1.5, 1.25, 0.0}) {
    evaluate(floor);
    CHECK(distance(a, {1.0 / 3, 2.0 / 3}) < 1e-15);
    CHECK(distance(change, {1.0 / 3, -1.0 / 3}) < 1e-15);
    CHECK(distance(query_pull, {8.0 / 9, -4.0 / 9}) < 1e-15);
    CHECK(distance(key_pull, {8.0 / 9, 16.0 / 9, -4.0 / 9, -8.0 / 9}) < 1e-15);
    CHECK(distance(rate, {0, 0}) < 1e-15);
  }
}

TEST_CASE("kernel concepts hold for the kernels and refuse others", "[scoring]") {
  STATIC_REQUIRE(Kernel<DotKernel<double>>);
  STATIC_REQUIRE(Kernel<GaussianKernel<float>>);
  STATIC_REQUIRE(Kernel<EluKernel<Real50>>);
  STATIC_REQUIRE(PositionalKernel<CosformerKernel<double>>);
  STATIC_REQUIRE_FALSE(Kernel<CosformerKernel<double>>);
  STATIC_REQUIRE_FALSE(Kernel<Softmax<double>>);
  STATIC_REQUIRE(FeatureKernel<CosformerKernel<double>>);
  STATIC_REQUIRE(FeatureKernel<EluKernel<double>>);
  STATIC_REQUIRE(FeatureKernel<DotKernel<double>>);
  STATIC_REQUIRE_FALSE(FeatureKernel<GaussianKernel<double>>);
  STATIC_REQUIRE(std::is_trivially_copyable_v<KernelAttention<CosformerKernel<double>>>);
  STATIC_REQUIRE(std::is_aggregate_v<PolynomialKernel<float>>);
}

TEST_CASE("kernel weights round as stated", "[scoring][accuracy]") {
  Random random(63);
  for (int trial = 0; trial < 30; ++trial) {
    const std::ptrdiff_t d = 1 + static_cast<std::ptrdiff_t>(random.below(6));
    const Vectors<double> data(random, 5, d, trial % 2 == 0 ? 1 : 4);
    const Vectors<Real50> exact(data);
    const auto check = [&](const auto& map, const auto& map50) {
      std::vector<double> a(5);
      std::vector<Real50> truth(5);
      weights(map, data.query, data.keys, a);
      weights(map50, exact.query, exact.keys, truth);
      double range = 0;
      for (const Real50& x : truth) range = std::max(range, std::abs(std::log(static_cast<double>(x) + 1e-300)));
      for (std::size_t j = 0; j < 5; ++j) {
        const double error = std::abs(static_cast<double>(Real50(a[j]) - truth[j]));
        const double bound = (16 + 4 * static_cast<double>(d)) * (1 + range) * 2.3e-16 * static_cast<double>(truth[j]);
        CHECK(error <= bound + 1e-300);
        CHECK_FALSE(std::abs(static_cast<double>(Real50(a[j] * (1 + 1e-9)) - truth[j])) <= bound * 1e-3);
      }
    };
    check(KernelAttention<GaussianKernel<double>>{{2}}, KernelAttention<GaussianKernel<Real50>>{{2}});
    check(KernelAttention<EluKernel<double>>{}, KernelAttention<EluKernel<Real50>>{});
    check(KernelAttention<PolynomialKernel<double>>{{2, 1, 1}}, KernelAttention<PolynomialKernel<Real50>>{{2, 1, 1}});
  }
}

}  // namespace incontext::testing
