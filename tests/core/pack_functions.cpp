#include "incontext/core/pack_functions.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "incontext/core/elementary.hpp"
#include "support/catch.hpp"

namespace pack_functions_test {

using namespace incontext;

namespace {

/// Applies f to the pack of x, x + step, ..., and returns the largest error(x, f(x)) of its lanes.
template <class T, class Function, class Error>
double worst_over_range(T low, T high, const Function& f, const Error& error) {
  constexpr int width = pack_width<T>, packs = 20000;
  const T step = (high - low) / T(packs * width);
  double worst = 0;
  for (int i = 0; i < packs; ++i) {
    T x[width], y[width];
    for (int l = 0; l < width; ++l) x[l] = low + step * T(i * width + l);
    store_pack<T>(y, f(load_pack(x)));
    for (int l = 0; l < width; ++l) {
      const double off = error(x[l], y[l]);
      worst = off <= worst ? worst : (off == off ? off : std::numeric_limits<double>::infinity());
    }
  }
  return worst;
}

double relative(long double value, long double truth) {
  return value == truth ? 0 : static_cast<double>(std::abs(value / truth - 1));
}

template <class T>
T lane(const Pack<T>& pack) {
  T numbers[pack_width<T>];
  store_pack(numbers, pack);
  return numbers[0];
}

}  // namespace

TEMPLATE_TEST_CASE("powers of two keep their bound down to the lowest one, which is 0", "[core]", float, double) {
  using T = TestType;
  const double bound = std::is_same_v<T, float> ? 1.2e-7 : 2e-16;
  const auto f = [](const Pack<T>& x) { return elementary::exp2_of<T>(x); };
  const auto error = [](T x, T y) { return relative(y, std::exp2(static_cast<long double>(x))); };
  for (const T low : {T(-1), T(-20), T(elementary::lowest_power<T> + 1)}) {
    const double worst = worst_over_range<T>(low, T(0), f, error);
    INFO("from " << low);
    CHECK(worst <= bound);
  }
  CHECK(lane<T>(f(pack_of(elementary::lowest_power<T>))) == 0);
  CHECK(lane<T>(f(pack_of(T(0)))) == 1);
  CHECK(std::isnan(lane<T>(f(pack_of(std::numeric_limits<T>::quiet_NaN())))));
}

TEST_CASE("logarithms keep their bounds about 1 and far from it", "[core]") {
  for (const double high : {1.2, 4.0, 1e6, 1e30}) {
    INFO("up to " << high);
    const auto top = static_cast<float>(high);
    const float low = high < 2 ? 0.8f : 1 / top;
    CHECK(worst_over_range<float>(
              low, top, [](const Pack<float>& x) { return elementary::log_of<float>(x); },
              [](float x, float y) {
                const double truth = std::log(static_cast<double>(x));
                return std::abs(y - truth) / (0.25 + std::abs(truth));
              }) <= 1.2e-7);
    CHECK(worst_over_range<float>(
              low, top, [](const Pack<float>& x) { return elementary::log2_of(x); },
              [](float x, float y) {
                const double truth = std::log2(static_cast<double>(x));
                return std::abs(y - truth) / (6e-8 + std::numeric_limits<float>::epsilon() * std::abs(truth));
              }) <= 1);
    CHECK(worst_over_range<double>(
              1 / high, high, [](const Pack<double>& x) { return elementary::log_of<double>(x); },
              [](double x, double y) { return y == elementary::log(x) ? 0.0 : 1.0; }) == 0);
  }
}

TEMPLATE_TEST_CASE("log(1 + x) keeps the digits of a small x", "[core]", float, double) {
  using T = TestType;
  const double bound = std::is_same_v<T, float> ? 3e-7 : 5e-16;
  const auto f = [](const Pack<T>& x) { return elementary::log_one_plus_of<T>(x, x + T(1)); };
  const auto error = [](T x, T y) { return relative(y, std::log1p(static_cast<long double>(x))); };
  for (const T high : {T(1e-6), T(1e-3), T(0.5), T(10), T(1e8)}) {
    INFO("up to " << high);
    CHECK(worst_over_range<T>(high < 1 ? -high : T(0), high, f, error) <= bound);
  }
  const auto plain = [](const Pack<T>& x) { return elementary::log_of<T>(x + T(1)); };
  CHECK(worst_over_range<T>(T(-1e-3), T(1e-3), plain, error) > 100 * bound);
}

}  // namespace pack_functions_test
