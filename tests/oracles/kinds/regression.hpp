#pragma once

#include <incontext/regression.hpp>
#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of in-context regression: reads their inputs from JSON and calls the closed form that computes them.
namespace incontext::oracles {

namespace detail {

inline regression::LinearTask<double> read_task(const Fields& in) {
  const Fields task = in.object("task");
  return regression::LinearTask<double>({task.vector("mean_x"), task.matrix("cov_x"), task.vector("mean_w"),
                                         task.matrix("cov_w"), task.number("noise_variance")});
}

inline regression::Attention<double> read_attention(const Fields& in) {
  const Fields attention = in.object("attention");
  return {attention.matrix("M"), attention.vector("v_x"), attention.number("v_y")};
}

inline Json parabola_fields(const regression::InverseTemperatureParabola<double>& error) {
  return {{"constant", error.constant},
          {"linear", error.linear},
          {"quadratic", error.quadratic},
          {"optimal_temperature", error.optimal_temperature()},
          {"minimum", error.minimum()}};
}

inline Json gaussian_error(const Fields& in, regression::ErrorConvention convention) {
  return parabola_fields(
      regression::generalization_error(read_attention(in), read_task(in), in.count("context_length"), convention));
}

}  // namespace detail

inline void register_regression(Registry& registry) {
  using namespace regression;
  registry["approximate_softmax"] = [](const Fields& in) { return detail::gaussian_error(in, {}); };
  registry["approximate_softmax_no_offset"] = [](const Fields& in) {
    return detail::gaussian_error(in, {.offset = Offset::removed});
  };
  registry["approximate_softmax_query_included"] = [](const Fields& in) {
    return detail::gaussian_error(in, {.query = QueryToken::included});
  };
  registry["approximate_softmax_asymptotic"] = [](const Fields& in) {
    return detail::parabola_fields(generalization_error_leading_order(detail::read_attention(in), detail::read_task(in),
                                                                      in.count("context_length")));
  };
  registry["linear_attention"] = [](const Fields& in) {
    return detail::parabola_fields(
        linear_attention_error(detail::read_attention(in), detail::read_task(in), in.count("context_length")));
  };
  registry["pretrained"] = [](const Fields& in) -> Json {
    const auto attention = pretrained_attention(detail::read_task(in), in.count("context_length"));
    return {
        {"M", to_json(attention.key_query)}, {"v_x", to_json(attention.input_value)}, {"v_y", attention.label_value}};
  };
  registry["moment_ratio"] = [](const Fields& in) -> Json {
    const auto moments = moment_ratio(detail::read_attention(in), detail::read_task(in));
    return {{"second_moment", moments.second_moment}, {"first_moment", moments.first_moment}, {"ratio", moments.ratio}};
  };
  registry["centered_ridge"] = [](const Fields& in) -> Json {
    const auto posterior = centered_ridge<double>(in.matrix("X"), in.vector("y"), in.vector("mean_w"),
                                                  in.matrix("cov_w"), in.number("noise_variance"));
    return {{"mean", to_json(posterior.mean)}, {"covariance", to_json(posterior.covariance)}};
  };
  registry["centered_ridge_risk_isotropic_limit"] = [](const Fields& in) -> Json {
    const IsotropicTask<double> task{.dimension = in.count("dimension"),
                                     .input_variance = in.number("a"),
                                     .task_variance = in.number("b"),
                                     .noise_variance = in.number("noise_variance")};
    return {{"risk", centered_ridge_risk_isotropic_limit(task, in.count("context_length"))}};
  };
  registry["centered_ridge_risk_equivalent"] = [](const Fields& in) -> Json {
    const auto equivalent = centered_ridge_risk_equivalent(detail::read_task(in), in.count("context_length"));
    return {{"effective_ridge", equivalent.effective_ridge}, {"risk", equivalent.risk}};
  };
  registry["approximate_softmax_any_law"] = [](const Fields& in) {
    return detail::parabola_fields(any_law_error<double>(
        detail::read_attention(in), InputRows<double>(in.matrix("input_rows")), in.vector("mean_w"), in.matrix("cov_w"),
        in.number("noise_variance"), in.count("context_length"), Offset::removed));
  };
}

}  // namespace incontext::oracles
