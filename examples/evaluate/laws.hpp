#pragma once

#include <cmath>
#include <incontext/laws/fading.hpp>
#include <incontext/laws/fading_grid.hpp>
#include <incontext/laws/fading_thresholds.hpp>

#include "examples/evaluate/fields.hpp"
#include "examples/evaluate/registry.hpp"

/// The kinds of laws of a row of scores: how their inputs are spelled in JSON and which closed form answers.
namespace incontext::examples {

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
    return {
        {"softmax_logS", grid_log_sum(n, 1.0)},         {"softmax_zstar", grid_threshold(n, 1.0)},
        {"softmax_weight", grid_weight(n, 1.0, z_max)}, {"ssmax_beta", beta},
        {"ssmax_logS", grid_log_sum(n, beta)},          {"ssmax_zstar", grid_threshold(n, beta)},
        {"ssmax_weight", grid_weight(n, beta, z_max)},  {"ssmax_zstar_asymptotic", ssmax_bounded_threshold(n, s, 1.0)},
        {"width_10_90", logistic_width(beta)}};
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

}  // namespace detail

inline void register_laws(Registry& registry) { detail::register_fading(registry); }

}  // namespace incontext::examples
