#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

// Derivatives of rows long enough for packs, against their definition as sums of differences, in long double.
namespace incontext::testing {

using namespace scoring;

namespace {

using Long = long double;

/// phi, phi' and the derivatives of phi by the parameters, written out for one map and one visible count.
template <class T>
struct Definition;

template <class T>
struct Definition<Softmax<T>> {
  Long temperature;
  Definition(const Softmax<T>& map, std::size_t) : temperature(map.temperature) {}
  Long phi(Long z) const { return z / temperature; }
  Long slope(Long) const { return 1 / temperature; }
  Long by(parameter::Temperature, Long z) const { return -z / temperature / temperature; }
};
template <class T>
struct Definition<SSMax<T>> {
  Long log_count, factor;
  Definition(const SSMax<T>& map, std::size_t n)
      : log_count(std::log(static_cast<Long>(n))), factor(Long(map.scale) * log_count + Long(map.bias)) {}
  Long phi(Long z) const { return factor * z; }
  Long slope(Long) const { return factor; }
  Long by(parameter::Scale, Long z) const { return log_count * z; }
  Long by(parameter::Bias, Long z) const { return z; }
};
template <class T>
struct Definition<SSA<T>> {
  Long base, exponent, temperature;
  Definition(const SSA<T>& map, std::size_t) : base(map.base), exponent(map.exponent), temperature(map.temperature) {}
  Long steep(Long z) const { return base / temperature * std::abs(z); }
  Long sign(Long z) const { return z < 0 ? -1 : 1; }
  Long phi(Long z) const { return sign(z) * exponent * std::log1p(steep(z)); }
  Long slope(Long z) const { return exponent * (base / temperature) / (1 + steep(z)); }
  Long by(parameter::Exponent, Long z) const { return sign(z) * std::log1p(steep(z)); }
  Long by(parameter::Base, Long z) const { return exponent * (z / temperature) / (1 + steep(z)); }
  Long by(parameter::Temperature, Long z) const {
    return -exponent * (base / temperature) * (z / temperature) / (1 + steep(z));
  }
};

/// A linear phi has a symmetric Jacobian.
template <class Map>
inline constexpr bool symmetric = true;
template <class T>
inline constexpr bool symmetric<SSA<T>> = false;

/// What a derivative is: factor_i a_i sum_j a_j (r_i - r_j), and the same sum of absolute values.
struct Truth {
  std::vector<Long> value;
  std::vector<Long> scale;  // times eps (1 + G), G = log(max a / min a)
  std::vector<Long> rate;   // |factor_i sum_j ...|, by which a weight below the normal range counts
  std::vector<Long> weight;
  std::vector<Long> function;  // r_i
  Long depth = 1;              // 1 + G
};

template <class Map, class T, class Rate, class Factor>
Truth truth_of(const Map& map, const std::vector<T>& z, Rate rate, Factor factor) {
  const auto visible = [&](std::size_t i) { return z[i] > -std::numeric_limits<T>::infinity(); };
  std::size_t count = 0;
  for (std::size_t i = 0; i < z.size(); ++i) count += visible(i) ? 1 : 0;
  const Definition<Map> definition(map, count);
  Long top = -std::numeric_limits<Long>::infinity(), low = -top, total = 0;
  std::vector<Long> weight(z.size(), 0), rates(z.size(), 0);
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (!visible(i)) continue;
    top = std::max(top, definition.phi(z[i]));
    low = std::min(low, definition.phi(z[i]));
    rates[i] = rate(definition, i);
  }
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (visible(i)) total += weight[i] = std::exp(definition.phi(z[i]) - top);
  }
  for (Long& a : weight) a /= total;
  const std::vector<Long> zeros(z.size(), 0);
  Truth truth{zeros, zeros, zeros, zeros, rates};
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (!visible(i)) continue;
    Long sum = 0, size = 0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      sum += weight[j] * (rates[i] - rates[j]);
      size += weight[j] * std::abs(rates[i] - rates[j]);
    }
    const Long outside = factor(definition, i) * weight[i];
    truth.value[i] = outside * sum;
    truth.scale[i] = std::abs(outside) * size * (1 + top - low);
    truth.rate[i] = std::abs(factor(definition, i) * sum);
    truth.weight[i] = weight[i];
    truth.depth = 1 + top - low;
  }
  return truth;
}

