#include "incontext/apply/attention.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace scoring;
using apply::Options;

namespace {

template <class T>
Softmax<long double> widened(const Softmax<T>& map) {
  return {static_cast<long double>(map.temperature)};
}
template <class T>
SSMax<long double> widened(const SSMax<T>& map) {
  return {static_cast<long double>(map.scale), static_cast<long double>(map.bias)};
}
template <class T>
SSA<long double> widened(const SSA<T>& map) {
  return {static_cast<long double>(map.base), static_cast<long double>(map.exponent),
          static_cast<long double>(map.temperature)};
}
template <class T>
NormSoftmax<long double> widened(const NormSoftmax<T>& map) {
  return {static_cast<long double>(map.temperature), map.scale};
}
template <class T>
LinearAttention<long double> widened(const LinearAttention<T>& map) {
  return {static_cast<long double>(map.temperature), map.normalization};
}
template <class T>
Entmax<long double> widened(const Entmax<T>& map) {
  return {static_cast<long double>(map.alpha)};
}
template <class Function, class T>
RatioScore<Function, long double> widened(const RatioScore<Function, T>& map) {
  return {map.normalization};
}

/// Inputs of a layer, small enough for a reference in long double.
template <class T>
struct Layer {
  Matrix<T> queries, keys, values;

  Layer(std::ptrdiff_t q, std::ptrdiff_t n, std::ptrdiff_t d, std::ptrdiff_t dv, double stddev = 1)
      : queries(q, d, 3), keys(n, d, 1), values(n, dv, 2) {
    Random random(static_cast<std::uint64_t>(q * 10007 + n));
    queries.fill_normal(random, stddev);
    keys.fill_normal(random);
    values.fill_normal(random);
  }
};

/// Attention in three steps in long double: scores, weights, values. Also sum_j |a_j v_j|, in units of which rounding
/// is measured.
template <class T, class Map>
std::pair<std::vector<long double>, std::vector<long double>> in_three_steps(const Map& map, const Layer<T>& layer,
                                                                             const std::vector<std::int64_t>& counts) {
  std::vector<long double> out, size;
  for (std::ptrdiff_t i = 0; i < layer.queries.rows; ++i) {
    std::vector<long double> row;
    for (std::ptrdiff_t j = 0; j < counts[static_cast<std::size_t>(i)]; ++j) {
      long double score = 0;
      for (std::ptrdiff_t c = 0; c < layer.queries.columns; ++c) {
        score += static_cast<long double>(layer.queries(i, c)) * static_cast<long double>(layer.keys(j, c));
      }
      row.push_back(score);
    }
    weights(widened(map), view(row), row);
    for (std::ptrdiff_t e = 0; e < layer.values.columns; ++e) {
      long double sum = 0, sizes = 0;
      for (std::size_t j = 0; j < row.size(); ++j) {
        const long double term = row[j] * static_cast<long double>(layer.values(static_cast<std::ptrdiff_t>(j), e));
        sum += term;
        sizes += std::abs(term);
      }
      out.push_back(sum);
      size.push_back(sizes);
    }
  }
  return {out, size};
}

/// Largest error in units of eps times the sum with absolute values.
template <class T>
double roundings(const Matrix<T>& out, const std::pair<std::vector<long double>, std::vector<long double>>& truth) {
  double worst = 0;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t e = 0; e < out.columns; ++e) {
      const auto at = static_cast<std::size_t>(i * out.columns + e);
      const long double error = std::abs(static_cast<long double>(out(i, e)) - truth.first[at]);
      const long double relative = error <= 0 ? 0 : error / truth.second[at];  // nothing is summed where ReLU is 0
      raise(worst, static_cast<double>(relative) / static_cast<double>(std::numeric_limits<T>::epsilon()));
    }
  }
  return worst;
}

