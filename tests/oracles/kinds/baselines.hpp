#pragma once

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
}

}  // namespace incontext::oracles
