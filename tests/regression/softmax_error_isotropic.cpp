#include "incontext/regression/softmax_error_isotropic.hpp"

#include <cmath>
#include <limits>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "regression/softmax_attention.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;
using scoring::Softmax;
using scoring::SSA;
using scoring::SSMax;

namespace {

const IsotropicTask<double> law{.dimension = 3, .input_variance = 1.5, .task_variance = 0.4, .noise_variance = 0.2};
const IsotropicAttention<double> attention{.key_query_scale = 0.8, .label_value = 0.9};

LiteralAttention literal() {
  return {{0.8 * Matrix<double>::Identity(3, 3), Vector<double>::Zero(3), 0.9}, LinearTask<double>::isotropic(law)};
}

/// d = 1, l = 2, labels averaged: over the query and both inputs by the trapezoidal rule.
template <class Map>
double by_definition(const Map& map, double a, double b, double m, double v, double noise) {
  const double step = 0.2;
  double total = 0, mass = 0;
  for (double q = -8; q <= 8.05; q += step) {
    for (double g = -8; g <= 8.05; g += step) {
      for (double h = -8; h <= 8.05; h += step) {
        const double weight = std::exp(-(q * q + g * g + h * h) / 2);
        mass += weight;
        if (weight < 1e-17) continue;
        const double x[] = {std::sqrt(a) * g, std::sqrt(a) * h}, query = std::sqrt(a) * q;
        std::vector<double> scores{m * x[0] * query, m * x[1] * query}, p(2);
        weights(map, scores, p);
        const double missed = query - v * (p[0] * x[0] + p[1] * x[1]);
        total += weight * (noise * (1 + v * v * (p[0] * p[0] + p[1] * p[1])) + b * missed * missed);
      }
    }
  }
  return total / mass;
}

}  // namespace

TEST_CASE("one dimension and two examples agree with the integral over the inputs") {
  const double temperature = GENERATE(1.4, 2.5, 20.0);
  const IsotropicTask<double> line{1, 1.25, 0.5, 0.3};
  const IsotropicAttention<double> on_line{0.8, 0.9};
  const Softmax<double> softmax{temperature};
  const double theory = softmax_error_isotropic(on_line, line, 2, softmax).value;
  CHECK(std::abs(theory / by_definition(softmax, 1.25, 0.5, 0.8, 0.9, 0.3) - 1) < 1e-8);
  const SSMax<double> opposed{-0.5 / temperature};
  CHECK(std::abs(softmax_error_isotropic(on_line, line, 2, opposed).value /
                     by_definition(opposed, 1.25, 0.5, 0.8, 0.9, 0.3) -
                 1) < 1e-8);
  // Power: a third example.
  CHECK(std::abs(softmax_error_isotropic(on_line, line, 3, softmax).value / theory - 1) > 1e-2);
}

