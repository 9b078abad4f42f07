#include <cstddef>
#include <string>
#include <vector>

#include "incontext/scoring/approximate_softmax_error.hpp"
#include "incontext/scoring/approximate_softmax_error_bounds.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/feature_attention.hpp"
#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/jacobian_norms.hpp"
#include "incontext/scoring/jacobian_spectral_norm.hpp"
#include "incontext/scoring/kernel_attention.hpp"
#include "incontext/scoring/normsoftmax_divisor.hpp"
#include "incontext/scoring/ssa_limits.hpp"
#include "incontext/scoring/summary.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/archetype_scalar.hpp"
#include "support/catch.hpp"

// Every map and function of scoring/ accepts a scalar with the operations that Real requires and no others, and returns
// the numbers of double except for the last digits, because the scalar has no log1p, expm1 and pow.
namespace scalar_archetype_test {

using namespace incontext::scoring;
using archetype::Scalar;
using incontext::testing::Facts;

double as_double(double x) { return x; }

template <class T>
std::vector<T> row_of(const std::vector<double>& numbers) {
  std::vector<T> row;
  for (const double x : numbers) row.push_back(T(x));
  return row;
}

struct Result {
  std::string name;
  std::vector<double> numbers;
};

template <class T>
class Results {
 public:
  void add(const std::string& name, const std::vector<T>& row) {
    all.push_back({name, {}});
    for (const T& x : row) all.back().numbers.push_back(as_double(x));
  }
  std::vector<Result> all;
};

template <class T>
std::vector<Result> of_every_map() {
  Results<T> results;
  const std::vector<T> z = row_of<T>({0.5, -1, 2, 0.25}), u = row_of<T>({1, -2, 0, 0.5});
  const std::vector<T> nothing(4, T(0));
  incontext::testing::for_each_map<T>([&](const auto& map, const Facts& facts) {
    using Map = std::remove_cvref_t<decltype(map)>;
    std::vector<T> out = nothing, square(16, T(0));
    weights(map, Row<const T>(z), Row<T>(out));
    results.add(facts.name + " weights", out);
    if constexpr (LogScoring<Map>) {
      log_weights(map, Row<const T>(z), Row<T>(out));
      results.add(facts.name + " log weights", out);
    }
    jvp(map, Row<const T>(z), Row<const T>(u), Row<T>(out));
    results.add(facts.name + " jvp", out);
    vjp(map, Row<const T>(z), Row<const T>(u), Row<T>(out));
    results.add(facts.name + " vjp", out);
    incontext::testing::for_each_parameter<Map>([&](auto parameter, const char* name) {
      derivative(map, parameter, Row<const T>(z), Row<T>(out));
      results.add(facts.name + " by " + name, out);
    });
    results.add(facts.name + " spectral norm",
                {jacobian_spectral_norm(map, Row<const T>(z), MatrixView<T>(square.data(), 4, 4))});
    weights_by_row(map, MatrixView<const T>(z.data(), 2, 2), MatrixView<T>(out.data(), 2, 2), Visibility::causal);
    results.add(facts.name + " by row", out);
    if constexpr (SoftmaxLike<Map>) {
      second_derivative(map, Row<const T>(z), Row<const T>(u), Row<const T>(u), Row<T>(out));
      results.add(facts.name + " second derivative", out);
      const auto row = summary(map, Row<const T>(z));
      results.add(facts.name + " summary", {row.log_sum_exp, row.entropy, row.ipr, row.complement_of_largest});
    }
  });
  return results.all;
}

template <class T>
std::vector<Result> of_kernels() {
  Results<T> results;
  const std::vector<T> q = row_of<T>({0.5, -1}), k = row_of<T>({1, 0.25, -0.5, 2, 0.75, 1}), v = row_of<T>({1, 2, 3});
  const Row<const T> query(q);
  const MatrixView<const T> keys(k.data(), 3, 2);
  const auto add = [&](const std::string& name, const auto& map) {
    std::vector<T> out(3, T(0)), by_query(2, T(0)), by_keys(6, T(0));
    weights(map, query, keys, Row<T>(out));
    results.add(name + " weights", out);
    jvp(map, query, keys, query, keys, Row<T>(out));
    results.add(name + " jvp", out);
    vjp(map, query, keys, Row<const T>(v), Row<T>(by_query), MatrixView<T>(by_keys.data(), 3, 2));
    results.add(name + " vjp by query", by_query);
    results.add(name + " vjp by keys", by_keys);
  };
  add("dot kernel", KernelAttention<DotKernel<T>>{{T(2)}});
  add("exponential kernel", KernelAttention<ExponentialKernel<T>>{{T(2)}});
  add("Gaussian kernel", KernelAttention<GaussianKernel<T>>{{T(2)}});
  add("polynomial kernel", KernelAttention<PolynomialKernel<T>>{});
  add("elu kernel", KernelAttention<EluKernel<T>>{});
  add("cosformer", cosformer(T(8)));
  return results.all;
}

template <class T>
std::vector<Result> of_functions() {
  Results<T> results;
  const std::vector<T> p = row_of<T>({0.5, 0.25, 0.125, 0.125});
  const auto norms = jacobian_norms(Row<const T>(p));
  results.add("norms", {norms.trace, norms.frobenius, norms.row_sum, norms.spectral_lower, norms.spectral_upper});
  results.add("Lipschitz constants", {lipschitz_constant(Softmax<T>{T(2)}), lipschitz_constant(SSMax<T>{T(2)}, 5),
                                      lipschitz_constant(SSA<T>{}), lipschitz_constant(ApproximateSoftmax<T>{}, 3),
                                      lipschitz_constant(Sparsemax<T>{})});
  const HeatSchedule<T> schedule{T(0.5), T(8), 10};
  results.add("heat schedule", {schedule.temperature(0), schedule.temperature(4), schedule.inverse_temperature(9)});
  return results.all;
}

void compare(const std::vector<Result>& found, const std::vector<Result>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(expected[i].name);
    REQUIRE(found[i].numbers.size() == expected[i].numbers.size());
    for (std::size_t j = 0; j < found[i].numbers.size(); ++j) {
      const double a = found[i].numbers[j], b = expected[i].numbers[j];
      if (a == b) continue;  // also where both are infinite
      INFO("entry " << j);
      CHECK(std::isnan(a) == std::isnan(b));
      if (!std::isnan(b)) CHECK(std::abs(a - b) <= 1e-13 * (1 + std::abs(b)));
    }
  }
}

TEST_CASE("every map accepts a scalar with the operations that Real requires and no others", "[scoring]") {
  compare(of_every_map<Scalar>(), of_every_map<double>());
}

TEST_CASE("every kernel accepts a scalar with the operations that Real requires and no others", "[scoring]") {
  compare(of_kernels<Scalar>(), of_kernels<double>());
}

TEST_CASE("functions of a row and schedules accept a scalar with the operations that Real requires and no others",
          "[scoring]") {
  compare(of_functions<Scalar>(), of_functions<double>());
}

}  // namespace scalar_archetype_test
