#include "support/foreign_maps.hpp"

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/hybrid_heads.hpp"
#include "incontext/scoring/jacobian_spectral_norm.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/softmax_of.hpp"
#include "incontext/scoring/summary.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

namespace foreign_maps_test {

using namespace scoring;
using foreign::Asinh;
using foreign::SinkSoftmax;

const std::vector<double> z{1.0, 2.0, 3.0, -1.0, 0.25};

/// Weights by their definitions; a score of -infinity has weight 0.
std::vector<double> by_definition(const Asinh<double>&, const std::vector<double>& scores) {
  std::vector<double> a;
  double total = 0;
  for (const double x : scores) total += std::exp(1.5 * std::asinh(x));
  for (const double x : scores) a.push_back(std::exp(1.5 * std::asinh(x)) / total);
  return a;
}

std::vector<double> by_definition(const SinkSoftmax<double>& map, const std::vector<double>& scores) {
  std::vector<double> a;
  double total = 1;
  for (const double x : scores) total += std::exp(x / map.temperature());
  for (const double x : scores) a.push_back(std::exp(x / map.temperature()) / total);
  return a;
}

template <class Visit>
void for_each_foreign_map(Visit visit) {
  visit(Asinh<double>(1.5));
  visit(SinkSoftmax<double>(0.5));
}

/// Column j of the Jacobian by differences of the definition.
template <class Map>
std::vector<double> difference_quotient(const Map& map, std::vector<double> scores, std::size_t j) {
  constexpr double step = 1e-6;
  scores[j] += step;
  std::vector<double> column = by_definition(map, scores);
  scores[j] -= 2 * step;
  const std::vector<double> below = by_definition(map, scores);
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = (column[i] - below[i]) / (2 * step);
  return column;
}

TEST_CASE("a foreign map has its weights by its own formula, one by one and by rows", "[scoring]") {
  for_each_foreign_map([](const auto& map) {
    std::vector<double> out(z.size());
    weights(map, Row<const double>(z), Row<double>(out));
    CHECK(distance(out, by_definition(map, z)) < 1e-15);

    const std::vector<double> matrix{1.0, 2.0, 3.0, -1.0, 0.5, 0.0, -2.0, 4.0, 1.5};
    std::vector<double> rows(9);
    weights_by_row(map, MatrixView<const double>(matrix.data(), 3, 3), MatrixView<double>(rows.data(), 3, 3),
                   Visibility::causal);
    const std::vector<double> second = by_definition(map, {-1.0, 0.5}), third = by_definition(map, {-2.0, 4.0, 1.5});
    const std::vector<double> first = by_definition(map, {1.0});
    CHECK(distance(rows, {first[0], 0, 0, second[0], second[1], 0, third[0], third[1], third[2]}) < 1e-15);
  });
}

TEST_CASE("a foreign map has its Jacobian, its spectral norm and heads of its own", "[scoring]") {
  for_each_foreign_map([](const auto& map) {
    const auto n = static_cast<std::ptrdiff_t>(z.size());
    std::vector<double> j(z.size() * z.size());
    jacobian(map, Row<const double>(z), MatrixView<double>(j.data(), n, n));
    for (std::size_t c = 0; c < z.size(); ++c) {
      const std::vector<double> expected = difference_quotient(map, z, c);
      for (std::size_t r = 0; r < z.size(); ++r) CHECK(std::abs(j[r * z.size() + c] - expected[r]) < 1e-9);
    }
    // |J|_2 by power iteration on J^T J
    std::vector<double> u{1, -0.5, 0.25, 0.3, 0.1}, image(z.size()), back(z.size());
    double norm = 0;
    for (int step = 0; step < 2000; ++step) {
      for (std::size_t r = 0; r < z.size(); ++r) {
        image[r] = 0;
        for (std::size_t c = 0; c < z.size(); ++c) image[r] += j[r * z.size() + c] * u[c];
      }
      for (std::size_t c = 0; c < z.size(); ++c) {
        back[c] = 0;
        for (std::size_t r = 0; r < z.size(); ++r) back[c] += j[r * z.size() + c] * image[r];
      }
      norm = std::sqrt(std::sqrt(product(back, back)));
      for (std::size_t c = 0; c < z.size(); ++c) u[c] = back[c] / std::sqrt(product(back, back));
    }
    std::vector<double> scratch(z.size() * z.size());
    CHECK(std::abs(jacobian_spectral_norm(map, Row<const double>(z), MatrixView<double>(scratch.data(), n, n)) - norm) <
          1e-12);

    const auto heads = hybrid_heads(map, Softmax<double>{});
    std::vector<double> two(2 * z.size()), out(2 * z.size());
    for (std::size_t i = 0; i < z.size(); ++i) two[i] = two[z.size() + i] = z[i];
    weights(heads, MatrixView<const double>(two.data(), 2, n), MatrixView<double>(out.data(), 2, n));
    CHECK(distance({out.begin(), out.begin() + n}, by_definition(map, z)) < 1e-15);
    jvp(heads, MatrixView<const double>(two.data(), 2, n), MatrixView<const double>(two.data(), 2, n),
        MatrixView<double>(out.data(), 2, n));
    std::vector<double> expected(z.size(), 0.0);
    for (std::size_t r = 0; r < z.size(); ++r) {
      for (std::size_t c = 0; c < z.size(); ++c) expected[r] += j[r * z.size() + c] * z[c];
    }
    CHECK(distance({out.begin(), out.begin() + n}, expected) < 1e-14);
    vjp(heads, MatrixView<const double>(two.data(), 2, n), MatrixView<const double>(two.data(), 2, n),
        MatrixView<double>(out.data(), 2, n));
    for (std::size_t c = 0; c < z.size(); ++c) {
      expected[c] = 0;
      for (std::size_t r = 0; r < z.size(); ++r) expected[c] += j[r * z.size() + c] * z[r];
    }
    CHECK(distance({out.begin(), out.begin() + n}, expected) < 1e-14);
  });
}

TEST_CASE("checked functions accept a foreign map, and refuse one that its own validate refuses", "[scoring]") {
  const std::vector<double> u{1, -2, 0, 0.5, 3};
  for_each_foreign_map([&](const auto& map) {
    std::vector<double> out(z.size()), expected(z.size());
    checked::weights(map, z, out);
    CHECK(distance(out, by_definition(map, z)) < 1e-15);
    checked::log_weights(map, z, out);
    for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::abs(out[i] - std::log(by_definition(map, z)[i])) < 1e-14);
    checked::jvp(map, z, u, out);
    jvp(map, Row<const double>(z), Row<const double>(u), Row<double>(expected));
    CHECK(out == expected);
    checked::vjp(map, z, u, out);
    vjp(map, Row<const double>(z), Row<const double>(u), Row<double>(expected));
    CHECK(out == expected);
    CHECK(names(message_of([&] { checked::weights(map, z, std::vector<double>(2)); }), "output row", "2"));
    CHECK(names(message_of([&] {
                  checked::weights(map, std::vector<double>{1, nan}, std::vector<double>(2));
                }),
                "NaN"));
  });
  std::vector<double> out(z.size());
  CHECK(names(message_of([&] { checked::weights(SinkSoftmax<double>(-1), z, out); }), "foreign::SinkSoftmax",
              "temperature", "-1"));
  CHECK(names(message_of([&] { checked::vjp(SinkSoftmax<double>(nan), z, u, out); }), "foreign::SinkSoftmax", "nan"));
  // no validate of its own: the NaN row of a map outside its domain is refused as the result
  CHECK(names(message_of([&] { checked::weights(Asinh<double>(-1), z, out); }), "result is undefined", "nan"));
}