template <class T>
double rounding(const std::vector<T>& result, const Truth& truth) {
  double worst = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Long scale = Long(std::numeric_limits<T>::epsilon()) * truth.scale[i] +
                       Long(std::numeric_limits<T>::min()) * (1 + truth.rate[i]);
    raise(worst, static_cast<double>(std::abs(Long(result[i]) - truth.value[i]) / scale));
  }
  return worst;
}

template <class Map, class T>
Truth vjp_truth(const Map& map, const std::vector<T>& z, const std::vector<T>& u) {
  return truth_of(
      map, z, [&](const auto&, std::size_t i) { return Long(u[i]); },
      [&](const auto& d, std::size_t i) { return d.slope(z[i]); });
}

template <class Map, class T>
Truth jvp_truth(const Map& map, const std::vector<T>& z, const std::vector<T>& u) {
  if constexpr (symmetric<Map>) return vjp_truth(map, z, u);
  return truth_of(
      map, z, [&](const auto& d, std::size_t i) { return d.slope(z[i]) * Long(u[i]); },
      [](const auto&, std::size_t) { return Long(1); });
}
template <class T>
std::vector<T> row_of(Random& random, std::size_t n, double stddev, bool masks) {
  std::vector<T> z = converted<T>(random.normals(n, stddev));
  for (std::size_t i = 1; masks && i < n; i += 3) z[i] = -std::numeric_limits<T>::infinity();
  return z;
}

/// The direction of a row: `offset` common to all entries, one entry far out, and not-a-number where a score is masked.
template <class T>
std::vector<T> direction_of(Random& random, const std::vector<T>& z, double offset, double far) {
  std::vector<T> u = converted<T>(random.normals(z.size(), 1.0));
  for (T& x : u) x += static_cast<T>(offset);
  u[z.size() / 2] += static_cast<T>(far);
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (z[i] == -std::numeric_limits<T>::infinity()) u[i] = std::numeric_limits<T>::quiet_NaN();
  }
  return u;
}

template <class T, class Visit>
void for_each_long_map(Visit visit) {
  visit(Softmax<T>{T(1)}, "softmax");
  visit(SSMax<T>{T(0.4), T(0.1)}, "ssmax");
  visit(SSMax<T>{T(-0.4)}, "ssmax, decreasing");
  visit(SSA<T>{T(1), T(1.5)}, "ssa");
  visit(SSA<T>{T(0.25), T(4), T(2)}, "ssa, steep");
}

}  // namespace