TEST_CASE("softmax, SSMax and SSA attention run as written err as the closed form says") {
  const auto check = [](const auto& map, std::int64_t l, std::uint64_t seed) {
    const SampleMean measured = literal().error(map, l, 200'000, seed);
    const double theory = softmax_error_isotropic(attention, law, l, map).value;
    CAPTURE(theory, measured.mean(), l);
    CHECK(std::abs(measured.z(theory)) <= 5.0);
    // Power: one example less; the noise of the labels that the weights keep; a dimension more.
    CHECK(std::abs(measured.z(softmax_error_isotropic(attention, law, l - 1, map).value)) > 5.0);
    auto other = law;
    other.noise_variance = 0.3;
    CHECK(std::abs(measured.z(softmax_error_isotropic(attention, other, l, map).value)) > 5.0);
    other = law;
    other.dimension = 4;
    CHECK(std::abs(measured.z(softmax_error_isotropic(attention, other, l, map).value)) > 5.0);
  };
  check(Softmax<double>{0.6}, 5, 1);
  check(Softmax<double>{2.5}, 8, 2);
  check(SSMax<double>{0.8, -0.1}, 5, 3);
  check(SSMax<double>{-0.3}, 5, 4);
  check(SSA<double>{1.0, 2.0, 0.7}, 6, 5);
}

TEST_CASE("hot softmax is approximate softmax") {
  const std::int64_t l = GENERATE(2, 30);
  const Attention<double> full{0.8 * Matrix<double>::Identity(3, 3), Vector<double>::Zero(3), 0.9};
  const auto approximate = generalization_error(full, LinearTask<double>::isotropic(law), l);
  const auto at = [&](double t) { return softmax_error_isotropic(attention, law, l, Softmax<double>{t}).value; };
  const double uniform = at(std::numeric_limits<double>::infinity());
  CHECK(std::abs(uniform / approximate.constant - 1) < 1e-14);
  CHECK(std::abs((uniform - at(1e4)) * 1e4 / (2 * approximate.linear) - 1) < 1e-2);
  CHECK(std::abs((uniform - at(1e5)) * 1e5 / (2 * approximate.linear) - 1) < 1e-3);
  // and what is left is of third order: by symmetry the second is that of the approximate one
  const double off = std::abs(at(1e2) - approximate(1e2)), nearer = std::abs(at(1e3) - approximate(1e3));
  CHECK(nearer < 0.0012 * off);
  CHECK(nearer > 0.0008 * off);
}

TEST_CASE("a long context predicts what approximate softmax predicts, at any temperature the tilt allows") {
  const double temperature = GENERATE(4.0, 10.0);
  const double gain = 0.9 * 0.8 * 1.5 / temperature;
  const double limit = 0.2 + 1.5 * 0.4 * 3 * (1 - gain) * (1 - gain);
  double before = 1;
  for (const std::int64_t l : {10'000, 1'000'000, 100'000'000}) {
    const double off = softmax_error_isotropic(attention, law, l, Softmax<double>{temperature}).value / limit - 1;
    CHECK(off > 0);
    CHECK(off < 0.02 * before);
    before = off;
  }
}

TEST_CASE("cold softmax is the largest score alone") {
  // of two: mean 1 / sqrt(pi), mean square 1; mean radius sqrt(2) Gamma((d + 1) / 2) / Gamma(d / 2)
  for (const std::int64_t d : {1, 3, 50}) {
    auto task = law;
    task.dimension = d;
    const double half = static_cast<double>(d) / 2, v = 0.9;
    const double radius = std::sqrt(2.0) * std::exp(std::lgamma(half + 0.5) - std::lgamma(half));
    const double hardmax =
        0.2 * (1 + v * v) + 0.6 * (2 * half * (1 + v * v) - 2 * v * radius / std::sqrt(3.14159265358979323846));
    CHECK(std::abs(softmax_error_isotropic(attention, task, 2, Softmax<double>{1e-6}).value / hardmax - 1) < 1e-5);
  }
}

TEST_CASE("the error keeps its digits where it nearly vanishes") {
  // d = 1, no noise, gain v m a / t = 1: the second order, v^2 Z (S^2 k^2 T + S) / l, is all there is.
  const IsotropicTask<double> task{1, 4.0, 1.0, 0.0};
  const IsotropicAttention<double> strong{1.0, 4.0};
  const double k = 1.0 / 16, tilted = 1 / (0.25 - 8 * k * k), z = std::sqrt(tilted / 4);
  const double leading = 16 * z * (16 * k * k * tilted + 4);
  for (const double l : {1e6, 1e8}) {
    const auto error = softmax_error_isotropic(strong, task, static_cast<std::int64_t>(l), Softmax<double>{16.0});
    CHECK(std::abs(error.value * l / leading - 1) < 100 / l);
    CHECK(error.error_estimate < 1e-9 * error.value);
  }
}

TEST_CASE("only gains matter: turning both signs, or trading input scale for temperature") {
  const double theory = softmax_error_isotropic(attention, law, 7, Softmax<double>{1.3}).value;
  CHECK(std::abs(softmax_error_isotropic({-0.8, -0.9}, law, 7, Softmax<double>{1.3}).value / theory - 1) < 1e-13);
  CHECK(std::abs(softmax_error_isotropic({8.0, 0.9}, law, 7, Softmax<double>{13.0}).value / theory - 1) < 1e-13);
  CHECK(softmax_error_isotropic({-0.8, 0.9}, law, 7, Softmax<double>{1.3}).value > 1.2 * theory);
  const double silent = softmax_error_isotropic({0.0, 0.9}, law, 7, Softmax<double>{1.3}).value;
  CHECK(std::abs(silent / (2.0 * (1 + 0.81 / 7)) - 1) < 1e-13);
}

TEST_CASE("long double and float agree with double from one dimension to a thousand, hot and cold") {
  const std::int64_t d = GENERATE(1, 40, 1000);
  const std::int64_t l = GENERATE(2, 1'000'000);
  const double temperature = GENERATE(0.05, 3.0);
  auto task = law;
  task.dimension = d;
  const auto error = softmax_error_isotropic(attention, task, l, Softmax<double>{temperature});
  const IsotropicTask<float> task_f{d, 1.5F, 0.4F, 0.2F};
  const auto single = softmax_error_isotropic<float>({0.8F, 0.9F}, task_f, l, Softmax<float>{float(temperature)});
  CAPTURE(d, l, temperature, error.value, single.value);
  CHECK(std::abs(static_cast<double>(single.value) / error.value - 1) < 2e-3);
  CHECK(error.error_estimate < 1e-8 * error.value);
  if (d > 40) return;
  const IsotropicTask<long double> task_l{d, 1.5L, 0.4, 0.2};
  const auto exact =
      softmax_error_isotropic<long double>({0.8, 0.9}, task_l, l, Softmax<long double>{temperature}).value;
  CHECK(std::abs(error.value / static_cast<double>(exact) - 1) < 1e-13);
}

TEST_CASE("softmax_error_isotropic refuses what it cannot mean, and says which value") {
  const Softmax<double> map{1.0};
  CHECK_THROWS_AS(softmax_error_isotropic(attention, law, 1, map), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { softmax_error_isotropic(attention, law, 1, map); },
                                  {"context_length", "value = 1"}));
  auto task = law;
  task.dimension = 0;
  CHECK(
      refuses<std::logic_error>([&] { softmax_error_isotropic(attention, task, 5, map); }, {"dimension", "value = 0"}));
  task = law;
  task.noise_variance = -1;
  CHECK(refuses<std::logic_error>([&] { softmax_error_isotropic(attention, task, 5, map); },
                                  {"noise_variance", "value = -1"}));
  CHECK(refuses<std::logic_error>(
      [&] {
        softmax_error_isotropic({std::nan(""), 1.0}, law, 5, map);
      },
      {"key_query_scale", "nan"}));
  CHECK(refuses<std::logic_error>(
      [&] {
        softmax_error_isotropic({1.0, std::nan("")}, law, 5, map);
      },
      {"label_value", "nan"}));
  CHECK(refuses<std::logic_error>([&] { softmax_error_isotropic(attention, law, 5, Softmax<double>{-1.0}); },
                                  {"temperature", "value = -1;"}));
  CHECK_THROWS_AS(softmax_error_isotropic(attention, law, 5, SSA<double>{1.0, 1e6}), numerics::QuadratureError);
}
