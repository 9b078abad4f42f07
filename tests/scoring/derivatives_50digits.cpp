#include <vector>

#include "incontext/scoring/hessian_product.hpp"
#include "scoring/accuracy.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

// Derivatives against central differences of the weights, both at 50 digits: a difference with step 1e-16 is accurate
// to 1e-32, far below any mistake in a formula.
namespace incontext::testing {
namespace {

using Vector50 = std::vector<Real50>;

const Real50 step("1e-16");
const Real50 tolerance("1e-25");

Vector50 moved(const Vector50& z, const Vector50& u, const Real50& by) {
  Vector50 result;
  for (std::size_t i = 0; i < z.size(); ++i) result.push_back(z[i] + by * u[i]);
  return result;
}

template <class Function>
Vector50 central_difference(Function function) {
  const Vector50 above = function(step), below = function(Real50(-step));
  Vector50 slope;
  for (std::size_t i = 0; i < above.size(); ++i) slope.push_back((above[i] - below[i]) / (2 * step));
  return slope;
}

bool same(const Vector50& a, const Vector50& b) { return distance(a, b) <= tolerance * (1 + largest_size(b)); }

void check(const std::string& what, const Vector50& derivative, const Vector50& difference) {
  INFO(what);
  CHECK(same(derivative, difference));
  Vector50 wrong = derivative;
  wrong[0] += Real50("1e-20") * (1 + largest_size(derivative));
  CHECK_FALSE(same(wrong, difference));
}

/// Rows at which the maps are differentiable: distinct scores of both signs with a positive one.
Vector50 generic_row(Random& random, double stddev) {
  std::vector<double> z = random.normals(5, stddev);
  z[0] = stddev * (0.25 + random.uniform());
  return converted<Real50>(z);
}

struct CheckDerivatives {
  Vector50 z, u;

  template <class Map>
  void operator()(Map map, const Facts& facts) const {
    if (all_nan(weights_of(map, z))) return;
    check(facts.name + ": jvp", jvp_of(map, z, u),
          central_difference([&](const Real50& h) { return weights_of(map, moved(z, u, h)); }));
    const Vector50 pull = vjp_of(map, z, u);
    Vector50 slopes;  // of u . weights, along every unit vector
    for (std::size_t j = 0; j < z.size(); ++j) {
      Vector50 unit(z.size(), Real50(0));
      unit[j] = 1;
      slopes.push_back(product(u, jvp_of(map, z, unit)));
    }
    check(facts.name + ": vjp", pull, slopes);
    for_each_parameter<Map>([&](auto name, const char* text) {
      check(facts.name + ": " + text, derivative_of(map, name, z), central_difference([&](const Real50& h) {
              Map changed = map;
              name.of(changed) += h;
              return weights_of(changed, z);
            }));
    });
    if constexpr (scoring::SoftmaxLike<Map>) {
      const Vector50 v(u.rbegin(), u.rend());
      Vector50 second(z.size());
      second_derivative(map, z, u, v, second);
      check(facts.name + ": second derivative", second,
            central_difference([&](const Real50& h) { return jvp_of(map, moved(z, v, h), u); }));
      hessian_product(map, z, u, v, second);
      check(facts.name + ": Hessian product", second,
            central_difference([&](const Real50& h) { return vjp_of(map, moved(z, v, h), u); }));
    }
  }
};

CheckDerivatives random_check(Random& random, double stddev) {
  Vector50 z = generic_row(random, stddev);
  return {z, converted<Real50>(random.normals(z.size()))};
}

}  // namespace

TEST_CASE("derivatives of softmax, SSMax and SSA are those of their weights", "[scoring]") {
  Random random(21);
  for (const double stddev : {0.5, 4.0}) for_each_softmax_like<Real50>(random_check(random, stddev));
}

TEST_CASE("derivatives of the other maps are those of their weights", "[scoring]") {
  Random random(22);
  for (const double stddev : {0.125, 0.5, 4.0}) for_each_other_smooth_map<Real50>(random_check(random, stddev));
}

TEST_CASE("derivatives of the ratio scores are those of their weights", "[scoring]") {
  Random random(23);
  for (const double stddev : {0.5, 4.0}) for_each_ratio_score<Real50>(random_check(random, stddev));
}

TEST_CASE("the derivative with respect to the visible count is that of s log n", "[scoring]") {
  const Vector50 z{Real50(1), Real50("-0.5"), Real50("2.25")};
  const Real50 s("0.75");
  const Vector50 rate = derivative_of(scoring::SSMax<Real50>{s, Real50("0.25")}, scoring::parameter::VisibleCount{}, z);
  check("SSMax: visible count", rate, central_difference([&](const Real50& h) {
          const Real50 beta = s * log(Real50(3 + h)) + Real50("0.25");
          return weights_of(scoring::Softmax<Real50>{1 / beta}, z);
        }));
}

TEST_CASE("NormSoftmax over a matrix has the derivatives of its weights", "[scoring]") {
  using namespace scoring;
  Random random(24);
  const Vector50 z = converted<Real50>(random.normals(12, 2)), u = converted<Real50>(random.normals(12));
  for (const auto scale : {ScoreScale::population_stddev, ScoreScale::sample_stddev, ScoreScale::population_variance}) {
    for (const double temperature : {64.0, 0.25}) {
      const MatrixNormSoftmax<Real50> map{Real50(temperature), scale};
      const auto grid = [](const Vector50& row) { return MatrixView<const Real50>(row.data(), 3, 4); };
      const auto all_weights = [&](const Vector50& scores) {
        Vector50 out(12);
        weights(map, grid(scores), MatrixView<Real50>(out.data(), 3, 4));
        return out;
      };
      Vector50 change(12), pull(12), rate(12);
      jvp(map, grid(z), grid(u), MatrixView<Real50>(change.data(), 3, 4));
      vjp(map, grid(z), grid(u), MatrixView<Real50>(pull.data(), 3, 4));
      derivative(map, parameter::Temperature{}, grid(z), MatrixView<Real50>(rate.data(), 3, 4));
      check("jvp", change, central_difference([&](const Real50& h) { return all_weights(moved(z, u, h)); }));
      const Vector50 v(u.rbegin(), u.rend());
      jvp(map, grid(z), grid(v), MatrixView<Real50>(change.data(), 3, 4));
      CHECK(same({product(u, change)}, {product(v, pull)}));
      check("temperature", rate, central_difference([&](const Real50& h) {
              Vector50 out(12);
              weights(MatrixNormSoftmax<Real50>{map.temperature + h, scale}, grid(z),
                      MatrixView<Real50>(out.data(), 3, 4));
              return out;
            }));
    }
  }
}

}  // namespace incontext::testing
