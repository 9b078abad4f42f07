#include "incontext/apply/attention_gradient.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/scoring/parameter.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace scoring;
using apply::Options;

namespace {

using Long = long double;

template <class T>
Softmax<Long> in_long(const Softmax<T>& map) {
  return {Long(map.temperature)};
}
template <class T>
SSMax<Long> in_long(const SSMax<T>& map) {
  return {Long(map.scale), Long(map.bias)};
}
template <class T>
SSA<Long> in_long(const SSA<T>& map) {
  return {Long(map.base), Long(map.exponent), Long(map.temperature)};
}

/// A layer with a cotangent of its outputs, and the numbers of visible keys.
template <class T>
struct GradientLayer {
  Matrix<T> queries, keys, values, cotangent;
  std::vector<std::int64_t> counts;

  GradientLayer(std::ptrdiff_t q, std::ptrdiff_t n, std::ptrdiff_t d, std::ptrdiff_t dv)
      : queries(q, d, 3), keys(n, d, 1), values(n, dv, 2), cotangent(q, dv, 1) {
    Random random(static_cast<std::uint64_t>(q * 10007 + n));
    for (Matrix<T>* matrix : {&queries, &keys, &values, &cotangent}) matrix->fill_normal(random);
  }
};

template <class T>
struct Gradient {
  Matrix<T> queries, keys, values;
  explicit Gradient(const GradientLayer<T>& layer)
      : queries(layer.queries.rows, layer.queries.columns, 2),
        keys(layer.keys.rows, layer.keys.columns, 1),
        values(layer.values.rows, layer.values.columns, 3) {}
  apply::AttentionGradient<T> out() { return {queries.out(), keys.out(), values.out()}; }
};

/// The literal backward pass through whole rows in long double, by the map's own vjp and derivatives, and every sum
/// again with absolute values.
struct Dense {
  std::vector<Long> value, size;
  explicit Dense(std::ptrdiff_t numbers)
      : value(static_cast<std::size_t>(numbers), 0), size(static_cast<std::size_t>(numbers), 0) {}
  void add(std::ptrdiff_t at, Long a, Long a_size, Long b) {
    value[static_cast<std::size_t>(at)] += a * b;
    size[static_cast<std::size_t>(at)] += a_size * std::abs(b);
  }
};

template <class T, class Map, class Parameters>
struct Literal {
  Dense queries, keys, values;
  struct ByParameter {
    Long value, size, uncentered;  // uncentered: as if a . g were 0
  };
  std::vector<ByParameter> parameters;

  Literal(const Map& map, const GradientLayer<T>& layer, Parameters each_parameter)
      : queries(layer.queries.rows * layer.queries.columns),
        keys(layer.keys.rows * layer.keys.columns),
        values(layer.values.rows * layer.values.columns) {
    const std::ptrdiff_t d = layer.queries.columns, dv = layer.values.columns;
    for (std::ptrdiff_t i = 0; i < layer.queries.rows; ++i) {
      std::vector<Long> z, g;
      for (std::ptrdiff_t j = 0; j < layer.counts[static_cast<std::size_t>(i)]; ++j) {
        Long score = 0, pull = 0;
        for (std::ptrdiff_t c = 0; c < d; ++c) score += Long(layer.queries(i, c)) * Long(layer.keys(j, c));
        for (std::ptrdiff_t e = 0; e < dv; ++e) pull += Long(layer.cotangent(i, e)) * Long(layer.values(j, e));
        z.push_back(score);
        g.push_back(pull);
      }
      std::vector<Long> a(z.size()), s(z.size()), by(z.size());
      weights(map, view(z), a);
      vjp(map, view(z), view(g), s);
      const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(z.size()));
      Long mean_size = 0;
      for (std::size_t j = 0; j < z.size(); ++j) mean_size += a[j] * std::abs(g[j]);
      for (std::size_t k = 0; k < z.size(); ++k) {
        const auto j = static_cast<std::ptrdiff_t>(k);
        const Long size = std::abs(phi.slope(z[k])) * a[k] * (std::abs(g[k]) + mean_size);
        for (std::ptrdiff_t c = 0; c < d; ++c) {
          queries.add(i * d + c, s[k], size, Long(layer.keys(j, c)));
          keys.add(j * d + c, s[k], size, Long(layer.queries(i, c)));
        }
        for (std::ptrdiff_t e = 0; e < dv; ++e) values.add(j * dv + e, a[k], a[k], Long(layer.cotangent(i, e)));
      }
      std::size_t at = 0;
      each_parameter([&](auto parameter) {
        derivative(map, parameter, view(z), by);
        if (parameters.size() <= at) parameters.push_back({0, 0, 0});
        for (std::size_t j = 0; j < z.size(); ++j) {
          const Long f = phi.difference_by(parameter, z[j], z[0]);
          parameters[at].value += by[j] * g[j];
          parameters[at].size += a[j] * (std::abs(g[j]) + mean_size) * std::abs(f);
          parameters[at].uncentered += a[j] * g[j] * f;
        }
        ++at;
      });
    }
  }
};

