#include "incontext/scoring/detail/softmax_row.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

// Rows long enough for packs, against the definition in long double.
namespace incontext::testing {

using namespace scoring;

namespace {

template <class T>
long double phi(const Softmax<T>& map, T z, std::size_t) {
  return static_cast<long double>(z) / static_cast<long double>(map.temperature);
}
template <class T>
long double phi(const SSMax<T>& map, T z, std::size_t n) {
  const long double count = static_cast<long double>(n);
  return (static_cast<long double>(map.scale) * std::log(count) + static_cast<long double>(map.bias)) *
         static_cast<long double>(z);
}
template <class T>
long double phi(const SSA<T>& map, T z, std::size_t) {
  const long double growth = std::log1p(static_cast<long double>(map.base) * std::abs(static_cast<long double>(z)) /
                                        static_cast<long double>(map.temperature));
  return (z < 0 ? -1 : 1) * static_cast<long double>(map.exponent) * growth;
}

/// Largest |a - truth| / (eps truth (1 + log(max a / truth))); weights at the lower end of the range are exempt.
template <class T, class Map>
double rounding(const Map& map, const std::vector<T>& z, const std::vector<T>& a) {
  std::size_t visible = 0;
  for (const T x : z) visible += x > -std::numeric_limits<T>::infinity() ? 1 : 0;
  std::vector<long double> exponent;
  for (const T x : z) {
    const bool seen = x > -std::numeric_limits<T>::infinity();
    exponent.push_back(seen ? phi(map, x, visible) : -std::numeric_limits<long double>::infinity());
  }
  long double top = -std::numeric_limits<long double>::infinity(), total = 0;
  for (const long double t : exponent) top = t > top ? t : top;
  for (const long double t : exponent) total += std::exp(t - top);
  double worst = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const long double truth = std::exp(exponent[i] - top) / total;
    const long double depth = truth > 0 ? 1 + top - exponent[i] : 1;
    const long double scale = static_cast<long double>(std::numeric_limits<T>::epsilon()) * truth * depth +
                              static_cast<long double>(std::numeric_limits<T>::min());
    raise(worst, static_cast<double>(std::abs(static_cast<long double>(a[i]) - truth) / scale));
  }
  return worst;
}

template <class T>
std::vector<T> long_row(Random& random, std::size_t n, double stddev, double mean, bool masks) {
  std::vector<T> z = converted<T>(random.normals(n, stddev));
  for (T& x : z) x += static_cast<T>(mean);
  for (std::size_t i = 0; masks && i < n; i += 3) z[i] = -std::numeric_limits<T>::infinity();
  return z;
}

}  // namespace

