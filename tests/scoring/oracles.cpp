#include <cmath>
#include <string>
#include <vector>

#include "incontext/scoring/approximate_softmax_error.hpp"
#include "incontext/scoring/approximate_softmax_error_bounds.hpp"
#include "incontext/scoring/approximate_softmax_expected_error.hpp"
#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/jacobian_norms.hpp"
#include "incontext/scoring/summary.hpp"
#include "scoring/maps.hpp"
#include "scoring/oracle.hpp"
#include "scoring/rows.hpp"

// Every kind of the reference file that belongs to a map of one row. Kernels: kernel_attention.cpp; expected errors of
// the approximate softmax: approximate_softmax_expected_error.cpp.
namespace incontext::testing {
namespace {

using namespace scoring;

std::vector<double> jacobian_of(const auto& map, const std::vector<double>& z) {
  std::vector<double> all(z.size() * z.size());
  const auto n = static_cast<std::ptrdiff_t>(z.size());
  jacobian(map, z, Grid<double>(all.data(), n, n));
  return all;
}

/// Spectral norm by the power method on J^T J, which needs only both products.
double spectral_norm(const auto& map, const std::vector<double>& z) {
  Random random(7);
  std::vector<double> u = random.normals(z.size());
  double norm = 0;
  for (int i = 0; i < 4000; ++i) {
    u = vjp_of(map, z, jvp_of(map, z, u));
    norm = std::sqrt(product(u, u));
    if (!(norm > 0)) return 0;
    for (double& x : u) x /= norm;
  }
  return std::sqrt(norm);
}

void check_row(const Json& one, const auto& map) {
  const Json& in = one.at("in");
  const std::vector<double> z = numbers(in.at("z"));
  check_output(one, "weights", weights_of(map, z));
  if (one.at("out").contains("log_weights")) {
    std::vector<double> log_row(z.size());
    if constexpr (LogScoring<std::decay_t<decltype(map)>>) log_weights(map, z, log_row);
    check_output(one, "log_weights", log_row);
  }
  if (one.at("out").contains("jac")) check_output(one, "jac", jacobian_of(map, z));
  if (in.contains("u")) check_output(one, "jvp", jvp_of(map, z, numbers(in.at("u"))));
  if (in.contains("g")) check_output(one, "vjp", vjp_of(map, z, numbers(in.at("g"))));
}

}  // namespace

TEST_CASE("softmax reproduces the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("softmax")) {
    const Softmax<double> map{number(one.at("in").at("tau"))};
    const std::vector<double> z = numbers(one.at("in").at("z"));
    check_row(one, map);
    check_output(one, "d_tau", derivative_of(map, parameter::Temperature{}, z));
    const auto facts = summary(map, view(z));
    check_output(one, "lse", facts.log_sum_exp);
    check_output(one, "entropy", facts.entropy);
    check_output(one, "sum_p2", facts.participation);
    const auto norms = jacobian_norms(view(weights_of(map, z)));
    check_output(one, "P_trace", norms.trace);
    check_output(one, "P_fro", norms.frobenius);
    const double reference = number(one.at("out").at("P_spec"));
    CHECK(norms.spectral_lower <= reference * (1 + 1e-12));
    CHECK(reference <= norms.spectral_upper * (1 + 1e-12));
    check_output(one, "P_spec", spectral_norm(Softmax<double>{map.temperature}, z) * map.temperature);
  }
}

TEST_CASE("approximate softmax and its error reproduce the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("approx_softmax")) {
    const ApproximateSoftmax<double> map{number(one.at("in").at("tau"))};
    const std::vector<double> z = numbers(one.at("in").at("z"));
    check_row(one, map);
    check_output(one, "d_tau", derivative_of(map, parameter::Temperature{}, z));
    check_output(one, "jac_spec", lipschitz_constant(map, static_cast<std::ptrdiff_t>(z.size())));
    std::vector<double> error(z.size());
    approximate_softmax_error(map, z, error);
    check_output(one, "softmax_minus_approx", error);
  }
}