template <class T>
double gradient_roundings(const Matrix<T>& result, const Dense& truth) {
  double worst = 0;
  for (std::ptrdiff_t i = 0; i < result.rows; ++i) {
    for (std::ptrdiff_t c = 0; c < result.columns; ++c) {
      const auto at = static_cast<std::size_t>(i * result.columns + c);
      const Long error = std::abs(Long(result(i, c)) - truth.value[at]);
      if (error > 0)
        raise(worst, static_cast<double>(error / truth.size[at] / Long(std::numeric_limits<T>::epsilon())));
    }
  }
  return worst;
}

template <class Map, class Parameters>
void check_gradient(const Map& map, const GradientLayer<typename Map::value_type>& layer, const Options& options,
                    Parameters each_parameter) {
  using T = typename Map::value_type;
  const auto wide = in_long(map);
  const Literal<T, std::remove_cvref_t<decltype(wide)>, Parameters> truth(wide, layer, each_parameter);
  bool first = true;
  Gradient<T> expected(layer);
  for_each_system(options, [&](const Options& system) {
    for (const int threads : {system.threads, 7}) {
      Options chosen = system;
      chosen.threads = threads;
      CAPTURE(simulate::name(chosen.device), chosen.threads);
      Gradient<T> gradient(layer);
      auto by = apply::attention_gradient(map, layer.queries.in(), layer.keys.in(), layer.values.in(),
                                          layer.cotangent.in(), gradient.out(), chosen);
      if (first) {
        CHECK(gradient_roundings(gradient.queries, truth.queries) <= 256);
        CHECK(gradient_roundings(gradient.keys, truth.keys) <= 256);
        CHECK(gradient_roundings(gradient.values, truth.values) <= 256);
        std::size_t at = 0;
        each_parameter([&](auto parameter) {
          const auto& exact = truth.parameters[at++];
          const Long bound = 256 * Long(std::numeric_limits<T>::epsilon()) * exact.size;
          CHECK(std::abs(Long(parameter.of(by)) - exact.value) <= bound);
          if (layer.queries.rows > 30) CHECK_FALSE(std::abs(Long(parameter.of(by)) - exact.uncentered) <= bound);
        });
        expected = gradient;
      }
      first = false;
      CHECK(same_bits(gradient.queries.numbers, expected.queries.numbers));
      CHECK(same_bits(gradient.keys.numbers, expected.keys.numbers));
      CHECK(same_bits(gradient.values.numbers, expected.values.numbers));
    }
  });
}

template <class Map, class Parameters>
void check_gradient(const Map& map, Parameters each_parameter) {
  using T = typename Map::value_type;
  struct Shape {
    std::ptrdiff_t q, n, d, dv;
  };
  for (const Shape& s :
       {Shape{1, 1, 1, 1}, Shape{5, 3, 2, 9}, Shape{70, 200, 17, 11}, Shape{130, 65, 8, 8}, Shape{200, 300, 5, 35}}) {
    CAPTURE(s.q, s.n, s.d, s.dv);
    GradientLayer<T> layer(s.q, s.n, s.d, s.dv);
    std::vector<std::int64_t> all, causal, given;
    for (std::ptrdiff_t i = 0; i < s.q; ++i) {
      all.push_back(s.n);
      causal.push_back(visible_keys(Visibility::causal, i, s.q, s.n));
      given.push_back(1 + (i * 53) % s.n);
    }
    layer.counts = all;
    check_gradient(map, layer, Options{}, each_parameter);
    layer.counts = causal;
    check_gradient(map, layer, Options{.visibility = Visibility::causal}, each_parameter);
    layer.counts = given;
    check_gradient(map, layer, Options{.visible_counts = given}, each_parameter);
  }
}

}  // namespace

