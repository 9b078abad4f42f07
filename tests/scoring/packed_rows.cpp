#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "incontext/scoring/normsoftmax_divisor.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

// NormSoftmax and the ratio scores on rows long enough for packs, in every layout, against the same maps in long
// double, which use no packs. How they round on rows without masks is in accuracy_maps_50digits.cpp.
namespace incontext::testing {

using namespace scoring;

namespace {

using Long = long double;

template <class T, class Visit>
void for_each_norm_map(Visit visit) {
  for (const auto scale : {ScoreScale::population_stddev, ScoreScale::sample_stddev, ScoreScale::population_variance}) {
    for (const double cap : {0.5, 1e9}) {
      visit(NormSoftmax<T>{static_cast<T>(cap), scale}, NormSoftmax<Long>{static_cast<Long>(cap), scale},
            "NormSoftmax, scale " + std::to_string(static_cast<int>(scale)) + ", cap " + std::to_string(cap));
    }
  }
}

template <class T, class Function, class Visit>
void for_each_normalization(const char* name, Visit visit) {
  using enum ScoreNormalization;
  for (const auto by : {none, context_length, sum, absolute_sum}) {
    visit(RatioScore<Function, T>{by}, RatioScore<Function, Long>{by},
          name + std::string(", normalization ") + std::to_string(static_cast<int>(by)));
  }
}

template <class T, class Visit>
void for_each_packed_map(Visit visit) {
  for_each_norm_map<T>(visit);
  for_each_normalization<T, Average>("average", visit);
  for_each_normalization<T, Relu>("relu", visit);
  for_each_normalization<T, Square>("square", visit);
}

enum class Masks { none, every_third, first_block, all_but_one };

template <class T>
std::vector<T> masked(std::vector<T> z, Masks masks) {
  const T mask = -std::numeric_limits<T>::infinity();
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (masks == Masks::every_third && i % 3 == 0) z[i] = mask;
    if (masks == Masks::first_block && i < z.size() - 5) z[i] = mask;
    if (masks == Masks::all_but_one && i != z.size() / 2) z[i] = mask;
  }
  return z;
}

/// max_i |a_i - truth_i| / (eps max |truth|); NaN if one of the numbers is
template <class T>
double roundings(const std::vector<T>& a, const std::vector<Long>& truth) {
  Long largest = std::numeric_limits<T>::min(), error = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(truth[i]));
    const Long here = std::abs(static_cast<Long>(a[i]) - truth[i]);
    if (!std::isnan(error) && !(here <= error)) error = here;
  }
  return static_cast<double>(error / largest / static_cast<Long>(std::numeric_limits<T>::epsilon()));
}

/// The numbers of a row three apart, with sevens between them.
template <class T>
struct Strided {
  explicit Strided(const std::vector<T>& row) : all(3 * row.size(), T(7)), size(row.size()) {
    for (std::size_t i = 0; i < size; ++i) all[3 * i] = row[i];
  }
  Row<T> row() { return Row<T>(all.data(), static_cast<std::ptrdiff_t>(size), 3); }
  std::vector<T> taken() const {
    std::vector<T> row;
    for (std::size_t i = 0; i < size; ++i) row.push_back(all[3 * i]);
    return row;
  }
  std::vector<T> all;
  std::size_t size;
};

/// Calls check(name, result, truth) for weights, jvp and vjp of a row in every layout.
template <class T, class Map, class Truth, class Check>
void in_every_layout(const Map& map, const Truth& truth, const std::vector<T>& z, const std::vector<T>& u,
                     Check check) {
  const auto z_long = converted<Long>(z), u_long = converted<Long>(u);
  const auto three = [&](const std::string& name, const auto& product, const std::vector<Long>& expected) {
    std::vector<T> out(z.size()), on_scores = z, on_direction = u;
    product(view(z), view(u), Row<T>(out));
    check(name, out, expected);
    product(view(on_scores), view(u), Row<T>(on_scores));
    check(name + " on the scores", on_scores, expected);
    product(view(z), view(on_direction), Row<T>(on_direction));
    check(name + " on the direction", on_direction, expected);
    Strided<T> scores(z), direction(u), result(out);
    product(scores.row(), direction.row(), result.row());
    check(name + ", strided", result.taken(), expected);
    CHECK(result.all[1] == T(7));
  };
  three(
      "weights", [&](auto a, auto, auto out) { weights(map, a, out); }, weights_of(truth, z_long));
  three(
      "jvp", [&](auto a, auto b, auto out) { jvp(map, a, b, out); }, jvp_of(truth, z_long, u_long));
  three(
      "vjp", [&](auto a, auto b, auto out) { vjp(map, a, b, out); }, vjp_of(truth, z_long, u_long));
}

}  // namespace

