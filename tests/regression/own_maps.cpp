#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "incontext/laws/row_moments.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/scoring/softmax.hpp"
#include "regression/softmax_attention.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

/// The exact error of maps that a user wrote: bounded, waving, with kinks, decreasing.
namespace incontext::testing {

using namespace regression;

namespace {

/// slope times one of a family of functions, with its first two derivatives.
struct Shape {
  std::string name;
  std::function<double(double)> value, slope, curvature;
  double nearest;  ///< distance of its singularities from the real axis
};

struct OwnPhi {
  double factor;
  const Shape* shape;
  bool in_domain() const { return true; }
  bool decreasing() const { return factor < 0; }
  double value(double z) const { return factor * shape->value(z); }
  double difference(double z, double w) const { return value(z) - value(w); }
  double slope(double z) const { return factor * shape->slope(z); }
  double curvature(double z) const { return factor * shape->curvature(z); }
};

struct OwnMap {
  using value_type = double;
  double factor;
  const Shape* shape;
  OwnPhi elementwise(std::ptrdiff_t) const { return {factor, shape}; }
};

const std::vector<Shape>& smooth_shapes() {
  using std::atan, std::cos, std::cosh, std::erf, std::exp, std::log1p, std::pow, std::sin, std::sqrt, std::tanh;
  static const double pi = std::acos(-1.0);
  static const std::vector<Shape> shapes{
      {"tanh", [](double z) { return tanh(z); }, [](double z) { return 1 / (cosh(z) * cosh(z)); },
       [](double z) { return -2 * tanh(z) / (cosh(z) * cosh(z)); }, pi / 2},
      {"10 tanh(z/10)", [](double z) { return 10 * tanh(z / 10); }, [](double z) { return 1 - pow(tanh(z / 10), 2); },
       [](double z) { return -0.2 * tanh(z / 10) * (1 - pow(tanh(z / 10), 2)); }, 5 * pi},
      {"atan", [](double z) { return atan(z); }, [](double z) { return 1 / (1 + z * z); },
       [](double z) { return -2 * z / pow(1 + z * z, 2); }, 1},
      {"z/sqrt(1+z^2)", [](double z) { return z / sqrt(1 + z * z); }, [](double z) { return pow(1 + z * z, -1.5); },
       [](double z) { return -3 * z * pow(1 + z * z, -2.5); }, 1},
      {"softplus", [](double z) { return z > 30 ? z : log1p(exp(z)); }, [](double z) { return 1 / (1 + exp(-z)); },
       [](double z) { return 1 / (2 + exp(z) + exp(-z)); }, pi},
      {"erf", [](double z) { return erf(z); }, [](double z) { return 2 / sqrt(pi) * exp(-z * z); },
       [](double z) { return -4 * z / sqrt(pi) * exp(-z * z); }, 1},
      {"sin", [](double z) { return sin(z); }, [](double z) { return cos(z); }, [](double z) { return -sin(z); }, 1}};
  return shapes;
}

const std::vector<Shape>& kinked_shapes() {
  static const std::vector<Shape> shapes{
      {"cut at 1", [](double z) { return std::clamp(z, -1.0, 1.0); },
       [](double z) { return std::abs(z) < 1 ? 1.0 : 0.0; }, [](double) { return 0.0; }, 0},
      {"z/(1+|z|/10)", [](double z) { return z / (1 + std::abs(z) / 10); },
       [](double z) { return std::pow(1 + std::abs(z) / 10, -2); },
       [](double z) { return std::copysign(0.2, -z) * std::pow(1 + std::abs(z) / 10, -3); }, 0}};
  return shapes;
}

/// The moments of rows of two scores of the given standard deviation, in units of it, by the trapezoidal rule over both.
std::array<double, 3> two_scores(const Shape& shape, double factor, double deviation) {
  // the weights' poles are where factor phi differs by pi i
  const double step = std::min(0.125, 0.19 * std::min(shape.nearest, 2.7 / factor) / deviation);
  const int half = static_cast<int>(8.5 / step);
  std::vector<double> g, weight, w;
  for (int i = -half; i <= half; ++i) {
    g.push_back(i * step);
    weight.push_back(std::exp(-g.back() * g.back() / 2));
    w.push_back(std::exp(factor * shape.value(deviation * g.back())));
  }
  std::array<double, 3> sums{};
  double mass = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double both = weight[i] * weight[j] * (i == j ? 1 : 2), p = w[i] / (w[i] + w[j]);
      const double score = p * g[i] + (1 - p) * g[j];
      mass += both;
      sums[0] += both * (p * p + (1 - p) * (1 - p));
      sums[1] += both * score;
      sums[2] += both * score * score;
    }
  }
  for (double& sum : sums) sum /= mass;
  return sums;
}

