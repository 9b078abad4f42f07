#include "incontext/numerics/solve.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "incontext/laws/detail/weight_search.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using numerics::ConvergenceError;
using numerics::root_between;

namespace {

using Real50 = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;

template <class T>
T off_root_two() {
  using std::abs;
  using std::sqrt;
  const T root = root_between<T>(
      "test", [](const T& x) { return T(x * x - T(2)); }, T(1), T(2));
  return abs(T(root / sqrt(T(2)) - T(1))) / std::numeric_limits<T>::epsilon();
}

}  // namespace

TEST_CASE("a root has the digits of its type", "[numerics]") {
  CHECK(off_root_two<float>() <= 4);
  CHECK(off_root_two<double>() <= 4);
  CHECK(off_root_two<Real50>() <= 4);
  // roots at an end, a root near 0, and one of a function that is known to 1e-8 only
  CHECK(root_between<double>(
            "test", [](double x) { return x; }, 0.0, 1.0) == 0);
  CHECK(root_between<double>(
            "test", [](double x) { return x - 1; }, 0.0, 1.0) == 1);
  const auto tiny = [](double x) { return x - 1e-300; };
  CHECK(std::abs(root_between<double>("test", tiny, 0.0, 1.0) / 1e-300 - 1) <= 1e-15);
  CHECK(std::abs(root_between<double>("test", tiny, -1.0, 1.0, {.scale = 1})) <= 1e-15);
  const auto noisy = [](double x) { return x - 0.3 + 1e-8 * std::sin(1e12 * x); };
  CHECK(std::abs(root_between<double>("test", noisy, 0.0, 1.0) - 0.3) <= 1e-8);
}

TEST_CASE("a root that is not there, or not reached, is an error with a name", "[numerics]") {
  const auto square = [](double x) { return x * x + 1; };
  CHECK(names(message_of([&] { root_between<double>("laws::example", square, -1.0, 1.0); }), "incontext::laws::example",
              "does not change its sign", "-1 and 1"));
  CHECK_THROWS_AS(root_between<double>(
                      "test", [](double) { return std::nan(""); }, 0.0, 1.0),
                  ConvergenceError);
  const auto step = [](double x) { return x < 0.3 ? -1.0 : 1.0; };
  CHECK_NOTHROW(root_between<double>("test", step, 0.0, 1.0));
  try {
    root_between<double>("test", step, 0.0, 1.0, {.most_steps = 20});
    CHECK(false);
  } catch (const ConvergenceError& error) {
    CHECK(error.low <= 0.3);
    CHECK(0.3 <= error.high);
    CHECK(error.high - error.low > 1e-15);
    CHECK(names(error.what(), "not found in the steps allowed"));
  }
}

TEST_CASE("the search for a weight finds 45 of 50 digits", "[numerics]") {
  using std::exp;
  using std::log;
  const Real50 n(1000), weight = Real50(1) / Real50(3);
  const Real50 found = laws::detail::exponent_of_weight<Real50>(
      "test", [&](const Real50& e) { return Real50(Real50(1) / (Real50(1) + n * exp(Real50(-e)))); }, Real50(log(n)),
      weight);
  const Real50 exact = log(Real50(n / Real50(2)));
  CHECK(static_cast<double>(abs(Real50(found / exact - Real50(1)))) <= 1e-45);
}

}  // namespace incontext::testing
