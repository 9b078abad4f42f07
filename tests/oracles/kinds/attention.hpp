#pragma once

#include <incontext/scoring.hpp>

#include <limits>
#include <utility>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of attention on queries, keys and values, and the schedule of its temperature.
namespace incontext::oracles {

namespace detail {

struct Vectors {
  Eigen::MatrixXd queries;
  Eigen::MatrixXd keys;
  Eigen::MatrixXd values;
};

inline Vectors read_vectors(const Fields& in) {
  Vectors vectors{in.matrix("Q"), in.matrix("K"), in.matrix("V")};
  const auto require = [&](const char* name, Eigen::Index value, Eigen::Index expected, const char* of) {
    if (value == expected) return;
    throw_input_error(in.path() + "." + name, std::string("has the wrong number of ") + of, value,
                      std::to_string(expected));
  };
  require("K", vectors.keys.cols(), vectors.queries.cols(), "columns");
  require("V", vectors.values.rows(), vectors.keys.rows(), "rows");
  return vectors;
}

/// The weights of every query, with 0 for the keys that it does not see.
template <class Kernel>
Eigen::MatrixXd weights_of(const scoring::KernelAttention<Kernel>& map, const Vectors& vectors,
                           scoring::Visibility visibility = scoring::Visibility::all) {
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(vectors.queries.rows(), vectors.keys.rows());
  for (Eigen::Index i = 0; i < out.rows(); ++i) {
    const Eigen::Index visible = scoring::visible_keys(visibility, i, out.rows(), out.cols());
    const Eigen::MatrixXd keys = vectors.keys.topRows(visible);
    const Eigen::VectorXd query = vectors.queries.row(i);
    Eigen::VectorXd row(visible);
    weights(map, query, keys, row, scoring::query_position(visibility, i, out.rows(), out.cols()));
    out.row(i).head(visible) = row.transpose();
  }
  return out;
}

template <class Kernel>
Json kernel_attention_fields(const Kernel& kernel, const Vectors& vectors) {
  using enum scoring::KernelNormalization;
  const auto of = [&](scoring::KernelNormalization normalization) {
    return weights_of(scoring::KernelAttention<Kernel>{kernel, normalization}, vectors);
  };
  const Eigen::MatrixXd over_sum = of(sum);
  return {{"kernel", to_json(of(none))},
          {"weights_over_sum", to_json(over_sum)},
          {"out_over_sum", to_json(Eigen::MatrixXd(over_sum * vectors.values))},
          {"out_over_n", to_json(Eigen::MatrixXd(of(context_length) * vectors.values))}};
}

inline Json kernel_attention_case(const Fields& in) {
  const Vectors vectors = read_vectors(in);
  switch (in.choice("kernel", {"exp(q.k/tau)", "exp(-|q-k|^2/(2 h^2))", "(elu+1)(q).(elu+1)(k)"})) {
    case 0:
      return kernel_attention_fields(scoring::ExponentialKernel<double>{in.positive("tau")}, vectors);
    case 1:
      return kernel_attention_fields(scoring::GaussianKernel<double>{in.positive("h")}, vectors);
    default:
      return kernel_attention_fields(scoring::EluKernel<double>{}, vectors);
  }
}

template <class Kernel>
Json attention_fields(const scoring::KernelAttention<Kernel>& map, const Vectors& vectors,
                      scoring::Visibility visibility = scoring::Visibility::all) {
  const Eigen::Index features = map.kernel.feature_count(vectors.keys.cols());
  Eigen::MatrixXd state(features, vectors.values.cols() + 1), out(vectors.queries.rows(), vectors.values.cols());
  attend(map, vectors.queries, vectors.keys, vectors.values, out, state, visibility);
  return {{"weights", to_json(weights_of(map, vectors, visibility))}, {"out", to_json(out)}};
}

inline Json linear_attention_case(const Fields& in) {
  const Vectors vectors = read_vectors(in);
  const bool over_n = in.choice("norm", {"1", "1/n_keys"}) == 1;
  const scoring::LinearAttention<double> map{
      in.positive("tau"), over_n ? scoring::LinearNormalization::context_length : scoring::LinearNormalization::none};
  return attention_fields(as_kernel_attention(map), vectors);
}

inline Json cosformer_case(const Fields& in) {
  const Vectors vectors = read_vectors(in);
  if (in.has("act")) in.choice("act", {"relu"});
  auto map = scoring::cosformer(in.positive("m"));
  if (in.has("eps")) map.floor = in.non_negative("eps");
  const bool causal = in.has("causal") && in.flag("causal");
  return attention_fields(map, vectors, causal ? scoring::Visibility::causal : scoring::Visibility::all);
}

inline scoring::HeatShape read_heat_shape(const Fields& in) {
  using enum scoring::HeatShape;
  const std::size_t shape =
      in.choice("shape", {"half_cosine", "full_cosine", "linear_full", "linear_half", "constant"});
  constexpr scoring::HeatShape shapes[] = {half_cosine_inverse, full_cosine_inverse, linear_inverse, half_linear,
                                           constant};
  // Each shape of the schedule changes one of the two variables; a constant schedule changes neither.
  const std::size_t variable = in.choice("variable", {"inverse_temperature", "temperature"});
  if (shapes[shape] != constant && (shapes[shape] == half_linear) != (variable == 1)) {
    throw_input_error(in.path() + ".variable", "does not go with shape " + in.text("shape"), in.text("variable"),
                      variable == 1 ? "inverse_temperature" : "temperature");
  }
  return shapes[shape];
}

inline Json heat_schedule_case(const Fields& in) {
  const std::int64_t epochs = in.count("epochs", 1);
  if (epochs > 1000000) throw_input_error(in.path() + ".epochs", "is too large", epochs, "at most 1000000");
  const scoring::HeatSchedule<double> schedule{in.positive("tau_start"), in.positive("tau_end"),
                                               static_cast<int>(epochs), read_heat_shape(in)};
  Json inverse = Json::array(), temperature = Json::array();
  for (int epoch = 0; epoch < schedule.epochs; ++epoch) {
    inverse.push_back(schedule.inverse_temperature(epoch));
    temperature.push_back(schedule.temperature(epoch));
  }
  return {{"inverse_tau", inverse}, {"tau", temperature}};
}

}  // namespace detail

/// Call it after register_regression. Both rooms have a kind `linear_attention`; the inputs of a case determine which is
/// meant.
inline void register_attention(Registry& registry) {
  registry["linear_attention_weights"] = detail::linear_attention_case;
  registry["kernel_attention"] = detail::kernel_attention_case;
  registry["cosformer"] = detail::cosformer_case;
  registry["heat_schedule"] = detail::heat_schedule_case;
}

}  // namespace incontext::oracles
