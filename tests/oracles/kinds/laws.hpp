#pragma once

#include <cmath>
#include <incontext/laws.hpp>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of laws of a row of scores: reads their inputs from JSON and calls the closed form that computes them.
namespace incontext::oracles {

namespace detail {

inline void register_fading(Registry& registry) {
  using namespace laws;
  registry["fading_two_level"] = [](const Fields& in) -> Json {
    const double n = in.number("n"), gap = in.number("high") - in.number("low");
    const auto ssmax = two_level_weights(n, in.number("s") * std::log(n) * gap);
    return {{"softmax_max", two_level_weights(n, gap).high},
            {"ssmax_max", ssmax.high},
            {"ssmax_one_minus_max", ssmax.complement}};
  };
  registry["fading_thresholds"] = [](const Fields& in) -> Json {
    return {{"softmax_half_n", two_level_count(in.number("gap"))},
            {"ssmax_crossover_n", ssmax_crossover_count(in.number("s"))},
            {"ssmax_critical_gap", ssmax_critical_gap(in.number("s"))}};
  };
  registry["fading_grid"] = [](const Fields& in) -> Json {
    const double n = in.number("n"), s = in.number("s"), z_max = in.number("z_max"), beta = s * std::log(n);
    return {{"softmax_logS", grid_log_sum(n, 1.0)},
            {"softmax_zstar", grid_threshold(n, 1.0)},
            {"softmax_weight", grid_weight(n, 1.0, z_max)},
            {"ssmax_beta", beta},
            {"ssmax_logS", grid_log_sum(n, beta)},
            {"ssmax_zstar", grid_threshold(n, beta)},
            {"ssmax_weight", grid_weight(n, beta, z_max)},
            {"ssmax_zstar_asymptotic", ssmax_bounded_threshold(n, s, BoundedScores<double>{1})},
            {"width_10_90", logistic_width(beta)}};
  };
  registry["spike_uniform"] = [](const Fields& in) -> Json {
    const auto jacobian = two_level_jacobian(in.number("n"), in.number("p"));
    return {{"spec", jacobian.spectral_norm},
            {"fro2", jacobian.squared_frobenius},
            {"trace", jacobian.trace},
            {"entropy", jacobian.entropy}};
  };
  registry["gap_bounds"] = [](const Fields& in) -> Json {
    const double n = in.number("n"), beta = in.number("s") * std::log(n);
    const double gap = in.number("gap_to_second"), range = in.number("range");
    return {{"lower", largest_weight_lower_bound(n, beta * gap)},
            {"upper", largest_weight_upper_bound(n, beta * range)},
            {"softmax_lower", largest_weight_lower_bound(n, gap)},
            {"softmax_upper", largest_weight_upper_bound(n, range)}};
  };
}

/// The weight of a needle and its annealed bound at every scaled gap that the case asks for.
inline Json signal_points(double count, double score_stddev, const Eigen::VectorXd& exponents) {
  Json points = Json::array();
  for (const double exponent : exponents) {
    points.push_back({{"beta_m", exponent},
                      {"E_p_needle", laws::needle_weight(count, score_stddev, exponent).value},
                      {"annealed_lower_bound", laws::needle_weight_annealed(count, score_stddev, exponent)}});
  }
  return points;
}

inline void register_signals(Registry& registry) {
  using namespace laws;
  registry["rem_needle"] = [](const Fields& in) -> Json {
    return {{"points", signal_points(in.number("N_noise"), in.number("x"), in.vector("beta_m"))}};
  };
  registry["rem_random_needle"] = [](const Fields& in) -> Json {
    const double n = in.number("N_noise"), x = in.number("x");
    return {{"E_p_needle",
             random_needle_weight(RandomNeedle<double>{n, x, in.number("beta_m"), in.number("beta_sd_needle")}).value},
            {"consistency_iid", random_needle_weight(RandomNeedle<double>{n, x, 0, x}).value},
            {"consistency_iid_exact", 1 / (n + 1)}};
  };
  registry["rem_needle_complement"] = [](const Fields& in) -> Json {
    const double n = in.number("N_noise"), x = in.number("x"), exponent = in.number("beta_m");
    return {{"E_one_minus_p", noise_weight(n, x, exponent).value},
            {"leading", noise_weight_leading_order(n, x, exponent)}};
  };
  registry["retrieval_boundary"] = [](const Fields& in) -> Json {
    const double noise = in.number("y");
    return {{"a_c", retrieval_boundary(noise)},
            {"noise_phase", noise_phase(noise) == NoisePhase::frozen ? "frozen" : "self-averaging"}};
  };
}

inline void register_gaussian_rows(Registry& registry) {
  using namespace laws;
  registry["rem"] = [](const Fields& in) -> Json {
    const double n = in.number("n"), x = in.number("x");
    const auto row = gaussian_row(n, x);
    return {{"E_logZ", row.log_partition},
            {"Y2", row.ipr},
            {"Y3", row.cubed_weights},
            {"Y22", row.squared_ipr},
            {"E_entropy", row.entropy},
            {"E_M", row.mean_score},
            {"E_M2", row.squared_mean_score},
            {"E_V", row.score_variance},
            {"E_V2", row.squared_score_variance},
            {"E_T", row.weighted_deviation},
            {"E_PF2", row.squared_frobenius},
            {"E_trP2", row.squared_trace},
            {"theta", x / critical_score_stddev(n)},
            {"annealed_logEZ", annealed_log_partition(n, x)},
            {"annealed_Y2", annealed_ipr(n, x)}};
  };
  registry["rem_pmax"] = [](const Fields& in) -> Json {
    return {{"E_p_max", largest_weight(in.number("n"), in.number("x")).value}};
  };
  registry["top_scores"] = [](const Fields& in) -> Json {
    const auto weight = top_scores_weight(in.number("n"), in.number("k"), in.number("x"));
    return {{"kept", weight.kept}, {"lost", weight.lost}};
  };
  registry["gradflow"] = [](const Fields& in) -> Json {
    const double x = in.number("x");
    const auto sizes = gradient_sizes(gaussian_row(in.number("n"), x), x, in.number("d"));
    return {{"E_xbar2", sizes.mean_token},
            {"E_Ch2_parallel", sizes.covariance_parallel},
            {"E_Ch2_perp", sizes.covariance_orthogonal},
            {"E_Ch2_isotropic", sizes.covariance_isotropic},
            {"ratio_rms_K_over_V", sizes.imbalance}};
  };
  registry["poisson_dirichlet"] = [](const Fields& in) -> Json {
    const double m = in.number("m");
    return {{"E_sum_p2", poisson_dirichlet_power_sum(m, 2.0)},
            {"E_sum_p3", poisson_dirichlet_power_sum(m, 3.0)},
            {"E_entropy", poisson_dirichlet_entropy(m)},
            {"E_max", poisson_dirichlet_largest(m).value}};
  };
  registry["rem_ssa"] = [](const Fields& in) -> Json {
    const scoring::SSA<double> map{in.number("b"), in.number("n_exp")};
    const double n = in.number("n"), v = in.number("v");
    const auto row = ssa_row(map, n, v);
    return {
        {"E_w", row.mean_weight},      {"E_w2", row.squared_weight},
        {"E_logZ", row.log_partition}, {"Y2", row.ipr},
        {"Y2_lln", row.typical_ipr},   {"E_p_needle", ssa_needle_weight(map, n, v, in.number("needle_score")).value}};
  };
}

}  // namespace detail

inline void register_laws(Registry& registry) {
  detail::register_fading(registry);
  detail::register_signals(registry);
  detail::register_gaussian_rows(registry);
}

}  // namespace incontext::oracles