TEST_CASE("the gradient of attention is the literal backward pass, the same bits on every system", "[apply]") {
  const auto temperature = [](auto visit) { visit(parameter::Temperature{}); };
  const auto scale_and_bias = [](auto visit) {
    visit(parameter::Scale{});
    visit(parameter::Bias{});
  };
  const auto all_of_ssa = [](auto visit) {
    visit(parameter::Base{});
    visit(parameter::Exponent{});
    visit(parameter::Temperature{});
  };
  check_gradient(Softmax<float>{3.0f}, temperature);
  check_gradient(Softmax<double>{2}, temperature);
  check_gradient(SSMax<float>{0.25f, 0.125f}, scale_and_bias);
  check_gradient(SSMax<double>{0.25, -2}, scale_and_bias);
  check_gradient(SSA<float>{}, all_of_ssa);
  check_gradient(SSA<double>{0.5, 3, 2}, all_of_ssa);
}

namespace {

template <class Map>
using SweepOf =
    apply::detail::GradientSweep<typename apply::detail::ReaderOf<Map>::type,
                                 apply::detail::Team<simulate::detail::HostSystem, typename Map::value_type>>;

/// Compares one sweep, by several threads, with batches of queries and of keys, by so many that the sweep does not suit.
template <class Map>
void check_sweep(const Map& map, const std::vector<std::int64_t>& counts) {
  using T = typename Map::value_type;
  constexpr std::ptrdiff_t queries = 900, keys = 1000;
  const GradientLayer<T> layer(queries, keys, 19, 33);
  for (const simulate::Device device : {simulate::Device::openmp, simulate::Device::tbb}) {
    if (!simulate::is_available(device)) continue;
    const auto gradient_by = [&](int threads) {
      Gradient<T> gradient(layer);
      const auto by =
          apply::attention_gradient(map, layer.queries.in(), layer.keys.in(), layer.values.in(), layer.cotangent.in(),
                                    gradient.out(), {.visible_counts = counts, .device = device, .threads = threads});
      std::vector<double> by_parameter;
      if constexpr (requires { by.base; }) by_parameter = {by.base, by.exponent, by.temperature};
      if constexpr (requires { by.scale; }) by_parameter = {by.scale, by.bias};
      return std::pair(gradient, by_parameter);
    };
    REQUIRE_FALSE(SweepOf<Map>::suits(queries, keys, 9));
    const auto [batches, batches_by_parameter] = gradient_by(9);
    for (const int threads : {1, 2, 3, 5, 7}) {
      CAPTURE(simulate::name(device), threads);
      REQUIRE(SweepOf<Map>::suits(queries, keys, threads));
      const auto [sweep, by_parameter] = gradient_by(threads);
      CHECK(same_bits(sweep.queries.numbers, batches.queries.numbers));
      CHECK(same_bits(sweep.keys.numbers, batches.keys.numbers));
      CHECK(same_bits(sweep.values.numbers, batches.values.numbers));
      CHECK(same_bits(by_parameter, batches_by_parameter));
      CHECK(by_parameter.size() > 1);
    }
  }
}

}  // namespace

TEST_CASE("one sweep over the tiles has the bits of batches of queries and of keys, with every number of threads",
          "[apply]") {
  using Sweep = SweepOf<SSA<float>>;
  CHECK(Sweep::suits(1, 1, 1));
  CHECK(Sweep::suits(256, 256, 2));
  CHECK_FALSE(Sweep::suits(192, 256, 2));  // three tiles of queries: the batches of keys have work for both
  CHECK_FALSE(Sweep::suits(256, 192, 2));
  CHECK(Sweep::suits(1, 1 << 18, 1));
  CHECK_FALSE(Sweep::suits(1, (1 << 18) + 1, 1));
  // Every second tile ends early, and must not let the next one overtake the one before.
  std::vector<std::int64_t> counts;
  for (std::ptrdiff_t i = 0; i < 900; ++i) counts.push_back(i / 64 % 2 == 1 ? 1 + i % 60 : 100 + i);
  check_sweep(SSA<float>{}, counts);
  check_sweep(SSMax<double>{0.25, -2}, {});
}