template <class T>
std::vector<std::int64_t> counts_of(const Options& options, const Layer<T>& layer) {
  std::vector<std::int64_t> counts(options.visible_counts.begin(), options.visible_counts.end());
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(counts.size()); i < layer.queries.rows; ++i) {
    counts.push_back(visible_keys(options.visibility, i, layer.queries.rows, layer.keys.rows));
  }
  return counts;
}

/// Compares the serial system with the three steps in long double, and the other systems with the serial one's bits.
template <class Map>
void check_attention(const Map& map, const Layer<typename Map::value_type>& layer, const Options& options,
                     double bound) {
  using T = typename Map::value_type;
  Matrix<T> first(layer.queries.rows, layer.values.columns, 4);
  Options serial = options;
  serial.device = simulate::Device::serial;
  apply::attend(map, layer.queries.in(), layer.keys.in(), layer.values.in(), first.out(), serial);
  const auto truth = in_three_steps(map, layer, counts_of(options, layer));
  CHECK(roundings(first, truth) <= bound);
  for_each_system(options, [&](const Options& here) {
    CAPTURE(simulate::name(here.device), here.threads);
    Matrix<T> out(layer.queries.rows, layer.values.columns, 4);
    apply::attend(map, layer.queries.in(), layer.keys.in(), layer.values.in(), out.out(), here);
    CHECK(same_bits(out.numbers, first.numbers));
  });
}

/// Shapes that are no multiples of a batch, a block or a register, each with all keys visible, under a causal mask, and
/// with given counts of visible keys.
template <class Map>
void check_attention(const Map& map, double bound = 64) {
  using T = typename Map::value_type;
  struct Shape {
    std::ptrdiff_t q, n, d, dv;
  };
  for (const Shape& s : {Shape{1, 1, 1, 1}, Shape{5, 3, 2, 9}, Shape{70, 200, 17, 11}, Shape{33, 64, 8, 8}}) {
    CAPTURE(s.q, s.n, s.d, s.dv);
    const Layer<T> layer(s.q, s.n, s.d, s.dv);
    std::vector<std::int64_t> given;
    for (std::ptrdiff_t i = 0; i < s.q; ++i) given.push_back(1 + (i * 53) % s.n);
    check_attention(map, layer, Options{}, bound);
    check_attention(map, layer, Options{.visibility = Visibility::causal}, bound);
    check_attention(map, layer, Options{.visible_counts = given}, bound);
  }
}

}  // namespace

TEST_CASE("attention by a running maximum is attention in three steps, the same bits on every system", "[apply]") {
  check_attention(Softmax<float>{3.0f});
  check_attention(Softmax<double>{2});
  check_attention(SSMax<float>{0.25f, 0.125f});
  check_attention(SSMax<double>{0.25, -2});
  check_attention(SSA<float>{});
  check_attention(SSA<double>{0.5, 3, 2});
}

TEST_CASE("attention by running sums is attention in three steps", "[apply]") {
  check_attention(LinearAttention<float>{2.0f}, 256);
  check_attention(LinearAttention<double>{2, LinearNormalization::none}, 256);
  check_attention(RatioScore<Average, double>{}, 64);
  check_attention(RatioScore<Relu, double>{ScoreNormalization::context_length}, 256);
  check_attention(RatioScore<Square, double>{ScoreNormalization::absolute_sum}, 256);
}

TEST_CASE("attention of a map that needs its whole row is attention in three steps", "[apply]") {
  check_attention(NormSoftmax<double>{64}, 256);
  check_attention(Entmax<double>{1.5}, 256);
}

TEST_CASE("a scalar without packs goes by rows", "[apply]") {
  const Layer<long double> layer(9, 70, 5, 3);
  Matrix<long double> out(9, 3);
  apply::attend(Softmax<long double>{2}, layer.queries.in(), layer.keys.in(), layer.values.in(), out.out());
  CHECK(roundings(out, in_three_steps(Softmax<long double>{2}, layer, counts_of(Options{}, layer))) <= 64);
}