TEMPLATE_TEST_CASE("weights of rows of any length round as stated, masked or not", "[scoring]", float, double) {
  using T = TestType;
  Random random(11);
  for (const std::size_t n : {15u, 16u, 17u, 63u, 64u, 65u, 127u, 130u, 1000u}) {
    for (const double stddev : {0.125, 1.0, 10.0, 300.0}) {
      for (const double mean : {0.0, 1000.0}) {
        for (const bool masks : {false, true}) {
          const auto z = long_row<T>(random, n, stddev, mean, masks);
          const auto check = [&](auto map, const Facts& facts) {
            INFO(facts.name << ", n " << n << ", stddev " << stddev << ", mean " << mean << ", masks " << masks);
            CHECK(rounding(map, z, weights_of(map, z)) <= 4);
          };
          for_each_softmax_like<T>(check);
          check(SSA<T>{T(1e-6), T(1e6)}, Facts{"SSA near softmax"});
          check(SSA<T>{T(1e4), T(1)}, Facts{"SSA far from softmax"});
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("NormSoftmax of long rows rounds as stated", "[scoring]", float, double) {
  using T = TestType;
  Random random(15);
  for (const std::size_t n : {16u, 65u, 200u}) {
    for (const double cap : {0.0625, 64.0}) {
      const auto z = long_row<T>(random, n, 2, 10, true);
      const auto a = weights_of(NormSoftmax<T>{static_cast<T>(cap)}, z);
      const auto truth = weights_of(NormSoftmax<long double>{static_cast<long double>(cap)}, converted<long double>(z));
      const long double largest = largest_size(truth);
      for (std::size_t i = 0; i < n; ++i) {
        if (truth[i] <= 0) {
          CHECK(a[i] == T(0));
          continue;
        }
        const long double scale = truth[i] * (1 + std::log(largest / truth[i]));
        const long double error = std::abs(static_cast<long double>(a[i]) - truth[i]);
        CHECK(error <= 8 * static_cast<long double>(std::numeric_limits<T>::epsilon()) * scale +
                           static_cast<long double>(std::numeric_limits<T>::min()));
      }
    }
  }
}

TEST_CASE("the comparison refuses weights of another temperature", "[scoring]") {
  Random random(12);
  const auto z = long_row<double>(random, 100, 1, 0, false);
  CHECK(rounding(Softmax<double>{1}, z, weights_of(Softmax<double>{1 + 1e-13}, z)) > 4);
}

TEMPLATE_TEST_CASE("strided rows, rows in reverse and a row on itself round as stated", "[scoring]", float, double) {
  using T = TestType;
  Random random(13);
  for (const std::size_t n : {16u, 64u, 100u, 333u}) {
    const auto z = long_row<T>(random, n, 2, 0, false);
    for_each_softmax_like<T>([&](auto map, const Facts& facts) {
      INFO(facts.name << ", n " << n);
      const auto size = static_cast<std::ptrdiff_t>(n);
      std::vector<T> strided(3 * n, T(7)), backward(n), forward(n), in_place = z, taken;
      for (std::size_t i = 0; i < n; ++i) strided[3 * i] = z[i];
      weights(map, Row<const T>(strided.data(), size, 3), Row<T>(strided.data(), size, 3));
      for (std::size_t i = 0; i < n; ++i) taken.push_back(strided[3 * i]);
      CHECK(rounding(map, z, taken) <= 4);
      CHECK(strided[1] == T(7));
      weights(map, view(z), Row<T>(backward.data() + n - 1, size, -1));
      for (std::size_t i = 0; i < n; ++i) forward[i] = backward[n - 1 - i];
      CHECK(rounding(map, z, forward) <= 4);
      weights(map, view(in_place), in_place);
      CHECK(rounding(map, z, in_place) <= 4);
    });
  }
}

TEMPLATE_TEST_CASE("one NaN or +infinity anywhere in a long row makes the whole row NaN", "[scoring]", float, double) {
  using T = TestType;
  Random random(14);
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::size_t at : {0u, 1u, 63u, 64u, 99u}) {
      for (const bool masks : {false, true}) {
        auto z = long_row<T>(random, 100, 1, 0, masks);
        z[at] = bad;
        for_each_softmax_like<T>([&](auto map, const Facts& facts) {
          INFO(facts.name << ", at " << at);
          CHECK(all_nan(weights_of(map, z)));
        });
      }
    }
  }
  const std::vector<T> hidden(100, -std::numeric_limits<T>::infinity());
  for_each_softmax_like<T>([&](auto map, const Facts&) { CHECK(all_nan(weights_of(map, hidden))); });
}

TEMPLATE_TEST_CASE("long rows at the ends of the range: equal, huge, one visible, cold and hot", "[scoring]", float,
                   double) {
  using T = TestType;
  constexpr T huge = std::numeric_limits<T>::max();
  const std::vector<T> equal(100, T(3));
  std::vector<T> ends(100, -huge), single(100, -std::numeric_limits<T>::infinity());
  ends[70] = huge;
  single[70] = T(-5);
  for_each_softmax_like<T>([&](auto map, const Facts& facts) {
    INFO(facts.name);
    for (const T a : weights_of(map, equal))
      CHECK(std::abs(a - T(0.01)) <= T(0.02) * std::numeric_limits<T>::epsilon());
    CHECK(weights_of(map, single)[70] == T(1));
    CHECK(weights_of(map, single)[71] == T(0));
    CHECK_FALSE(std::isnan(weights_of(map, ends)[0]));
  });
  CHECK(weights_of(Softmax<T>{}, ends)[70] == T(1));
  const auto row = converted<T>(std::vector<double>(50, 1.0));
  CHECK(weights_of(Softmax<T>{std::numeric_limits<T>::infinity()}, row)[7] == T(0.02));
  CHECK(weights_of(Softmax<T>{std::numeric_limits<T>::denorm_min()}, row)[7] == T(0.02));
}

TEST_CASE("scores and temperatures at the ends of the range give the weights of their quotients", "[scoring]") {
  const double huge = std::numeric_limits<double>::infinity();
  const double low = 1 / (1 + std::exp(3.4));
  for (const std::size_t n : {std::size_t{2}, std::size_t{20}}) {
    std::vector<double> z(n, -1.7e308);
    z[0] = 1.7e308;
    CHECK(weights_of(Softmax<double>{huge}, z) == std::vector<double>(n, 1.0 / static_cast<double>(n)));
    const double others = static_cast<double>(n - 1), top = 1 / (1 + others * low / (1 - low));
    CHECK(std::abs(weights_of(Softmax<double>{1e308}, z)[0] / top - 1) < 1e-14);
    CHECK(std::abs(weights_of(Softmax<double>{1.1e308}, z)[0] / top - 1) > 1e-3);  // power
  }
  CHECK(weights_of(Softmax<double>{1e-310}, {1, 2}) == std::vector<double>{0, 1});
  CHECK(weights_of(NormSoftmax<double>{1, ScoreScale::population_variance}, {1e-200, 2e-200, 3e-200}) ==
        std::vector<double>{0, 0, 1});
}

}  // namespace incontext::testing