TEMPLATE_TEST_CASE("rows over packs are the maps' rows, masked or not, in every layout", "[scoring]", float, double) {
  using T = TestType;
  Random random(51);
  for (const std::size_t n : {16u, 17u, 64u, 65u, 200u, 1000u}) {
    for (const auto masks : {Masks::none, Masks::every_third, Masks::first_block, Masks::all_but_one}) {
      const auto z = masked(converted<T>(random.normals(n, 2)), masks);
      const auto u = converted<T>(random.normals(n));
      for_each_packed_map<T>([&](const auto& map, const auto& truth, const std::string& name) {
        in_every_layout<T>(map, truth, z, u, [&](const std::string& what, const auto& result, const auto& expected) {
          INFO(name << ": " << what << ", n " << n << ", masks " << static_cast<int>(masks));
          if (std::isnan(expected.back())) {
            CHECK(all_nan(result));
          } else {
            CHECK(roundings(result, expected) < 200);
          }
        });
      });
    }
  }
}

TEST_CASE("the comparison of rows over packs refuses another map, a lost score and a mask that counts", "[scoring]") {
  Random random(52);
  const auto z = random.normals(200, 2), u = random.normals(200);
  const auto truth = vjp_of(NormSoftmax<Long>{1e9L}, converted<Long>(z), converted<Long>(u));
  CHECK(roundings(vjp_of(NormSoftmax<double>{1e9}, z, u), truth) < 200);
  CHECK(roundings(vjp_of(NormSoftmax<double>{1e9, ScoreScale::sample_stddev}, z, u), truth) > 1e6);
  const auto relu = weights_of(RatioScore<Relu, Long>{ScoreNormalization::sum}, converted<Long>(z));
  auto fewer = z;
  *std::max_element(fewer.begin(), fewer.end()) = -infinity;
  CHECK(roundings(weights_of(RatioScore<Relu>{ScoreNormalization::sum}, fewer), relu) > 1e6);
  auto broken = vjp_of(NormSoftmax<double>{1e9}, z, u);
  broken[100] = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(roundings(broken, truth) < 200);
  const auto average = weights_of(RatioScore<Average, Long>{}, converted<Long>(fewer));
  CHECK(roundings(weights_of(RatioScore<Average>{}, z), average) > 1e6);
}

TEMPLATE_TEST_CASE("the scale of a row far from zero, tiny, huge, or of two neighboring numbers keeps its digits",
                   "[scoring]", float, double) {
  using T = TestType;
  Random random(53);
  const auto normals = random.normals(300);
  const auto scale_of = [](const auto& map, const auto& z) { return normsoftmax_divisor(map, view(z)).scale; };
  const auto check = [&](const std::vector<T>& z) {
    const Long truth = scale_of(NormSoftmax<Long>{Long(1)}, converted<Long>(z));
    const T scale = scale_of(NormSoftmax<T>{T(1)}, z);
    CHECK(std::abs(static_cast<Long>(scale) - truth) <=
          8 * static_cast<Long>(std::numeric_limits<T>::epsilon()) * truth);
  };
  for (const double factor : {1e-30, 1e-18, 1e-6, 1.0, 1e6, 1e18, 1e30}) {
    for (const double shift : {0.0, 1.0, 1e4, 1e7}) {
      std::vector<T> z;
      for (const double x : normals) z.push_back(static_cast<T>(factor * (x + shift)));
      INFO("factor " << factor << ", shift " << shift);
      check(z);
    }
  }
  for (const std::size_t high : {1u, 17u, 150u, 299u}) {
    std::vector<T> neighbors(300, T(1));
    for (std::size_t i = 0; i < high; ++i) neighbors[i * 7 % 300] = std::nextafter(T(1), T(2));
    INFO(high << " of 300 scores are one rounding above 1");
    check(neighbors);
    for (T& x : neighbors) x = x > T(1) ? T(1) : std::nextafter(T(1), T(0));
    check(neighbors);
  }
  std::vector<T> needle(300, T(0));
  needle[100] = T(1e5);
  check(needle);
}

