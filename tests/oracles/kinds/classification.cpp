#include "tests/oracles/kinds/classification.hpp"

#include <Eigen/Core>
#include <cmath>
#include <incontext/classification.hpp>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "examples/support/text.hpp"
#include "tests/oracles/kinds/fields.hpp"

namespace incontext::oracles {

namespace {

classification::QueryToken query_key(const Fields& in) {
  return in.flag("include_query") ? classification::QueryToken::included : classification::QueryToken::excluded;
}

void register_partition_function(Registry& registry) {
  using namespace classification;
  registry["log_A"] = [](const Fields& in) -> Json {
    return {{"value", log_kernel_mean(in.count("d"), in.number("kappa"))}};
  };
  registry["A"] = [](const Fields& in) -> Json { return {{"value", kernel_mean(in.count("d"), in.number("kappa"))}}; };
  registry["mean_resultant_length"] = [](const Fields& in) -> Json {
    return {{"value", mean_resultant_length(in.count("d"), in.number("kappa"))}};
  };
  registry["v_excess"] = [](const Fields& in) -> Json {
    return {{"value", partition_function_excess(in.count("d"), in.number("kappa"))}};
  };
  registry["cv_S"] = [](const Fields& in) -> Json {
    return {{"value", partition_function_variation(in.count("d"), in.number("kappa"), in.count("n"), query_key(in))}};
  };
  registry["sphere_constants"] = [](const Fields& in) -> Json {
    const auto constants = sphere_constants<double>(in.count("d"));
    return {{"R_d", constants.density}, {"m_d", constants.mean_absolute}, {"c_d", constants.cap}};
  };
  registry["inverse_S_moments"] = [](const Fields& in) -> Json {
    const auto law = inverse_partition_function(in.count("d"), in.number("kappa"), in.count("n"), query_key(in));
    return {{"E_inv", law.mean}, {"E_inv2", law.second_moment}, {"var_inv", law.variance}, {"E_sum_p2", law.ipr}};
  };
  registry["E_max_weight"] = [](const Fields& in) -> Json {
    return {{"value", expected_largest_weight(in.count("d"), in.number("kappa"), in.count("n"), query_key(in))}};
  };
  registry["poisson_d3"] = [](const Fields& in) -> Json {
    const auto law = sparse_neighborhood(in.number("lambda"));
    return {{"J", law.self_weight}, {"E_sum_p2", law.ipr}};
  };
}

void register_two_classes(Registry& registry) {
  using namespace classification;
  registry["k2_hemisphere"] = [](const Fields& in) -> Json {
    const auto contrast = hemisphere_contrast(in.count("d"), in.number("kappa"), in.number("alpha"));
    return {{"Delta", contrast.relative},
            {"log_B", contrast.logarithm},
            {"var_S_over_n_A2", contrast.partition_function_variance}};
  };
  registry["k2_expected_logit_difference"] = [](const Fields& in) -> Json {
    const auto d = in.count("d"), n = in.count("n");
    const double kappa = in.number("kappa"), alpha = in.number("alpha"), gain = in.number("c");
    const auto linear = linear_logit_difference(d, alpha, n, in.number("eta"));
    const auto kernel = kernel_logit_difference(d, kappa, alpha, n, in.number("eta"));
    Json out{{"linear_mean", linear.mean},
             {"linear_var", linear.variance},
             {"kernel_mean", kernel.mean},
             {"kernel_var", kernel.variance}};
    for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
      const std::string end = query == QueryToken::included ? "_q1" : "_q0";
      const auto adaptive = adaptive_logit_difference(d, kappa, alpha, n, gain, query);
      out["softmax_limit" + end] = adaptive.limit;
      out["softmax_delta_mean" + end] = adaptive.mean;
      out["softmax_delta_var" + end] = adaptive.variance;
    }
    return out;
  };
  registry["k2_softmax_exact"] = [](const Fields& in) -> Json {
    return {{"value", expected_adaptive_logit_difference(in.count("d"), in.number("kappa"), in.number("alpha"),
                                                         in.count("n"), 1.0, query_key(in))}};
  };
  registry["k2_linear_ce_clt"] = [](const Fields& in) -> Json {
    return {{"value", linear_cross_entropy(in.count("d"), in.count("n"), in.number("eta"))}};
  };
  registry["k2_linear_accuracy_clt"] = [](const Fields& in) -> Json {
    return {{"value", linear_accuracy<double>(in.count("d"), in.count("n"))}};
  };
  registry["k2_linear_optimal_eta"] = [](const Fields& in) -> Json {
    const auto best = best_linear_rate<double>(in.count("d"), in.count("n"));
    const auto leading = best_linear_rate_leading<double>(in.count("d"), in.count("n"));
    return {{"eta_star", best.learning_rate},
            {"L_star", best.cross_entropy},
            {"eta_closed", leading.learning_rate},
            {"L_closed", leading.cross_entropy}};
  };
  registry["k2_asymptotics"] = [](const Fields& in) -> Json {
    const auto layer = two_class_layer(in.count("d"), in.number("kappa"), in.count("n"));
    return {{"slope_Delta", layer.contrast_slope},
            {"noise_ratio", layer.noise_ratio},
            {"err_linear", layer.linear_error},
            {"err_kernel", layer.kernel_error},
            {"c_star", layer.best_gain},
            {"c_star_query", layer.best_gain_with_query},
            {"mean_Delta2", layer.mean_squared_contrast},
            {"var_S_ratio", layer.variance_ratio}};
  };
}

Json cells_of(const Fields& in) {
  if (in.has("d") && in.count("d") != 2) throw_input_error(in.path() + ".d", "is no circle's", in.text("d"), "2");
  const Eigen::VectorXd prototypes = in.vector("prototype_angles");
  const auto cells = classification::circle_cells<double>(
      std::span<const double>(prototypes.data(), static_cast<std::size_t>(prototypes.size())), in.number("query_angle"),
      in.number("kappa"), in.count("n"), in.number("c"));
  return {{"volume", cells.volume},
          {"P_vMF", cells.probability},
          {"weights_balanced", cells.balanced_weights},
          {"p_balanced", cells.balanced_classes},
          {"p_iid", cells.independent_classes},
          {"scaled_mean_S", cells.mean_partition_function},
          {"scaled_var_S", cells.partition_function_variance}};
}

/// A context whose coordinates are integers divided by 2^shift.
classification::Context<double> integer_context(const Fields& in) {
  constexpr std::int64_t largest_shift = 1000, most_classes = 1000;
  const std::int64_t shift = in.count("shift", -largest_shift), classes = in.count("k", 1);
  if (shift > largest_shift) throw_input_error(in.path() + ".shift", "is too large", shift, "at most 1000");
  if (classes > most_classes) throw_input_error(in.path() + ".k", "is too large", classes, "at most 1000");
  const double unit = std::ldexp(1.0, -static_cast<int>(shift));
  classification::Context<double> context{unit * in.matrix("X"), {}, unit * in.vector("x"), classes};
  for (const double label : in.vector("labels")) {
    if (label != std::floor(label)) throw_input_error(in.path() + ".labels", "is not whole", label, "whole numbers");
    context.labels.push_back(static_cast<std::int64_t>(label));
  }
  return context;
}

Json prediction_json(const classification::Prediction<double>& prediction, std::int64_t label) {
  return {{"logits", to_json(prediction.logits)},
          {"probs", to_json(prediction.probabilities)},
          {"loss", classification::cross_entropy(prediction, label)},
          {"sensitivity", to_json(prediction.sensitivity)}};
}

std::map<std::string, classification::Prediction<double>> context_steps(const Fields& in) {
  using namespace classification;
  const auto context = integer_context(in);
  const double eta = in.number("eta"), kappa = in.number("kappa"), c = in.number("c");
  return {{"linear_gd", linear_descent(context, eta)},
          {"kernel_gd_rbf", kernel_descent(context, kappa, eta, KernelForm::rbf)},
          {"kernel_gd_dot", kernel_descent(context, kappa, eta, KernelForm::dot)},
          {"adaptive_noquery", adaptive_descent(context, kappa, c, SelfTerm::none)},
          {"adaptive_query_dot", adaptive_descent(context, kappa, c, SelfTerm::dot)},
          {"adaptive_query_const", adaptive_descent(context, kappa, c, SelfTerm::constant)},
          {"elimination_noquery", adaptive_descent(context, -kappa, -c, SelfTerm::none)},
          {"elimination_query_dot", adaptive_descent(context, -kappa, -c, SelfTerm::dot)}};
}

Json attention_passes(const Fields& in, const classification::ContextAttention<double>& attention) {
  using namespace classification;
  const auto context = integer_context(in);
  const double of_linear = 1 / static_cast<double>(context.inputs.rows());
  const double of_others = 1 / std::sqrt(static_cast<double>(attention.key_query.rows()));
  Json all = Json::object();
  for (const auto& [name, kind] :
       {std::pair{"linear", AttentionKind::linear}, std::pair{"exp", AttentionKind::exponential},
        std::pair{"softmax", AttentionKind::softmax}}) {
    for (const QueryToken query : {QueryToken::included, QueryToken::excluded}) {
      const double scale = kind == AttentionKind::linear ? of_linear : of_others;
      const auto pass = context_attention(attention, kind, scale, context, in.count("y"), query);
      Json one = prediction_json(pass.prediction, in.count("y"));
      one["attention"] = to_json(pass.attention);
      one["grad_M_first_d_columns"] = to_json(pass.key_query_gradient);
      one["grad_P_y_rows"] = to_json(pass.output_gradient);
      all[std::string(name) + (query == QueryToken::included ? "_query" : "_noquery")] = std::move(one);
    }
  }
  return all;
}

/// Predictions by every algorithm and every kind of attention, and how far they are apart.
Json tiny_context(const Fields& in) {
  using namespace classification;
  const auto steps = context_steps(in);
  Json reference = Json::object(), apart = Json::object();
  for (const auto& [name, step] : steps) {
    reference[name] = prediction_json(step, in.count("y"));
    reference[name]["entropy"] = entropy(step);
  }
  for (const auto& [one, first] : steps) {
    for (const auto& [other, second] : steps) {
      if (one == other) continue;
      const auto distance = alignment(first, second);
      // a class of sensitivity 0 has no cosine
      const Json cosine = std::isnan(distance.cosine) ? Json() : Json(distance.cosine);
      apart[one + "|" + other] = {{"preds_diff", distance.prediction_distance},
                                  {"cos_sim", cosine},
                                  {"model_diff_frobenius", distance.sensitivity_distance}};
    }
  }
  const ContextAttention<double> attention{in.matrix("M16") / 16, in.matrix("P16") / 16};
  const double scale = 1 / std::sqrt(static_cast<double>(attention.key_query.rows()));
  const auto effective = effective_step(attention, scale, in.count("k"));
  return {{"reference", reference},
          {"alignment", apart},
          {"sa", attention_passes(in, attention)},
          {"extraction_softmax_tau", {{"kappa", effective.kappa}, {"c", effective.gain}}}};
}

}  // namespace

void register_classification(Registry& registry) {
  register_partition_function(registry);
  register_two_classes(registry);
  registry["d2_voronoi_limit"] = cells_of;
  registry["tiny_context"] = tiny_context;
}

}  // namespace incontext::oracles