TEMPLATE_TEST_CASE("derivatives of rows of any length round as stated: offsets, outliers and masks", "[scoring]", float,
                   double) {
  using T = TestType;
  Random random(23);
  for (const std::size_t n : {16u, 17u, 63u, 64u, 65u, 130u, 300u}) {
    for (const double stddev : {0.125, 1.0, 30.0}) {
      for (const bool masks : {false, true}) {
        for (const std::pair<double, double>& shape : {std::pair{0.0, 0.0}, {1e5, 0.0}, {0.0, 1e5}}) {
          const double offset = shape.first, far = shape.second;
          const auto z = row_of<T>(random, n, stddev, masks);
          const auto u = direction_of<T>(random, z, offset, far);
          for_each_long_map<T>([&](const auto& map, const char* name) {
            INFO(name << ", n " << n << ", stddev " << stddev << ", masks " << masks << ", offset " << offset
                      << ", outlier " << far);
            std::vector<T> out(n);
            if (offset == 0 || symmetric<std::remove_cvref_t<decltype(map)>>) {
              jvp(map, Row<const T>(z), Row<const T>(u), Row<T>(out));
              CHECK(rounding(out, jvp_truth(map, z, u)) <= 8);
            }
            vjp(map, Row<const T>(z), Row<const T>(u), Row<T>(out));
            CHECK(rounding(out, vjp_truth(map, z, u)) <= 8);
          });
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("from the weights a vjp needs no exponential and rounds as stated, in place too", "[scoring]", float,
                   double) {
  using T = TestType;
  Random random(47);
  for (const std::size_t n : {1u, 5u, 16u, 65u, 130u, 300u}) {
    for (const double stddev : {0.125, 1.0, 30.0}) {
      for (const bool masks : {false, true}) {
        for (const std::pair<double, double>& shape : {std::pair{0.0, 0.0}, {1e5, 0.0}, {0.0, 1e12}, {0.0, 1e20}}) {
          const double offset = shape.first, far = shape.second;
          const auto z = row_of<T>(random, n, stddev, masks);
          std::vector<T> u = converted<T>(random.normals(n, 1.0));
          std::size_t lowest = 0;  // of the visible ones
          for (std::size_t i = 0; i < n; ++i) {
            u[i] += static_cast<T>(offset);
            if (z[i] < z[lowest] && z[i] > -std::numeric_limits<T>::infinity()) lowest = i;
          }
          if (far > 0 && !masks) u[lowest] = static_cast<T>(far);
          for (std::size_t i = 1; far > 0 && masks && i < n; i += 3) u[i] = static_cast<T>(far);  // the masked ones
          const bool falls_back = masks && n == 65;
          if (falls_back) u[1] = std::numeric_limits<T>::quiet_NaN();
          for_each_long_map<T>([&](const auto& map, const char* name) {
            INFO(name << ", n " << n << ", stddev " << stddev << ", masks " << masks << ", offset " << offset
                      << ", far " << far);
            const Truth truth = vjp_truth(map, z, u);
            std::vector<T> a(n), out(n), spread(2 * n, T(7));
            weights(map, Row<const T>(z), Row<T>(a));
            const auto back = [&](Row<const T> kept, Row<const T> g, Row<T> to) {
              vjp_from_weights(map, Row<const T>(z), kept, g, to);
            };
            back(Row<const T>(a), Row<const T>(u), Row<T>(out));
            CHECK(rounding(out, truth) <= 8);
            std::vector<T> on_weights = a, on_cotangent = u;
            back(Row<const T>(on_weights), Row<const T>(u), Row<T>(on_weights));
            CHECK(on_weights == out);
            back(Row<const T>(a), Row<const T>(on_cotangent), Row<T>(on_cotangent));
            CHECK(on_cotangent == out);
            const auto size = static_cast<std::ptrdiff_t>(n);
            back(Row<const T>(a), Row<const T>(u), Row<T>(spread.data(), size, 2));
            bool same = true;
            for (std::size_t i = 0; i < n; ++i) same = same && spread[2 * i] == out[i] && spread[2 * i + 1] == T(7);
            CHECK(same);
            if (n == 300 && stddev == 1 && offset == 0 && (far == 0 || masks)) {  // power: the weights of another map
              weights(Softmax<T>{T(1.01)}, Row<const T>(z), Row<T>(a));
              back(Row<const T>(a), Row<const T>(u), Row<T>(out));
              CHECK_FALSE(rounding(out, truth) <= 8);
            }
          });
        }
      }
    }
  }
  std::vector<T> z(20, T(0)), a(20, T(0.05)), out(20);
  vjp_from_weights(Softmax<T>{T(-1)}, Row<const T>(z), Row<const T>(a), Row<const T>(z), Row<T>(out));
  CHECK(std::isnan(out[3]));
  z[7] = std::numeric_limits<T>::quiet_NaN();
  weights(Softmax<T>{}, Row<const T>(z), Row<T>(a));
  vjp_from_weights(Softmax<T>{}, Row<const T>(z), Row<const T>(a), Row<const T>(out), Row<T>(out));
  CHECK(std::isnan(out[3]));
}

TEMPLATE_TEST_CASE("derivatives by parameters of rows of any length round as stated", "[scoring]", float, double) {
  using T = TestType;
  Random random(29);
  const auto check = [&](const auto& map, auto by, const char* name, const std::vector<T>& z) {
    INFO(name);
    std::vector<T> out(z.size());
    derivative(map, by, Row<const T>(z), Row<T>(out));
    Truth truth = truth_of(
        map, z, [&](const auto& d, std::size_t i) { return d.by(by, Long(z[i])); },
        [](const auto&, std::size_t) { return Long(1); });
    Long largest = 0;
    for (const Long change : truth.value) largest = std::max(largest, std::abs(change));
    for (std::size_t i = 0; i < z.size(); ++i) {
      truth.scale[i] += truth.depth * truth.weight[i] * largest;
    }
    CHECK(rounding(out, truth) <= 16);
    for (const double offset : {0.0, 1e4}) {
      const auto g = direction_of<T>(random, z, offset, offset);
      std::vector<T> scratch(z.size(), T(-5));
      const T along = derivative_along(map, by, Row<const T>(z), Row<const T>(g), Row<T>(scratch));
      Long value = 0, scale = 0;
      std::size_t top = 0;
      for (std::size_t i = 0; i < z.size(); ++i) top = truth.weight[i] > truth.weight[top] ? i : top;
      for (std::size_t i = 0; i < z.size(); ++i) {
        const Long f = truth.function[i] - truth.function[top];
        for (std::size_t j = 0; j < z.size(); ++j) {
          const Long both = truth.weight[i] * truth.weight[j];
          if (!(both > 0)) continue;
          value += both * (Long(g[i]) - Long(g[j])) * f;
          scale += both * std::abs(Long(g[i]) - Long(g[j])) * std::abs(f);
        }
      }
      INFO("offset and outlier of the cotangent " << offset);
      CHECK(std::abs(Long(along) - value) <= 16 * Long(std::numeric_limits<T>::epsilon()) * truth.depth * scale);
      if (z.size() == 300 && offset == 0) {  // power: the sum that forgets to center the cotangent
        Long wrong = 0;
        for (std::size_t i = 0; i < z.size(); ++i) {
          if (truth.weight[i] > 0) wrong += truth.weight[i] * Long(g[i]) * (truth.function[i] - truth.function[top]);
        }
        CHECK_FALSE(std::abs(wrong - value) <= 16 * Long(std::numeric_limits<T>::epsilon()) * truth.depth * scale);
      }
    }
  };
  for (const std::size_t n : {5u, 16u, 65u, 300u}) {
    for (const double stddev : {0.125, 1.0, 30.0}) {
      for (const bool masks : {false, true}) {
        INFO("n " << n << ", stddev " << stddev << ", masks " << masks);
        const auto z = row_of<T>(random, n, stddev, masks);
        check(Softmax<T>{T(0.7)}, parameter::Temperature{}, "temperature of softmax", z);
        check(SSMax<T>{T(0.4), T(0.1)}, parameter::Scale{}, "scale", z);
        check(SSMax<T>{T(0.4), T(0.1)}, parameter::Bias{}, "bias", z);
        for (const SSA<T>& map : {SSA<T>{T(1), T(1.5)}, SSA<T>{T(0.25), T(4), T(2)}}) {
          check(map, parameter::Exponent{}, "exponent", z);
          check(map, parameter::Base{}, "base", z);
          check(map, parameter::Temperature{}, "temperature", z);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("a derivative may be written on the scores, on the direction or into every other place", "[scoring]",
                   float, double) {
  using T = TestType;
  Random random(31);
  for (const std::size_t n : {64u, 101u}) {
    for (const bool masks : {false, true}) {
      const auto z = row_of<T>(random, n, 1.0, masks);
      const auto u = direction_of<T>(random, z, 0.0, 0.0);
      for_each_long_map<T>([&](const auto& map, const char* name) {
        INFO(name << ", n " << n << ", masks " << masks);
        const Truth truth = jvp_truth(map, z, u);
        std::vector<T> on_scores = z, on_direction = u, apart(2 * n, T(7));
        jvp(map, Row<const T>(on_scores), Row<const T>(u), Row<T>(on_scores));
        CHECK(rounding(on_scores, truth) <= 8);
        jvp(map, Row<const T>(z), Row<const T>(on_direction), Row<T>(on_direction));
        CHECK(rounding(on_direction, truth) <= 8);
        jvp(map, Row<const T>(z), Row<const T>(u), Row<T>(apart.data(), static_cast<std::ptrdiff_t>(n), 2));
        std::vector<T> gathered(n);
        for (std::size_t i = 0; i < n; ++i) gathered[i] = apart[2 * i];
        CHECK(rounding(gathered, truth) <= 8);
        bool untouched = true;
        for (std::size_t i = 0; i < n; ++i) untouched = untouched && apart[2 * i + 1] == T(7);
        CHECK(untouched);
        std::vector<T> itself = z;
        for (T& x : itself) x = x == -std::numeric_limits<T>::infinity() ? T(-1) : x;
        const Truth along_itself = jvp_truth(map, itself, itself);
        jvp(map, Row<const T>(itself), Row<const T>(itself), Row<T>(itself));
        CHECK(rounding(itself, along_itself) <= 8);
      });
    }
  }
}

TEMPLATE_TEST_CASE("NormSoftmax's derivatives of long rows are those of its definition", "[scoring]", float, double) {
  using T = TestType;
  Random random(41);
  for (const std::size_t n : {17u, 64u, 130u}) {
    for (const double stddev : {0.5, 3.0}) {  // below and above the cap
      INFO("n " << n << ", stddev " << stddev);
      const auto z = row_of<T>(random, n, stddev, false);
      const auto u = direction_of<T>(random, z, 0.0, 0.0);
      Long mean = 0, square = 0;
      for (const T x : z) mean += Long(x) / Long(n);
      for (const T x : z) square += (Long(x) - mean) * (Long(x) - mean) / Long(n);
      const Long divisor = std::min(std::sqrt(square), Long(1));
      const Long slope = divisor < 1 ? 1 / (Long(n) * divisor) : 0;
      const Softmax<Long> softmax{divisor};
      const std::vector<Long> wide(z.begin(), z.end());
      Long divisor_rate = 0;
      for (std::size_t i = 0; i < n; ++i) divisor_rate += slope * (wide[i] - mean) * Long(u[i]);
      const Truth along = truth_of(
          softmax, wide,
          [&](const auto&, std::size_t i) {
            return (Long(u[i]) - (wide[i] - mean) * divisor_rate / divisor) / divisor;
          },
          [](const auto&, std::size_t) { return Long(1); });
      Truth back = vjp_truth(softmax, wide, std::vector<Long>(u.begin(), u.end()));
      Long pull = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        pull += (wide[i] - mean) / divisor * back.value[i];
        size += std::abs(wide[i] - mean) / divisor * back.scale[i];
      }
      for (std::size_t i = 0; i < n; ++i) {
        back.value[i] -= slope * (wide[i] - mean) * pull;
        back.scale[i] += slope * std::abs(wide[i] - mean) * size;
      }
      const NormSoftmax<T> map{T(1)};
      std::vector<T> out(n);
      jvp(map, Row<const T>(z), Row<const T>(u), Row<T>(out));
      CHECK(rounding(out, along) <= 16);
      vjp(map, Row<const T>(z), Row<const T>(u), Row<T>(out));
      CHECK(rounding(out, back) <= 16);
      std::vector<T> in_place = z;
      vjp(map, Row<const T>(in_place), Row<const T>(u), Row<T>(in_place));
      CHECK(rounding(in_place, back) <= 16);
      if (slope > 0) {  // power: softmax's own, as if the divisor did not follow the scores
        vjp(Softmax<T>{static_cast<T>(divisor)}, Row<const T>(z), Row<const T>(u), Row<T>(out));
        CHECK_FALSE(rounding(out, back) <= 16);
      }
    }
  }
}

TEST_CASE("a row with nearly all weight on one score keeps the digits of what is left", "[scoring]") {
  std::vector<double> z(100, 0.0), u(100, 1.0), out(100);
  z[40] = 60;
  u[40] = 2;
  vjp(Softmax<double>{1.0}, Row<const double>(z), Row<const double>(u), Row<double>(out));
  const double share = 99 * std::exp(-60.0);
  CHECK(std::abs(out[40] / share - 1) <= 60 * std::numeric_limits<double>::epsilon());
  // a - a^2 in place of a sum of differences keeps none of them
  const double weight = 1 / (1 + share);
  CHECK_FALSE(std::abs((weight - weight * weight) / share - 1) <= 0.5);
}

TEST_CASE("the derivatives' comparison refuses a mean that is rounded with the offset, and one map for another",
          "[scoring]") {
  Random random(37);
  const auto z = row_of<float>(random, 300, 1.0, false);
  const auto u = direction_of<float>(random, z, 1e5, 0.0);
  const Truth truth = vjp_truth(Softmax<float>{1.0f}, z, u);
  std::vector<float> weight(300), out(300);
  weights(Softmax<float>{1.0f}, Row<const float>(z), Row<float>(weight));
  double mean = 0;
  for (std::size_t i = 0; i < 300; ++i) mean += double(weight[i]) * double(u[i]);
  for (std::size_t i = 0; i < 300; ++i) out[i] = weight[i] * (u[i] - static_cast<float>(mean));
  CHECK_FALSE(rounding(out, truth) <= 8);
  vjp(Softmax<float>{1.001f}, Row<const float>(z), Row<const float>(u), Row<float>(out));
  CHECK_FALSE(rounding(out, truth) <= 8);
}

}  // namespace incontext::testing
