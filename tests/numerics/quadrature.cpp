#include "incontext/numerics/quadrature.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace numerics;

TEMPLATE_TEST_CASE("integrals of bumps are known, and the estimate is no less than the error", "[numerics]", float,
                   double, long double) {
  using T = TestType;
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const double width : {0.01, 0.03, 0.05}) {
    // a normal density and a Gumbel density, both 1 in total
    const auto normal = integrate_bump<T>("normal", [&](T u) {
      const T g = (u - T(0.5)) / T(width);
      return T(std::exp(-g * g / 2) / (T(width) * std::sqrt(T(6.283185307179586476925L))));
    });
    const T end = std::log(T(2 / width));
    const auto gumbel = integrate_bump<T>("gumbel", [&](T u) {
      const T y = T(-50) + (T(50) + end) * u;
      return T((T(50) + end) * std::exp(y - std::exp(y)));
    });
    for (const auto& result : {normal, gumbel}) {
      const double error = std::abs(static_cast<double>(result.value) - 1);
      CHECK(error <= static_cast<double>(result.error_estimate) + 16 * eps);
      CHECK(error <= 64 * eps);
      CHECK(result.error_estimate <= quadrature_tolerance<T>());
    }
  }
}

TEST_CASE("an even function is called on one half alone, and has the same integral", "[numerics]") {
  int calls = 0;
  const auto bump = [&](double u) {
    ++calls;
    const double g = (u - 0.5) / 0.05;
    return std::array<double, 2>{std::exp(-g * g / 2), (g * g - 1) * std::exp(-g * g / 2)};
  };
  using Values = std::array<double, 2>;
  const auto whole = integrate_bumps("whole", bump, Values{}, 1e-10);
  const int all = std::exchange(calls, 0);
  const auto half = integrate_bumps("half", bump, Values{}, 1e-10, Symmetry::even);
  CHECK(calls == (all + 1) / 2);
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    CHECK(std::abs(half.value[k] - whole.value[k]) <= 1e-15);
    CHECK(std::abs(half.size[k] - whole.size[k]) <= 1e-15);
  }
}

TEST_CASE("an integral is refused as soon as its estimate is above the tolerance", "[numerics]") {
  const auto bump = [](double u) { return std::exp(-(u - 0.5) * (u - 0.5) / (2 * 0.03 * 0.03)); };
  double achieved = 0;
  try {
    integrate_bump<double>("bump", bump, 1e-12, 6);
  } catch (const QuadratureError& error) {
    achieved = error.achieved;
  }
  // the change by the last halving, over the integral
  CHECK(achieved > 1e-12);
  CHECK(achieved < 1e-1);
  CHECK_THROWS_AS(integrate_bump<double>("bump", bump, 0.999 * achieved, 6), QuadratureError);
  const auto accepted = integrate_bump<double>("bump", bump, 1.001 * achieved, 6);
  CHECK(std::abs(accepted.error_estimate / accepted.value / achieved - 1) < 1e-9);
  CHECK_NOTHROW(integrate_bump<double>("bump", bump, 0.999 * achieved, 7));
}

TEST_CASE("an integral that does not converge says what was reached", "[numerics]") {
  const auto step = [](double u) { return u < 1 / 3.0 ? 1.0 : 0.0; };
  CHECK_THROWS_AS(integrate_bump<double>("step", step), QuadratureError);
  CHECK(names(message_of([&] { integrate_bump<double>("laws::step", step); }), "incontext::laws::step",
              "does not converge", "estimated relative error", "needs"));
  try {
    integrate_bump<double>("step", step, 1e-10, 8);
    CHECK(false);
  } catch (const QuadratureError& error) {
    CHECK(error.achieved > 1e-10);
    CHECK(error.achieved < 0.1);
  }
  CHECK_THROWS_AS(integrate_bump<double>("nan", [](double) { return std::nan(""); }), QuadratureError);
  CHECK(integrate_bump<double>("zero", [](double) { return 0.0; }).value == 0);
}

}  // namespace incontext::testing
