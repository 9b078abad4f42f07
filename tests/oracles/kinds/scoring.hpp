#pragma once

#include <incontext/laws.hpp>
#include <incontext/scoring.hpp>

#include <cmath>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of scoring maps on one row of scores: reads their inputs from JSON and calls the header that computes
/// them.
namespace incontext::oracles {

namespace detail {

using Scores = Eigen::VectorXd;

/// Calls a function of the room, `compute(out)`, and returns the row it wrote.
template <class Compute>
Json row_of(const Scores& scores, Compute compute) {
  Scores out(scores.size());
  compute(out);
  return to_json(out);
}

template <scoring::Scoring Map>
Json weights_of(const Map& map, const Scores& z) {
  return row_of(z, [&](Scores& out) { weights(map, z, out); });
}

template <class Map, class Parameter>
Json derivative_of(const Map& map, Parameter parameter, const Scores& z) {
  return row_of(z, [&](Scores& out) { derivative(map, parameter, z, out); });
}

/// The longest row whose full Jacobian is printed, since nobody reads a larger one.
inline constexpr Eigen::Index longest_with_jacobian = 512;

template <scoring::Scoring Map>
Json jacobian_of(const Map& map, const Scores& z) {
  Eigen::MatrixXd jacobian(z.size(), z.size());
  scoring::jacobian(map, z, jacobian);
  return to_json(jacobian);
}

template <scoring::Scoring Map>
double spectral_norm_of(const Map& map, const Scores& z) {
  Eigen::MatrixXd scratch(z.size(), z.size());
  return scoring::jacobian_spectral_norm(map, z, scratch);
}

/// The Jacobian, and its products with the direction u and the cotangent g where the case has them.
template <scoring::Scoring Map>
void add_jacobian(Json& out, const Map& map, const Fields& in, const Scores& z) {
  if (z.size() <= longest_with_jacobian) out["jac"] = jacobian_of(map, z);
  if (in.has("u")) {
    const Scores u = in.vector("u", z.size());
    out["jvp"] = row_of(z, [&](Scores& row) { jvp(map, z, u, row); });
  }
  if (in.has("g")) {
    const Scores g = in.vector("g", z.size());
    out["vjp"] = row_of(z, [&](Scores& row) { vjp(map, z, g, row); });
  }
}

inline std::int64_t visible_count(const Scores& z) { return (z.array() > -INFINITY).count(); }

inline double largest_size(const Scores& row) { return row.cwiseAbs().maxCoeff(); }

inline Json softmax_case(const Fields& in) {
  const Scores z = in.scores("z");
  const scoring::Softmax<double> map{in.positive("tau")};
  const auto facts = scoring::summary(map, z);
  Json out{{"weights", weights_of(map, z)},
           {"log_weights", row_of(z, [&](Scores& row) { log_weights(map, z, row); })},
           {"lse", facts.log_sum_exp},
           {"entropy", facts.entropy},
           {"sum_p2", facts.ipr}};
  add_jacobian(out, map, in, z);
  out["d_tau"] = derivative_of(map, scoring::parameter::Temperature{}, z);
  Scores p(z.size());
  weights(map, z, p);
  const auto norms = scoring::jacobian_norms(scoring::Row<const double>(p));
  out["P_trace"] = norms.trace;
  out["P_fro"] = norms.frobenius;
  if (z.size() <= longest_with_jacobian) out["P_spec"] = map.temperature * spectral_norm_of(map, z);
  return out;
}

inline Json approx_softmax_case(const Fields& in) {
  const Scores z = in.scores("z");
  const scoring::ApproximateSoftmax<double> map{in.positive("tau")};
  Json out{{"weights", weights_of(map, z)}};
  add_jacobian(out, map, in, z);
  out["jac_spec"] = lipschitz_constant(map, visible_count(z));
  out["d_tau"] = derivative_of(map, scoring::parameter::Temperature{}, z);
  out["softmax_minus_approx"] = row_of(z, [&](Scores& row) { approximate_softmax_error(map, z, row); });
  return out;
}

inline Json ssmax_case(const Fields& in) {
  const Scores z = in.scores("z");
  const scoring::SSMax<double> map{in.number("s"), in.number("b")};
  if (in.has("n") && in.count("n") != visible_count(z)) {
    throw_input_error(in.path() + ".n", "is not the number of visible scores", in.count("n"),
                      std::to_string(visible_count(z)));
  }
  Json out{{"beta", map.inverse_temperature(visible_count(z))}, {"weights", weights_of(map, z)}};
  add_jacobian(out, map, in, z);
  out["d_s"] = derivative_of(map, scoring::parameter::Scale{}, z);
  out["d_b"] = derivative_of(map, scoring::parameter::Bias{}, z);
  out["d_n"] = derivative_of(map, scoring::parameter::VisibleCount{}, z);
  out["entropy"] = scoring::summary(map, z).entropy;
  return out;
}

inline Json ssmax_causal_case(const Fields& in) {
  Eigen::MatrixXd scores = in.lower_triangle("scores_lower");
  const scoring::SSMax<double> map{in.number("s"), in.number("b")};
  scoring::weights_by_row(map, scores, scores, scoring::Visibility::causal);
  Json rows = Json::array();
  for (Eigen::Index i = 0; i < scores.rows(); ++i) rows.push_back(to_json(Scores(scores.row(i).head(i + 1))));
  return {{"rows", rows}};
}

inline double at_least_one(const Fields& in, const std::string& name) {
  const double value = in.number(name);
  if (!(value >= 1)) throw_input_error(in.path() + "." + name, "is below 1", value, "1 <= value");
  return value;
}

inline Json ssa_case(const Fields& in) {
  const Scores z = in.scores("z");
  const scoring::SSA<double> map{in.positive("b"), at_least_one(in, "n_exp")};
  const auto phi = map.elementwise(visible_count(z));
  Json out{{"phi", to_json(Scores(z.unaryExpr([&](double x) { return phi.value(x); })))},
           {"dphi", to_json(Scores(z.unaryExpr([&](double x) { return phi.slope(x); })))},
           {"weights", weights_of(map, z)}};
  add_jacobian(out, map, in, z);
  out["d_b"] = derivative_of(map, scoring::parameter::Base{}, z);
  out["d_n_exp"] = derivative_of(map, scoring::parameter::Exponent{}, z);
  out["scale_limit_weights"] = row_of(z, [&](Scores& row) { ssa_scale_limit(map, z, row); });
  if (z.size() <= longest_with_jacobian) out["jac_spec"] = spectral_norm_of(map, z);
  out["jac_spec_bound"] = lipschitz_constant(map);
  return out;
}

inline Json ssa_softmax_limit_case(const Fields& in) {
  const Scores z = in.scores("z");
  const double exponent = at_least_one(in, "n_exp");
  if (in.has("b")) in.choice("b", {"1/n_exp"});
  Scores ssa(z.size()), softmax(z.size()), correction(z.size());
  weights(scoring::SSA<double>{1 / exponent, exponent}, z, ssa);
  weights(scoring::Softmax<double>{}, z, softmax);
  scoring::ssa_softmax_correction(exponent, z, correction);
  return {{"ssa", to_json(ssa)},
          {"softmax", to_json(softmax)},
          {"first_order_correction", to_json(correction)},
          {"max_residual", largest_size(ssa - softmax - correction)}};
}

inline scoring::ScoreScale read_score_stddev(const Fields& in) {
  using enum scoring::ScoreScale;
  constexpr scoring::ScoreScale scales[] = {population_stddev, sample_stddev, population_variance};
  return scales[in.choice("scale_kind", {"pop", "sample", "var"})];
}

inline Json normsoftmax_case(const Fields& in) {
  using scoring::NormSoftmaxBranch;
  const Scores z = in.scores("z");
  const scoring::NormSoftmax<double> map{in.positive("tau"), read_score_stddev(in)};
  const auto divisor = normsoftmax_divisor(map, z);
  const char* branch = divisor.branch == NormSoftmaxBranch::constant_row ? "degenerate"
                       : divisor.branch == NormSoftmaxBranch::scale      ? "scale"
                                                                         : "tau";
  Json out{{"scale", divisor.scale}, {"branch", branch}, {"weights", weights_of(map, z)}};
  if (divisor.branch == NormSoftmaxBranch::constant_row) return out;  // no Jacobian there
  add_jacobian(out, map, in, z);
  out["d_tau"] = derivative_of(map, scoring::parameter::Temperature{}, z);
  if (z.size() <= longest_with_jacobian) out["jac_spec"] = spectral_norm_of(map, z);
  return out;
}

inline Json normsoftmax_matrix_case(const Fields& in) {
  Eigen::MatrixXd scores = in.matrix("scores");
  if (in.has("scope")) in.choice("scope", {"matrix"});
  const scoring::MatrixNormSoftmax<double> map{in.positive("tau"), read_score_stddev(in)};
  const double scale = normsoftmax_divisor(map, scores).scale;
  weights(map, scores, scores);
  return {{"scale", scale}, {"rows", to_json(scores)}};
}

inline Json sa_softmax_case(const Fields& in) {
  const Scores z = in.scores("z");
  Json out;
  const auto add = [&](const std::string& name, const auto& map) {
    Scores a(z.size());
    weights(map, z, a);
    out[name] = to_json(a);
    if (z.size() <= longest_with_jacobian) out[name + "_jac"] = jacobian_of(map, z);
    out[name + "_sum"] = a.sum();
  };
  add("v1", scoring::SaSoftmax<double>{});
  add("v2", scoring::NormalizedSaSoftmax<double>{});
  return out;
}

inline Json entmax_case(const Fields& in) {
  const Scores z = in.scores("z");
  const scoring::Entmax<double> map{in.number("alpha")};
  if (!(map.alpha > 1)) throw_input_error(in.path() + ".alpha", "is not above 1", map.alpha, "1 < value");
  const auto support = entmax_support(map, z);
  Json out{{"weights", weights_of(map, z)}, {"threshold", support.threshold}, {"support_size", support.size}};
  add_jacobian(out, map, in, z);
  out["d_alpha"] = derivative_of(map, scoring::parameter::Alpha{}, z);
  out["one_hot_gap"] = laws::entmax_one_hot_gap(map.alpha);
  return out;
}

template <class Function>
Json ratio_score_fields(const Scores& z) {
  using enum scoring::ScoreNormalization;
  const auto over = [&](scoring::ScoreNormalization normalization) {
    return weights_of(scoring::RatioScore<Function>{normalization}, z);
  };
  return {{"raw", over(none)},
          {"over_n", over(context_length)},
          {"over_sum", over(sum)},
          {"over_abs_sum", over(absolute_sum)}};
}

inline Json ratio_score_case(const Fields& in) {
  const Scores z = in.scores("z");
  switch (in.choice("f", {"average", "tanh", "relu", "square"})) {
    case 0:
      return ratio_score_fields<scoring::Average>(z);
    case 1:
      return ratio_score_fields<scoring::Tanh>(z);
    case 2:
      return ratio_score_fields<scoring::Relu>(z);
    default:
      return ratio_score_fields<scoring::Square>(z);
  }
}

inline Json approx_error_bounds_case(const Fields& in) {
  const std::int64_t n = in.count("n", 1);
  const double range = in.non_negative("range");
  const auto infimum = scoring::approximate_softmax_error_infimum(n, range);
  return {{"sup", scoring::approximate_softmax_error_supremum(n, range)},
          {"inf", infimum.value},
          {"inf_arg", {{"k_low", infimum.high_count}, {"d_low", 0.0 - infimum.rise}}}};
}

inline Json approx_error_expected_case(const Fields& in) {
  const std::int64_t n = in.count("n", 1);
  const double tau = in.has("tau") ? in.positive("tau") : 1;
  const double variance = in.non_negative("v") / (tau * tau);
  const double ipr = laws::gaussian_row(static_cast<double>(n), std::sqrt(variance)).ipr;
  return {{"n2_E_e2_exact", scoring::approximate_softmax_expected_squared_error(n, variance, ipr)},
          {"n2_E_e2_limit", scoring::approximate_softmax_expected_squared_error_limit(variance)},
          {"n_E_abs_e_limit", scoring::approximate_softmax_expected_absolute_error_limit(variance)},
          {"P_negative_weight", scoring::approximate_softmax_negative_weight_probability(n, variance)}};
}

}  // namespace detail

inline void register_scoring(Registry& registry) {
  registry["softmax"] = detail::softmax_case;
  registry["approx_softmax"] = detail::approx_softmax_case;
  registry["ssmax"] = detail::ssmax_case;
  registry["ssmax_causal"] = detail::ssmax_causal_case;
  registry["ssa"] = detail::ssa_case;
  registry["ssa_softmax_limit"] = detail::ssa_softmax_limit_case;
  registry["normsoftmax"] = detail::normsoftmax_case;
  registry["normsoftmax_matrix"] = detail::normsoftmax_matrix_case;
  registry["normsoftmax_max_weight_bound"] = [](const Fields& in) -> Json {
    return {{"bound", scoring::normsoftmax_largest_weight(in.count("n", 1), detail::read_score_stddev(in))}};
  };
  registry["sa_softmax"] = detail::sa_softmax_case;
  registry["entmax"] = detail::entmax_case;
  registry["hardmax"] = [](const Fields& in) -> Json {
    return {{"weights", detail::weights_of(scoring::Hardmax<double>{}, in.scores("z"))}};
  };
  registry["ratio_score"] = detail::ratio_score_case;
  registry["approx_error_bounds"] = detail::approx_error_bounds_case;
  registry["approx_error_expected"] = detail::approx_error_expected_case;
}

}  // namespace incontext::oracles
