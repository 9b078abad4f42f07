#include "incontext/core/math.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include "support/archetype_scalar.hpp"
#include "support/catch.hpp"

namespace math_test {

using namespace incontext;
using archetype::Scalar;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double infinite = std::numeric_limits<double>::infinity();

using Function = std::function<double(double)>;
using Truth = std::function<long double(long double)>;

/// The largest relative error of f on a grid from low to high, in eps; NaN counts as infinite.
double worst_error(const Function& f, const Truth& truth, double low, double high) {
  double worst = 0;
  for (int i = 0; i <= 5000; ++i) {
    const double x = low + (high - low) * i / 5000;
    const long double expected = truth(x);
    if (static_cast<long double>(f(x)) == expected) continue;
    const double error = static_cast<double>(std::abs(f(x) / expected - 1)) / eps;
    if (!(error <= worst)) worst = error <= infinite ? error : infinite;
  }
  return worst;
}

/// sum over k >= first of sign(k) x^k / divisor(k), which converges fast for |x| <= 1/8.
long double series(long double x, int first, const std::function<long double(int)>& coefficient) {
  long double sum = 0, power = 1;
  for (int k = 1; k < first; ++k) power *= x;
  for (int k = first; k < first + 40; ++k) sum += (power *= x) * coefficient(k);
  return sum;
}

long double factorial(int k) { return std::tgamma(static_cast<long double>(k) + 1); }

Truth near_and_far(int first, const std::function<long double(int)>& coefficient, const Truth& far) {
  return [=](long double x) { return std::abs(x) < 0.125L ? series(x, first, coefficient) : far(x); };
}

const Truth exp_minus_one_minus = near_and_far(
    2, [](int k) { return 1 / factorial(k); }, [](long double x) { return std::expm1(x) - x; });
const Truth minus_log_one_plus = near_and_far(
    2, [](int k) { return (k % 2 == 0 ? 1.0L : -1.0L) / static_cast<long double>(k); },
    [](long double x) { return x - std::log1p(x); });
const Truth relative_entropy_term = near_and_far(
    2, [](int k) { return (k % 2 == 0 ? 1.0L : -1.0L) / static_cast<long double>(k * (k - 1)); },
    [](long double x) { return (1 + x) * std::log1p(x) - x; });

}  // namespace

TEST_CASE("differences of elementary functions keep their digits where the terms cancel", "[core]") {
  for (const double high : {1e-150, 1e-9, 1e-3, 0.7, 3.0, 200.0}) {
    INFO("up to " << high);
    const double low = high < 1 ? -high : -0.999;
    CHECK(worst_error([](double x) { return math::exp_minus_one_minus(x); }, exp_minus_one_minus, low, high) <= 8);
    CHECK(worst_error([](double x) { return math::minus_log_one_plus(x); }, minus_log_one_plus, low, high) <= 8);
    CHECK(worst_error([](double x) { return math::relative_entropy_term(x); }, relative_entropy_term, low, high) <= 16);
  }
  CHECK(worst_error([](double x) { return std::exp(x) - 1 - x; }, exp_minus_one_minus, -1e-3, 1e-3) > 1e3);
}

TEST_CASE("a scalar without log1p, expm1 and pow has them to a few roundings", "[core]") {
  const Function log_one_plus = [](double x) { return as_double(math::log_one_plus(Scalar(x))); };
  const Function exp_minus_one = [](double x) { return as_double(math::exp_minus_one(Scalar(x))); };
  for (const double high : {1e-300, 1e-9, 1e-3, 0.7, 3.0, 200.0}) {
    INFO("up to " << high);
    const double low = high < 1 ? -high : -0.999;
    CHECK(worst_error(
              log_one_plus, [](long double x) { return std::log1p(x); }, low, high) <= 4);
    CHECK(worst_error(
              exp_minus_one, [](long double x) { return std::expm1(x); }, low, high) <= 8);
  }
  for (const double x : {1e-3, 0.3, 1.0, 7.0, 1e6}) {
    for (const double y : {-3.0, 0.5, 12.0}) {
      INFO(x << "^" << y);
      const double bound = 4 * eps * (1 + std::abs(y * std::log(x)));
      CHECK(std::abs(as_double(math::power(Scalar(x), Scalar(y))) / std::pow(x, y) - 1) <= bound);
    }
  }
  CHECK(math::log_one_plus(-1.0) == -infinite);
  CHECK(std::isnan(log_one_plus(-2)));
  CHECK(log_one_plus(infinite) == infinite);
  CHECK(exp_minus_one(-infinite) == -1);
}

TEST_CASE("the normal tail is one half at 0, has a complement, and keeps its digits far out", "[core]") {
  CHECK(math::normal_tail(0.0) == 0.5);
  CHECK(math::normal_tail(infinite) == 0);
  CHECK(math::normal_tail(-infinite) == 1);
  CHECK(std::isnan(math::normal_tail(std::nan(""))));
  for (double x = -37; x < 37; x += 0.0625) {
    INFO("x " << x);
    // by Mills' ratio as a continued fraction from 2 on, else by the series of Phi about 0
    long double expected;
    const long double density = std::exp(-static_cast<long double>(x) * x / 2) / std::sqrt(2 * std::acos(-1.0L));
    if (std::abs(x) < 3) {
      long double term = x, sum = x;
      for (int k = 1; k < 200; ++k) sum += (term *= static_cast<long double>(x) * x / (2 * k + 1));
      expected = 0.5L - density * sum;
    } else {
      long double fraction = std::abs(x);
      for (int k = 400; k >= 1; --k) fraction = std::abs(x) + k / fraction;
      expected = x < 0 ? 1 - density / fraction : density / fraction;
    }
    CHECK(std::abs(static_cast<double>(math::normal_tail(x) / expected - 1)) <= 8 * eps * (1 + x * x));
    CHECK(std::abs(math::normal_tail(x) + math::normal_tail(-x) - 1) <= 2 * eps);
  }
}

TEST_CASE("only numbers are finite, and NaN has no magnitude", "[core]") {
  const double nan = std::nan("");
  CHECK(math::is_finite(std::numeric_limits<double>::max()));
  CHECK(math::is_finite(-0.0));
  for (const double x : {infinite, -infinite, nan}) CHECK_FALSE(math::is_finite(x));
  CHECK(math::magnitude(-3.0) == 3);
  CHECK(math::magnitude(-infinite) == infinite);
  CHECK(std::isnan(math::magnitude(nan)));
  CHECK(math::pi<double>() == 4 * std::atan(1.0));
  CHECK(as_double(math::pi<Scalar>()) == math::pi<double>());
  CHECK(math::from_count<float>(5) == 5.0f);
}

}  // namespace math_test
