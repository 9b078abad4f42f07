#pragma once

#include <cstdint>
#include <incontext/baselines/pool_posterior.hpp>
#include <incontext/baselines/ridge_risk.hpp>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of exact baselines.
namespace incontext::oracles {

inline void register_baselines(Registry& registry) {
  registry["isotropic"] = [](const Fields& in) -> Json {
    const baselines::WishartSpectrum<double> spectrum(in.count("examples"), in.count("dimension"));
    const baselines::TaskVariances<double> task{.noise_variance = in.number("noise_variance"),
                                                .task_variance = in.number("task_variance")};
    return {{"bayes_risk", bayes_risk(spectrum, task)},
            {"ridge_risk", ridge_risk(spectrum, task, in.number("penalty"))},
            {"mutual_information", mutual_information(spectrum, task)}};
  };
  registry["pool_of_two"] = [](const Fields& in) -> Json {
    const baselines::TaskVariances<double> task{.noise_variance = in.number("noise_variance"),
                                                .task_variance = in.number("task_variance")};
    const std::int64_t examples = in.count("examples"), dimension = in.count("dimension");
    return {{"risk", two_task_pool_risk(examples, dimension, task)},
            {"weight", two_task_pool_weight(examples, dimension, task)}};
  };
  registry["pool_weight"] = [](const Fields& in) -> Json {
    const baselines::TaskVariances<double> task{.noise_variance = in.number("noise_variance"),
                                                .task_variance = in.number("task_variance")};
    return {{"weight", baselines::right_task_weight(in.matrix("inputs"), in.vector("labels"), in.vector("right_task"),
                                                    task, in.number("pool_size"))
                           .value}};
  };
}

}  // namespace incontext::oracles
