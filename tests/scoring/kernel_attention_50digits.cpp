#include <string>
#include <vector>

#include "incontext/scoring/kernel_attention.hpp"
#include "scoring/kernels.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

// Derivatives of kernel attention by query, keys and kernel parameters, against central differences at 50 digits.
namespace incontext::testing {
namespace {

using namespace scoring;

using Vector50 = std::vector<Real50>;

const Real50 step("1e-16");

Vector50 difference(const Vector50& above, const Vector50& below) {
  Vector50 slope;
  for (std::size_t i = 0; i < above.size(); ++i) slope.push_back((above[i] - below[i]) / (2 * step));
  return slope;
}

void check(const std::string& what, const Vector50& derivative, const Vector50& expected) {
  INFO(what);
  const auto same = [&](const Vector50& a) { return distance(a, expected) <= Real50("1e-25") * (1 + largest_size(a)); };
  CHECK(same(derivative));
  Vector50 wrong = derivative;
  wrong.back() += Real50("1e-20") * (1 + largest_size(derivative));
  CHECK_FALSE(same(wrong));
}

template <class K>
Vector50 weights_at(const KernelAttention<K>& map, const Vectors<Real50>& point) {
  Vector50 out(static_cast<std::size_t>(point.keys.rows));
  weights(map, point.query, point.keys, out, 2);
  return out;
}

}  // namespace

TEST_CASE("derivatives of kernel attention are those of its weights", "[scoring]") {
  Random random(71);
  Vectors<Real50> point(random, 5, 3, 1), direction(random, 5, 3, 1);
  point.query_data[0] = Real50("0.75");  // rectified kernels need a positive component
  const Vector50 g = converted<Real50>(random.normals(5));
  for_each_kernel_attention<Real50>([&](auto map, const std::string& name) {
    Vector50 change(5);
    jvp(map, point.query, point.keys, direction.query, direction.keys, change, 2);
    check(name + ": jvp", change,
          difference(weights_at(map, point.moved(direction, step)), weights_at(map, point.moved(direction, -step))));
    Vector50 query_pull(3), key_pull(15);
    vjp(map, point.query, point.keys, g, query_pull, MatrixView<Real50>(key_pull.data(), 5, 3), 2);
    check(name + ": vjp", {product(query_pull, direction.query_data) + product(key_pull, direction.key_data)},
          {product(g, change)});
  });
}

TEST_CASE("derivatives of kernel attention by the kernel's parameters are those of its weights", "[scoring]") {
  Random random(72);
  const Vectors<Real50> point(random, 5, 3, 1);
  const auto check_parameter = [&](auto map, auto name, const std::string& text) {
    Vector50 rate(5);
    derivative(map, name, point.query, point.keys, rate);
    auto above = map, below = map;
    name.of(above.kernel) += step;
    name.of(below.kernel) -= step;
    check(text, rate, difference(weights_at(above, point), weights_at(below, point)));
  };
  using enum KernelNormalization;
  for (const auto n : {none, context_length, sum}) {
    check_parameter(KernelAttention<DotKernel<Real50>>{{2}, n}, parameter::Temperature{}, "dot: temperature");
    check_parameter(KernelAttention<ExponentialKernel<Real50>>{{2}, n}, parameter::Temperature{}, "exp: temperature");
    check_parameter(KernelAttention<GaussianKernel<Real50>>{{2}, n}, parameter::Bandwidth{}, "Gaussian: bandwidth");
    check_parameter(KernelAttention<PolynomialKernel<Real50>>{{3, 1, 2}, n}, parameter::Scale{}, "polynomial: scale");
    check_parameter(KernelAttention<PolynomialKernel<Real50>>{{1, 1, 2}, n}, parameter::Offset{}, "polynomial: offset");
  }
}

}  // namespace incontext::testing
