#pragma once

#include <cstdlib>
#include <incontext/scoring.hpp>
#include <incontext/training.hpp>
#include <string>

#include "examples/support/text.hpp"
#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of training: gradients of a layer and the papers' tasks.
namespace incontext::oracles {

namespace detail {

/// The number after "name=" in a text such as "b=1, n_exp=1.5, scores/tau".
inline double named_number(const Fields& in, const std::string& name) {
  const std::string text = ", " + in.text("params");
  const std::size_t at = text.find(", " + name + "=");
  if (at == std::string::npos) throw_input_error(in.path() + ".params", "has no " + name, text, name + "=...");
  return std::strtod(text.c_str() + at + name.size() + 3, nullptr);
}

template <class Map>
Json layer_gradients_of(const Fields& in, const Map& map) {
  const training::LayerWeights<double> weights{in.matrix("WQ"), in.matrix("WK"), in.matrix("WV")};
  const auto pass = training::layer_gradients(map, in.matrix("X"), in.matrix("Xq"), weights, in.matrix("G"));
  const auto& gradient = pass.gradient;
  return {{"weights", to_json(pass.attention)},
          {"out", to_json(pass.output)},
          {"dWQ", to_json(gradient.query)},
          {"dWK", to_json(gradient.key)},
          {"dWV", to_json(gradient.value)},
          {"fro", {gradient.query.norm(), gradient.key.norm(), gradient.value.norm()}},
          {"l1", {gradient.query.cwiseAbs().sum(), gradient.key.cwiseAbs().sum(), gradient.value.cwiseAbs().sum()}}};
}

/// The maps here take raw scores; "scores/tau" in the text sets the map's temperature to tau.
inline Json layer_gradients(const Fields& in) {
  const std::string mode = in.text("mode");
  if (mode == "normsoftmax") return layer_gradients_of(in, scoring::NormSoftmax<double>{named_number(in, "tau")});
  const double tau = in.number("tau");
  require_positive("training::layer_gradients", "tau", tau);
  if (mode == "softmax") return layer_gradients_of(in, scoring::Softmax<double>{tau});
  if (mode == "approx_softmax") return layer_gradients_of(in, scoring::ApproximateSoftmax<double>{tau});
  if (mode == "ssmax") return layer_gradients_of(in, scoring::SSMax<double>{named_number(in, "s") / tau, 0});
  if (mode == "ssa") {
    return layer_gradients_of(in, scoring::SSA<double>{named_number(in, "b"), named_number(in, "n_exp"), tau});
  }
  throw_input_error(in.path() + ".mode", "is unknown", mode, "softmax, approx_softmax, ssmax, ssa or normsoftmax");
}

}  // namespace detail

inline void register_training(Registry& registry) {
  using namespace training;
  registry["layer_gradients"] = detail::layer_gradients;
  registry["affine_task"] = [](const Fields& in) -> Json {
    const AffineTask<double> task{in.number("sigma_I"), in.number("sigma_F")};
    const auto risks = affine_risks(task);
    return {{"bayes_mse_0_examples", risks.no_example},
            {"bayes_mse_1_example", risks.one_example},
            {"bayes_mse_2_examples", risks.two_examples},
            {"zero_predictor_eq2_Np40", risks.zero_predictor},
            {"clip_mse", clipped_affine_error(task, in.number("clip_B")).value},
            {"E_inv_1_plus_x2", mean_inverse_one_plus_square(task.input_stddev)}};
  };
  registry["quantifier_task"] = [](const Fields& in) -> Json {
    const auto task = quantifier_task(in.count("length"));
    return {{"P_every", task.every},
            {"P_some", task.some},
            {"sign_of_last_error_every", task.last_sign_error},
            {"sign_of_max_error_every", task.largest_sign_error},
            {"mean_error_constant_false_every_prefixes", task.constant_false_mean_error},
            {"sequence_error_constant_false_from_4th", task.constant_false_sequence_error}};
  };
  registry["reasoning_task"] = [](const Fields& in) -> Json {
    const auto task = reasoning_task(in.count("n"));
    return {{"inputs", task.inputs},
            {"P_g", task.parities_differ},
            {"chance_coin", task.coin_accuracy},
            {"always_c", task.always_c_accuracy},
            {"always_d", task.always_d_accuracy},
            {"plateau_cross_entropy", task.plateau_cross_entropy},
            {"n_train_30pct_floor", task.training}};
  };
}

}  // namespace incontext::oracles
