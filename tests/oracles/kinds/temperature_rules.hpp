#pragma once

#include <Eigen/Core>
#include <incontext/calibration.hpp>
#include <incontext/scoring.hpp>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The temperature rules of deployed models.
namespace incontext::oracles {

inline void register_temperature_rules(Registry& registry) {
  using namespace calibration;
  const auto add = [&](const char* kind, const auto& rule) {
    registry[kind] = [rule](const Fields& in) -> Json { return {{"inverse_temperature", rule(in)}}; };
  };
  add("qwen", [](const Fields& in) {
    return qwen_inverse_temperature<double>(in.count("row_length"), in.count("trained_length"));
  });
  add("grok", [](const Fields& in) {
    return grok_inverse_temperature<double>(in.count("row_length"), in.count("temperature_length"));
  });
  add("llama4", [](const Fields& in) {
    return llama4_inverse_temperature(in.count("row_length"), in.count("floor_scale"), in.number("attention_scale"));
  });
  add("mistral", [](const Fields& in) {
    return mistral_inverse_temperature(in.count("row_length"), in.count("trained_length"),
                                       in.number("attention_scale"));
  });
  add("longrope",
      [](const Fields& in) { return longrope_inverse_temperature(in.number("factor"), in.count("trained_length")); });
  add("yarn", [](const Fields& in) { return yarn_inverse_temperature(in.number("factor")); });
  add("deepseek",
      [](const Fields& in) { return deepseek_inverse_temperature(in.number("factor"), in.number("mscale")); });
  add("ssmax_rule", [](const Fields& in) {
    return scoring::SSMax<double>{in.number("scale"), in.number("bias")}.inverse_temperature(in.count("row_length"));
  });
  registry["entropy_polynomial"] = [](const Fields& in) -> Json {
    const Eigen::VectorXd scores = in.vector("scores");
    const double entropy = scoring::summary(scoring::Softmax<double>{}, {scores.data(), scores.size()}).entropy;
    return {{"entropy", entropy}, {"inverse_temperature", entropy_inverse_temperature(entropy)}};
  };
}

}  // namespace incontext::oracles