TEST_CASE("the gradient of attention is the difference quotient of its outputs", "[apply]") {
  GradientLayer<double> layer(6, 20, 3, 2);
  Gradient<double> gradient(layer);
  const SSA<double> map{1, 1.5, 2};
  const auto loss = [&](const SSA<double>& at) {
    Matrix<double> out(6, 2);
    apply::attend(at, layer.queries.in(), layer.keys.in(), layer.values.in(), out.out(),
                  {.visibility = Visibility::causal});
    double sum = 0;
    for (std::ptrdiff_t i = 0; i < 6; ++i) {
      for (std::ptrdiff_t e = 0; e < 2; ++e) sum += out(i, e) * layer.cotangent(i, e);
    }
    return sum;
  };
  const auto by = apply::attention_gradient(map, layer.queries.in(), layer.keys.in(), layer.values.in(),
                                            layer.cotangent.in(), gradient.out(), {.visibility = Visibility::causal});
  const double step = 1e-5;
  const auto along = [&](double& number) {
    const double before = number;
    number = before + step;
    const double above = loss(map);
    number = before - step;
    const double below = loss(map);
    number = before;
    return (above - below) / (2 * step);
  };
  CHECK(std::abs(along(layer.queries(4, 1)) - gradient.queries(4, 1)) <= 1e-8);
  CHECK(std::abs(along(layer.keys(2, 0)) - gradient.keys(2, 0)) <= 1e-8);
  CHECK(std::abs(along(layer.values(1, 1)) - gradient.values(1, 1)) <= 1e-8);
  CHECK_FALSE(std::abs(along(layer.keys(2, 0)) - gradient.keys(3, 0)) <= 1e-8);
  SSA<double> above = map, below = map;
  above.exponent += step;
  below.exponent -= step;
  CHECK(std::abs((loss(above) - loss(below)) / (2 * step) - by.exponent) <= 1e-8);
}

TEST_CASE("a key that no query sees has a gradient of 0", "[apply]") {
  GradientLayer<double> layer(6, 20, 3, 2);
  Gradient<double> gradient(layer);
  const std::vector<std::int64_t> counts{1, 2, 3, 4, 5, 6};
  apply::attention_gradient(Softmax<double>{2}, layer.queries.in(), layer.keys.in(), layer.values.in(),
                            layer.cotangent.in(), gradient.out(), {.visible_counts = counts});
  CHECK(same_bits(gradient.keys.row(10), std::vector<double>(3, 0.0)));
  CHECK_FALSE(same_bits(gradient.keys.row(1), std::vector<double>(3, 0.0)));
}

TEST_CASE("the gradient of attention refuses bad shapes, shared memory and values that are not finite", "[apply]") {
  GradientLayer<double> layer(4, 8, 3, 2);
  Gradient<double> gradient(layer);
  const auto call = [&](const apply::AttentionGradient<double>& out) {
    return message_of([&] {
      apply::attention_gradient(Softmax<double>{1}, layer.queries.in(), layer.keys.in(), layer.values.in(),
                                layer.cotangent.in(), out);
    });
  };
  auto out = gradient.out();
  out.keys = gradient.queries.out();
  CHECK(names(call(out), "rows of gradient of the keys has the wrong size (value = 4; needs 8)"));
  out = gradient.out();
  out.queries = layer.queries.out();
  CHECK(names(call(out), "a gradient shares elements with an input"));
  layer.queries(2, 1) = nan;
  CHECK(names(call(gradient.out()), "query (value = 2"));
  CHECK(message_of([&] {
          apply::attention_gradient(SSA<double>{1e300, 1.5, 1e-300}, layer.queries.in(), layer.keys.in(),
                                    layer.values.in(), layer.cotangent.in(), gradient.out());
        }).find("temperature / base") != std::string::npos);
}

}  // namespace incontext::testing
