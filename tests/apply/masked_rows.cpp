#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/apply/derivative.hpp"
#include "incontext/apply/rows.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/parameter.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace scoring;
using apply::Options;

namespace {

constexpr std::ptrdiff_t rows = 9, columns = 12;

/// The rows with a nonzero count.
template <class T>
Matrix<T> without_masked(const Matrix<T>& matrix, const std::vector<std::int64_t>& counts) {
  std::vector<std::ptrdiff_t> left;
  for (std::ptrdiff_t i = 0; i < matrix.rows; ++i) {
    if (counts[static_cast<std::size_t>(i)] != 0) left.push_back(i);
  }
  Matrix<T> found(static_cast<std::ptrdiff_t>(left.size()), matrix.columns);
  for (std::ptrdiff_t i = 0; i < found.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < matrix.columns; ++j) found(i, j) = matrix(left[static_cast<std::size_t>(i)], j);
  }
  return found;
}

/// Rows that see no key, by their scores or by their counts, and the rest as without them.
template <class Map, class Parameter>
void check_rows(const Map& map, Parameter parameter) {
  using T = typename Map::value_type;
  Random random(17);
  Matrix<T> scores(rows, columns, 1), other(rows, columns, 2);
  scores.fill_normal(random, 2);
  other.fill_normal(random);
  const bool by_counts = GENERATE(false, true);
  std::vector<std::int64_t> counts(rows, columns);
  for (const std::ptrdiff_t i : {0, 4, 8}) {
    counts[static_cast<std::size_t>(i)] = 0;
    for (std::ptrdiff_t j = 0; j < columns && !by_counts; ++j) scores(i, j) = -std::numeric_limits<T>::infinity();
  }
  Options options{.zero_masked_rows = true};
  if (by_counts) options.visible_counts = counts;
  const Matrix<T> left = without_masked(scores, counts), left_other = without_masked(other, counts);
  for_each_system(options, [&](const Options& here) {
    CAPTURE(simulate::name(here.device), here.threads, by_counts);
    const auto check = [&](auto work) {
      Matrix<T> out(rows, columns, 3), expected(left.rows, columns);
      work(scores, other, out, here);
      work(left, left_other, expected, Options{.device = here.device, .threads = here.threads});
      CHECK(same_bits(without_masked(out, counts).numbers, expected.numbers));
      for (const std::ptrdiff_t i : {0, 4, 8}) CHECK(out.row(i) == std::vector<T>(columns, T(0)));
    };
    check([&](const auto& z, const auto&, auto& out, const Options& o) { apply::weights(map, z.in(), out.out(), o); });
    check([&](const auto& z, const auto& d, auto& out, const Options& o) {
      apply::jvp(map, z.in(), d.in(), out.out(), o);
    });
    check([&](const auto& z, const auto& d, auto& out, const Options& o) {
      apply::vjp(map, z.in(), d.in(), out.out(), o);
    });
    const auto all = apply::derivative(map, parameter, scores.in(), other.in(), here);
    const auto rest = apply::derivative(map, parameter, left.in(), left_other.in());
    CHECK(std::abs(all - rest) <= 1e-14 * std::abs(rest));
    Options refusing = here;
    refusing.zero_masked_rows = false;
    Matrix<T> out(rows, columns);
    CHECK_FALSE(message_of([&] { apply::weights(map, scores.in(), out.out(), refusing); }).empty());
  });
}

/// Queries that see no key have an output of 0, and nothing depends on them.
template <class Map, class Parameter>
void check_attention(const Map& map, Parameter parameter) {
  using T = typename Map::value_type;
  Random random(18);
  const std::ptrdiff_t q = 70, n = 130, d = 3, dv = 2;
  Matrix<T> queries(q, d), keys(n, d), values(n, dv), cotangent(q, dv);
  for (Matrix<T>* one : {&queries, &keys, &values, &cotangent}) one->fill_normal(random);
  std::vector<std::int64_t> counts, left_counts;
  for (std::ptrdiff_t i = 0; i < q; ++i) counts.push_back(i % 5 == 2 || i >= 64 ? 0 : 1 + (i * 37) % n);
  for (const std::int64_t count : counts) {
    if (count != 0) left_counts.push_back(count);
  }
  const Matrix<T> left = without_masked(queries, counts), left_cotangent = without_masked(cotangent, counts);
  for (std::ptrdiff_t c = 0; c < d; ++c) queries(2, c) = std::numeric_limits<T>::quiet_NaN();  // which sees no key
  for_each_system({.visible_counts = counts, .zero_masked_rows = true}, [&](const Options& here) {
    CAPTURE(simulate::name(here.device), here.threads);
    Options rest = here;
    rest.visible_counts = left_counts;
    Matrix<T> out(q, dv), expected(left.rows, dv);
    apply::attend(map, queries.in(), keys.in(), values.in(), out.out(), here);
    apply::attend(map, left.in(), keys.in(), values.in(), expected.out(), rest);
    CHECK(same_bits(without_masked(out, counts).numbers, expected.numbers));
    Matrix<T> by_queries(q, d), by_keys(n, d), by_values(n, dv);
    Matrix<T> by_left(left.rows, d), left_keys(n, d), left_values(n, dv);
    const auto by = apply::attention_gradient(map, queries.in(), keys.in(), values.in(), cotangent.in(),
                                              {by_queries.out(), by_keys.out(), by_values.out()}, here);
    const auto left_by = apply::attention_gradient(map, left.in(), keys.in(), values.in(), left_cotangent.in(),
                                                   {by_left.out(), left_keys.out(), left_values.out()}, rest);
    CHECK(same_bits(without_masked(by_queries, counts).numbers, by_left.numbers));
    const auto near = [](auto a, auto b) {
      const double size = 1 + std::abs(static_cast<double>(b));  // sums of up to 70 terms of order 1
      return static_cast<double>(std::abs(a - b)) <=
             512 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
    };
    for (std::size_t at = 0; at < by_keys.numbers.size(); ++at) CHECK(near(by_keys.numbers[at], left_keys.numbers[at]));
    for (std::size_t at = 0; at < by_values.numbers.size(); ++at) {
      CHECK(near(by_values.numbers[at], left_values.numbers[at]));
    }
    CHECK(near(parameter.of(by), parameter.of(left_by)));
    for (std::ptrdiff_t i = 0; i < q; ++i) {
      if (counts[static_cast<std::size_t>(i)] != 0) continue;
      CHECK(out.row(i) == std::vector<T>(static_cast<std::size_t>(dv), T(0)));
      CHECK(by_queries.row(i) == std::vector<T>(static_cast<std::size_t>(d), T(0)));
    }
  });
}

}  // namespace

TEST_CASE("rows that see no key are zeros where that is asked for, and change no other row", "[apply]") {
  check_rows(Softmax<float>{0.5f}, parameter::Temperature{});
  check_rows(SSMax<double>{0.5, 0.25}, parameter::Scale{});
  check_rows(SSA<double>{}, parameter::Exponent{});
  check_rows(NormSoftmax<double>{64}, parameter::Temperature{});
  check_rows(Entmax<double>{1.5}, parameter::Alpha{});
}

TEST_CASE("queries that see no key are zeros in fused attention, and nothing depends on them", "[apply]") {
  check_attention(Softmax<double>{2}, parameter::Temperature{});
  check_attention(SSMax<float>{0.5f, 0.25f}, parameter::Scale{});
  check_attention(SSA<double>{}, parameter::Exponent{});
}

}  // namespace incontext::testing