TEMPLATE_TEST_CASE("a matrix of long rows has one scale over all of them", "[scoring]", float, double) {
  using T = TestType;
  Random random(54);
  const auto masks = GENERATE(Masks::none, Masks::every_third);
  const auto z = masked(converted<T>(random.normals(3 * 100, 2)), masks);
  const auto u = converted<T>(random.normals(3 * 100));
  const auto z_long = converted<Long>(z), u_long = converted<Long>(u);
  const auto grid = [](auto& all) {
    using Number = std::remove_pointer_t<decltype(all.data())>;
    return MatrixView<Number>(all.data(), 3, 100);
  };
  const MatrixNormSoftmax<T> map{T(1e9)};
  const MatrixNormSoftmax<Long> map_long{Long(1e9)};
  std::vector<T> out(z.size());
  std::vector<Long> expected(z.size());
  weights(map, grid(z), grid(out));
  weights(map_long, grid(z_long), grid(expected));
  CHECK(roundings(out, expected) < 100);
  jvp(map, grid(z), grid(u), grid(out));
  jvp(map_long, grid(z_long), grid(u_long), grid(expected));
  CHECK(roundings(out, expected) < 100);
  vjp(map, grid(z), grid(u), grid(out));
  vjp(map_long, grid(z_long), grid(u_long), grid(expected));
  CHECK(roundings(out, expected) < 100);
}

TEMPLATE_TEST_CASE("NormSoftmax' derivative along a cotangent is the sum over its derivative, 0 below the cap",
                   "[scoring]", float, double) {
  using T = TestType;
  Random random(56);
  for (const std::size_t n : {3u, 16u, 65u, 200u}) {
    for (const auto masks : {Masks::none, Masks::every_third}) {
      const auto z = masked(converted<T>(random.normals(n, 3)), masks);
      const auto g = converted<T>(random.normals(n));
      std::vector<T> scratch(n);
      const auto along = [&](T cap) {
        return derivative_along(NormSoftmax<T>{cap}, parameter::Temperature{}, view(z), view(g), Row<T>(scratch));
      };
      const auto changes = derivative_of(NormSoftmax<Long>{Long(0.5)}, parameter::Temperature{}, converted<Long>(z));
      Long sum = 0, size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        sum += changes[i] * static_cast<Long>(g[i]);
        size += std::abs(changes[i] * static_cast<Long>(g[i]));
      }
      INFO("n " << n << ", masks " << static_cast<int>(masks));
      CHECK(size > 0);
      CHECK(std::abs(static_cast<Long>(along(T(0.5))) - sum) <= 200 * size * std::numeric_limits<T>::epsilon());
      CHECK(along(T(1e9)) == T(0));
    }
  }
  const std::vector<T> none(20, -std::numeric_limits<T>::infinity()), ones(20, T(1));
  std::vector<T> scratch(20);
  CHECK(std::isnan(
      derivative_along(NormSoftmax<T>{T(1)}, parameter::Temperature{}, view(none), view(ones), Row<T>(scratch))));
}

TEMPLATE_TEST_CASE("one NaN or +infinity in a long row of NormSoftmax or a ratio score makes all of it NaN",
                   "[scoring]", float, double) {
  using T = TestType;
  Random random(55);
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::size_t at : {0u, 63u, 64u, 99u}) {
      for (const auto masks : {Masks::none, Masks::every_third}) {
        auto z = masked(converted<T>(random.normals(100)), masks);
        z[at] = bad;
        for_each_packed_map<T>([&](const auto& map, const auto& truth, const std::string& name) {
          INFO(name << ", at " << at << ", masks " << static_cast<int>(masks));
          CHECK(all_nan(weights_of(truth, converted<Long>(z))));
          CHECK(all_nan(weights_of(map, z)));
          CHECK(all_nan(jvp_of(map, z, std::vector<T>(100, T(1)))));
          CHECK(all_nan(vjp_of(map, z, std::vector<T>(100, T(1)))));
        });
      }
    }
  }
}

}  // namespace incontext::testing
