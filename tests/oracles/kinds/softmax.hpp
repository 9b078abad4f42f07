#pragma once

#include <incontext/laws.hpp>
#include <incontext/regression.hpp>
#include <incontext/scoring.hpp>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"
#include "tests/oracles/kinds/regression.hpp"

/// The kinds of true softmax attention on Gaussian inputs, and of its relatives.
namespace incontext::oracles {

namespace detail {

/// Calls use(map) with the map that `in.scoring` names, applied to scores divided by the temperature.
template <class Use>
Json with_map(const Fields& in, double temperature, const Use& use) {
  const Fields scoring = in.object("scoring");
  switch (scoring.choice("name", {"softmax", "ssmax", "ssa"})) {
    case 0:
      return use(scoring::Softmax<double>{temperature});
    case 1:
      return use(scoring::SSMax<double>{scoring.number("s") / temperature,
                                        (scoring.has("b") ? scoring.number("b") : 0.0) / temperature});
    default:
      return use(scoring::SSA<double>{scoring.positive("b"), scoring.positive("n"), temperature});
  }
}

inline Json row_moments_case(const Fields& in) {
  const double temperature = in.has("temperature") ? in.positive("temperature") : 1.0;
  return with_map(in, temperature, [&](const auto& map) -> Json {
    const auto row = laws::row_moments(map, in.count("tokens"), in.number("score_variance"));
    return {{"ipr", row.ipr}, {"mean_score", row.mean_score}, {"mean_square_score", row.mean_square_score}};
  });
}

inline Json softmax_error_isotropic_case(const Fields& in) {
  const regression::IsotropicTask<double> task{.dimension = in.count("dimension"),
                                               .input_variance = in.number("cov_x_scale"),
                                               .task_variance = in.number("cov_w_scale"),
                                               .noise_variance = in.number("noise_variance")};
  const regression::IsotropicAttention<double> attention{.key_query_scale = in.number("M_scale"),
                                                         .label_value = in.number("v_y")};
  return with_map(in, in.positive("temperature"), [&](const auto& map) -> Json {
    return {{"error", softmax_error_isotropic(attention, task, in.count("context_length"), map).value}};
  });
}

}  // namespace detail

inline void register_softmax_error(Registry& registry) {
  registry["softmax_second_order"] = [](const Fields& in) -> Json {
    return {{"error", softmax_error_second_order(detail::read_attention(in), detail::read_task(in),
                                                 in.number("temperature"), in.count("context_length"))}};
  };
  registry["row_moments"] = detail::row_moments_case;
  registry["softmax_error_isotropic_exact"] = detail::softmax_error_isotropic_case;
}

}  // namespace incontext::oracles