TEST_CASE("a maximum that keeps rising, and scores hundreds apart, lose nothing", "[apply]") {
  Layer<double> layer(9, 400, 1, 3);
  for (std::ptrdiff_t j = 0; j < 400; ++j) layer.keys(j, 0) = static_cast<double>(j);
  for (std::ptrdiff_t i = 0; i < 9; ++i) layer.queries(i, 0) = static_cast<double>(i - 4);
  check_attention(Softmax<double>{1}, layer, Options{}, 256);
  check_attention(Softmax<double>{0.01}, layer, Options{.visibility = Visibility::causal}, 256);
  check_attention(SSA<double>{}, layer, Options{}, 256);
}

TEST_CASE("long sums keep their digits, and attention at another temperature is refused", "[apply]") {
  const Layer<float> layer(3, 20000, 4, 2);
  check_attention(Softmax<float>{2.0f}, layer, Options{}, 64);
  Matrix<float> out(3, 2);
  apply::attend(Softmax<float>{2.002f}, layer.queries.in(), layer.keys.in(), layer.values.in(), out.out());
  CHECK(roundings(out, in_three_steps(Softmax<float>{2.0f}, layer, {20000, 20000, 20000})) > 64);
}

TEST_CASE("SSA whose knee is out of the packs' range goes by rows", "[apply]") {
  const Layer<double> layer(4, 30, 3, 2);
  check_attention(SSA<double>{1e307, 1, 1}, layer, Options{}, 256);
}

TEST_CASE("attention refuses bad shapes, shared memory and undefined queries by name", "[apply]") {
  Layer<double> layer(4, 6, 3, 2);
  Matrix<double> out(4, 2), wide(4, 3), keys(6, 4), values(5, 2);
  const Softmax<double> map;
  const auto says = [](const std::string& what, auto call) {
    INFO(what);
    CHECK(names(message_of(call), what));
  };
  const auto attend = [&](const MatrixView<const double>& k, const MatrixView<const double>& v,
                          const MatrixView<double>& o,
                          const Options& options) { apply::attend(map, layer.queries.in(), k, v, o, options); };
  const auto k = layer.keys.in();
  const auto v = layer.values.in();
  says("columns of keys has the wrong size (value = 4; needs 3)", [&] { attend(keys.in(), v, out.out(), {}); });
  says("rows of values has the wrong size (value = 5; needs 6)", [&] { attend(k, values.in(), out.out(), {}); });
  says("columns of out has the wrong size (value = 3; needs 2)", [&] { attend(k, v, wide.out(), {}); });
  says("keys is too small (value = 0", [&] { attend(MatrixView<const double>(k.data, 0, 3), v, out.out(), {}); });
  says("out shares elements with an input",
       [&] { attend(k, v, MatrixView<double>(layer.values.numbers.data(), 4, 2, scoring::Strides{4}), {}); });
  says("threads is too small", [&] { attend(k, v, out.out(), {.threads = -2}); });
  says("temperature is not positive", [&] { apply::attend(Softmax<double>{0}, layer.queries.in(), k, v, out.out()); });
  layer.queries(3, 1) = nan;
  says("undefined on this query's scores: query (value = 3", [&] { attend(k, v, out.out(), {}); });
  says("undefined on this query's scores: query (value = 3",
       [&] { apply::attend(RatioScore<Relu, double>{}, layer.queries.in(), k, v, out.out()); });
  attend(k, v, out.out(), {.undefined = apply::Undefined::leave});
  CHECK(all_nan(out.row(3)));
  CHECK_FALSE(all_nan(out.row(2)));
  layer.queries(3, 1) = 1;
  for (const std::int64_t column : {0, 1}) {
    layer.values(2, column) = nan;
    says("a value is not finite, or the map is undefined", [&] { attend(k, v, out.out(), {}); });
    layer.values(2, column) = 1;
  }
}

}  // namespace incontext::testing