TEST_CASE("SSMax reproduces the reference values, also under a causal mask", "[scoring][oracle]") {
  for (const Json& one : cases("ssmax")) {
    const SSMax<double> map{number(one.at("in").at("s")), number(one.at("in").at("b"))};
    const std::vector<double> z = numbers(one.at("in").at("z"));
    check_row(one, map);
    check_output(one, "beta", map.inverse_temperature(static_cast<std::ptrdiff_t>(z.size())));
    check_output(one, "d_s", derivative_of(map, parameter::Scale{}, z));
    check_output(one, "d_b", derivative_of(map, parameter::Bias{}, z));
    check_output(one, "d_n", derivative_of(map, parameter::VisibleCount{}, z));
    check_output(one, "entropy", summary(map, view(z)).entropy);
  }
  for (const Json& one : cases("ssmax_causal")) {
    const SSMax<double> map{number(one.at("in").at("s")), number(one.at("in").at("b"))};
    const Json& lower = one.at("in").at("scores_lower");
    const std::size_t n = lower.size();
    std::vector<double> scores(n * n, 7.0), out(n * n, nan), expected(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        scores[i * n + j] = number(lower[i][j]);
        expected[i * n + j] = number(one.at("out").at("rows")[i][j]);
      }
    }
    const auto size = static_cast<std::ptrdiff_t>(n);
    weights_by_row(map, Grid<const double>(scores.data(), size, size), Grid<double>(out.data(), size, size),
                   Visibility::causal);
    CHECK(agrees(out, expected, one));
  }
}

TEST_CASE("SSA reproduces the reference values and its limits", "[scoring][oracle]") {
  for (const Json& one : cases("ssa")) {
    const SSA<double> map{number(one.at("in").at("b")), number(one.at("in").at("n_exp"))};
    const std::vector<double> z = numbers(one.at("in").at("z"));
    check_row(one, map);
    std::vector<double> phi, slope;
    for (const double x : z) {
      phi.push_back(map.elementwise(1).value(x));
      slope.push_back(map.elementwise(1).slope(x));
    }
    check_output(one, "phi", phi);
    check_output(one, "dphi", slope);
    check_output(one, "d_b", derivative_of(map, parameter::Base{}, z));
    check_output(one, "d_n_exp", derivative_of(map, parameter::Exponent{}, z));
    check_output(one, "jac_spec", spectral_norm(map, z));
    check_output(one, "jac_spec_bound", lipschitz_constant(map));
    std::vector<double> scaled = z;
    for (double& x : scaled) x *= 1e25;
    CHECK(distance(weights_of(map, scaled), numbers(one.at("out").at("scale_limit_weights"))) < 1e-12);
  }
  for (const Json& one : cases("ssa_softmax_limit")) {
    const double k = number(one.at("in").at("n_exp"));
    const std::vector<double> z = numbers(one.at("in").at("z"));
    const std::vector<double> a = weights_of(SSA<double>{1 / k, k}, z);
    const std::vector<double> p = weights_of(Softmax<double>{}, z);
    check_output(one, "ssa", a);
    check_output(one, "softmax", p);
    const std::vector<double> correction = numbers(one.at("out").at("first_order_correction"));
    std::vector<double> residual;
    for (std::size_t i = 0; i < z.size(); ++i) residual.push_back(a[i] - p[i] - correction[i]);
    CHECK(std::abs(largest_size(residual) - number(one.at("out").at("max_residual"))) < 1e-15);
  }
}

TEST_CASE("NormSoftmax reproduces the reference values of each spread, branch and scope", "[scoring][oracle]") {
  const auto spread_of = [](const Json& one) {
    const std::string kind = one.at("in").at("scale_kind");
    if (kind == "pop") return Spread::population_stddev;
    REQUIRE((kind == "sample" || kind == "var"));
    return kind == "sample" ? Spread::sample_stddev : Spread::population_variance;
  };
  for (const Json& one : cases("normsoftmax")) {
    const NormSoftmax<double> map{number(one.at("in").at("tau")), spread_of(one)};
    const std::vector<double> z = numbers(one.at("in").at("z"));
    check_row(one, map);
    const auto pass = scoring::detail::normsoftmax_pass(map.temperature, map.spread, scoring::detail::as_grid(view(z)));
    check_output(one, "scale", pass.spread);
    if (!one.at("out").contains("d_tau")) continue;
    check_output(one, "d_tau", derivative_of(map, parameter::Temperature{}, z));
    check_output(one, "jac_spec", spectral_norm(map, z));
  }
  for (const Json& one : cases("normsoftmax_matrix")) {
    const MatrixNormSoftmax<double> map{number(one.at("in").at("tau")), spread_of(one)};
    const std::vector<double> z = flat(one.at("in").at("scores"));
    const auto columns = static_cast<std::ptrdiff_t>(one.at("in").at("scores")[0].size());
    const auto rows = static_cast<std::ptrdiff_t>(z.size()) / columns;
    std::vector<double> out(z.size());
    weights(map, Grid<const double>(z.data(), rows, columns), Grid<double>(out.data(), rows, columns));
    check_output(one, "rows", out);
  }
}