/// The formula of softmax_error_isotropic for two examples, unit input variance, key_query_scale and label value.
double by_definition(const Shape& shape, double factor, double d, double task_variance, double noise) {
  double mass = 0, sum = 0;
  for (double u = -20; u < 1.6; u += 1 / (3.5 * std::sqrt(2 * d))) {  // r = sqrt(d) e^u
    const double r = std::sqrt(d) * std::exp(u), density = std::exp(d * u + (d - r * r) / 2);
    if (density < 1e-14) continue;
    const auto row = two_scores(shape, factor, r);
    mass += density;
    sum += density * (noise * (1 + row[0]) + task_variance * (r * r - 2 * r * row[1] + row[2] + (d - 1) * row[0]));
  }
  return sum / mass;
}

}  // namespace

TEST_CASE("the exact error of smooth maps of one's own is exact", "[regression][own]") {
  Worst off, estimate;
  for (const int d : {2, 8, 40}) {
    for (const Shape& shape : smooth_shapes()) {
      for (const double factor : {0.5, 1.5}) {
        const IsotropicTask<double> task{.dimension = d, .task_variance = 1.0 / d, .noise_variance = 0.1};
        const auto error = softmax_error_isotropic({1.0, 1.0}, task, 2, OwnMap{factor, &shape});
        off.add(std::abs(error.value / by_definition(shape, factor, d, 1.0 / d, 0.1) - 1), shape.name, ", d ", d,
                ", factor ", factor);
        estimate.add(error.error_estimate / error.value, shape.name, ", d ", d, ", factor ", factor);
      }
    }
  }
  CHECK(off <= 1e-11);
  CHECK(estimate <= 1e-11);
}

TEST_CASE("the exact error of one's own map is that of the layer", "[regression][own]") {
  const int d = 3, l = 12;
  const Attention<double> attention{Matrix<double>::Identity(d, d), Vector<double>::Zero(d), 1.0};
  const auto task = LinearTask<double>::isotropic({.dimension = d, .task_variance = 1.0 / d, .noise_variance = 0.1});
  const LiteralAttention layer{attention, task};
  std::uint64_t seed = 410;
  for (const Shape* shape :
       {&smooth_shapes().front(), &smooth_shapes().back(), &kinked_shapes()[0], &kinked_shapes()[1]}) {
    const OwnMap rising{1.5, shape}, falling{-1.5, shape};
    const double exact[] = {softmax_error(attention, task, l, rising).value,
                            softmax_error(attention, task, l, falling).value};
    INFO(shape->name);
    const auto risen = layer.error(rising, l, 10'000, seed++), fallen = layer.error(falling, l, 10'000, seed++);
    CHECK(std::abs(risen.z(exact[0])) <= 5);
    CHECK(std::abs(fallen.z(exact[1])) <= 5);
    CHECK(std::abs(risen.z(exact[1])) > 5);  // power
    CHECK(std::abs(fallen.z(exact[0])) > 5);
  }
}

TEST_CASE("decreasing maps are increasing ones in the mirror", "[regression][own]") {
  const Shape line{"z", [](double z) { return z; }, [](double) { return 1.0; }, [](double) { return 0.0; }, 1};
  Worst off;
  for (const Shape* shape : {&smooth_shapes()[0], &smooth_shapes()[1], &line}) {
    for (const double factor : {0.5, 20.0}) {
      for (const double variance : {0.1, 30.0}) {
        const auto rising = laws::row_moments(OwnMap{factor, shape}, 1000, variance);
        const auto falling = laws::row_moments(OwnMap{-factor, shape}, 1000, variance);
        for (const double ratio : {falling.ipr / rising.ipr, -falling.mean_score / rising.mean_score,
                                   falling.mean_square_score / rising.mean_square_score}) {
          off.add(std::abs(ratio - 1), shape->name, ", factor ", factor, ", variance ", variance);
        }
      }
    }
  }
  CHECK(off <= 1e-12);
}

TEST_CASE("what does not reach the tolerance carries its value, and a tolerance decides", "[regression][own]") {
  // at this temperature the query has nearly all weight in some rows and none in others
  const scoring::Softmax<double> sharp{0.01};
  const IsotropicTask<double> task{.dimension = 8, .task_variance = 0.125, .noise_variance = 0.1};
  const auto error = [&](double tolerance) {
    return softmax_error_isotropic({1.0, 1.0}, task, 4, sharp, QueryToken::included, tolerance);
  };
  numerics::Quadrature<double> reached{};
  try {
    error(numerics::quadrature_tolerance<double>());
  } catch (const numerics::QuadratureError& thrown) {
    reached = thrown.result;
    CHECK(names(thrown.what(), "softmax_error_isotropic", "value = "));
  }
  REQUIRE(reached.value > 0);
  CHECK(reached.error_estimate < 1e-4 * reached.value);
  const auto coarse = error(1e-4);
  CHECK(std::abs(coarse.value - reached.value) <= 1e-4 * reached.value);
  CHECK(coarse.error_estimate <= 2e-4 * coarse.value);
}

}  // namespace incontext::testing