TEST_CASE("a foreign map is differentiated with respect to its own parameter", "[scoring]") {
  std::vector<double> out(z.size());
  const auto check = [&](auto below, auto above, double step) {
    const auto a = by_definition(below, z), b = by_definition(above, z);
    for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::abs(out[i] - (b[i] - a[i]) / (2 * step)) < 1e-9);
  };
  checked::derivative(SinkSoftmax<double>(0.5), foreign::Warmth{}, z, out);
  check(SinkSoftmax<double>(0.5 - 1e-6), SinkSoftmax<double>(0.5 + 1e-6), 1e-6);
  CHECK(std::abs(total(out)) > 1e-6);  // the sink receives what the others lose

  checked::derivative(Asinh<double>(1.5), foreign::Steepness{}, z, out);
  const std::vector<double> a = by_definition(Asinh<double>(1.5), z);
  double mean = 0;
  for (std::size_t i = 0; i < z.size(); ++i) mean += a[i] * std::asinh(z[i]);
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::abs(out[i] - a[i] * (std::asinh(z[i]) - mean)) < 1e-15);
}

TEST_CASE("softmax after a foreign elementwise map has second derivatives and a summary", "[scoring]") {
  const Asinh<double> map(1.5);
  const std::vector<double> u{1, -2, 0, 0.5, 3}, v{0.5, 1, -1, 0, 2};
  std::vector<double> out(z.size()), above(z.size()), below(z.size()), moved = z;
  second_derivative(map, Row<const double>(z), Row<const double>(u), Row<const double>(v), Row<double>(out));
  for (std::size_t i = 0; i < z.size(); ++i) moved[i] = z[i] + 1e-6 * v[i];
  jvp(map, Row<const double>(moved), Row<const double>(u), Row<double>(above));
  for (std::size_t i = 0; i < z.size(); ++i) moved[i] = z[i] - 1e-6 * v[i];
  jvp(map, Row<const double>(moved), Row<const double>(u), Row<double>(below));
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::abs(out[i] - (above[i] - below[i]) / 2e-6) < 1e-8);

  const auto row = summary(map, Row<const double>(z));
  const std::vector<double> a = by_definition(map, z);
  double entropy = 0;
  for (const double w : a) entropy -= w * std::log(w);
  CHECK(row.visible_count == 5);
  CHECK(std::abs(row.entropy - entropy) < 1e-14);
  CHECK(std::abs(row.ipr - product(a, a)) < 1e-15);
  CHECK(std::abs(row.complement_of_largest - (1 - a[2])) < 1e-15);
}

}  // namespace foreign_maps_test

}  // namespace incontext::testing