TEST_CASE("self-adjusted softmax reproduces the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("sa_softmax")) {
    const std::vector<double> z = numbers(one.at("in").at("z"));
    const std::vector<double> first = weights_of(SaSoftmax<double>{}, z);
    const std::vector<double> second = weights_of(NormalisedSaSoftmax<double>{}, z);
    check_output(one, "v1", first);
    check_output(one, "v1_sum", total(first));
    check_output(one, "v1_jac", jacobian_of(SaSoftmax<double>{}, z));
    check_output(one, "v2", second);
    check_output(one, "v2_sum", total(second));
    check_output(one, "v2_jac", jacobian_of(NormalisedSaSoftmax<double>{}, z));
  }
}

TEST_CASE("entmax reproduces the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("entmax")) {
    const double alpha = number(one.at("in").at("alpha"));
    const Entmax<double> map{alpha};
    const std::vector<double> z = numbers(one.at("in").at("z"));
    check_row(one, map);
    if (alpha == 2) check_row(one, Sparsemax<double>{});
    check_output(one, "d_alpha", derivative_of(map, parameter::Alpha{}, z));
    const auto pass = scoring::detail::entmax_pass(alpha, view(z));
    check_output(one, "threshold", (alpha - 1) * pass.anchor - pass.reach);
    int support = 0;
    for (const double a : weights_of(map, z)) support += a > 0;
    check_output(one, "support_size", support);
  }
}

TEST_CASE("hardmax and the ratio scores reproduce the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("hardmax")) {
    check_output(one, "weights", weights_of(Hardmax<double>{}, numbers(one.at("in").at("z"))));
  }
  for (const Json& one : cases("ratio_score")) {
    const std::vector<double> z = numbers(one.at("in").at("z"));
    const auto check_all = [&](auto function) {
      using Function = decltype(function);
      using enum ScoreNormalisation;
      check_output(one, "raw", weights_of(RatioScore<Function>{none}, z));
      check_output(one, "over_n", weights_of(RatioScore<Function>{context_length}, z));
      check_output(one, "over_sum", weights_of(RatioScore<Function>{sum}, z));
      check_output(one, "over_abs_sum", weights_of(RatioScore<Function>{absolute_sum}, z));
    };
    const std::string name = one.at("in").at("f");
    if (name == "average") check_all(Average{});
    if (name == "tanh") check_all(Tanh{});
    if (name == "relu") check_all(Relu{});
    if (name == "square") check_all(Square{});
  }
}

TEST_CASE("Heat Treatment reproduces the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("heat_schedule")) {
    const Json& in = one.at("in");
    HeatSchedule<double> schedule{number(in.at("tau_start")), number(in.at("tau_end")),
                                  static_cast<int>(number(in.at("epochs")))};
    const std::string shape = in.at("shape");
    if (shape == "linear_half") schedule.shape = HeatShape::half_linear;
    if (shape == "linear_full") schedule.shape = HeatShape::linear_inverse;
    std::vector<double> temperature, inverse;
    for (int epoch = 0; epoch < schedule.epochs; ++epoch) {
      temperature.push_back(schedule.temperature(epoch));
      inverse.push_back(schedule.inverse_temperature(epoch));
    }
    if (one.at("out").contains("tau")) check_output(one, "tau", temperature);
    if (one.at("out").contains("inverse_tau")) check_output(one, "inverse_tau", inverse);
  }
}

TEST_CASE("range bounds of the approximate softmax reproduce the reference values", "[scoring][oracle]") {
  for (const Json& one : cases("approx_error_bounds")) {
    const auto n = static_cast<std::ptrdiff_t>(number(one.at("in").at("n")));
    const double range = number(one.at("in").at("range"));
    const auto infimum = approximate_softmax_error_infimum(n, range);
    check_output(one, "sup", approximate_softmax_error_supremum(n, range));
    check_output(one, "inf", infimum.value);
    CHECK(static_cast<double>(infimum.high_count) == number(one.at("out").at("inf_arg").at("k_low")));
    CHECK(std::abs(infimum.rise + number(one.at("out").at("inf_arg").at("d_low"))) < 1e-6);
  }
}

}  // namespace incontext::testing
