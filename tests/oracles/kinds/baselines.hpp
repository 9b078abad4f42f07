#pragma once

#include <cstdint>
#include <incontext/baselines.hpp>

#include "tests/oracles/kinds/fields.hpp"
#include "tests/oracles/kinds/registry.hpp"

/// The kinds of exact baselines.
namespace incontext::oracles {

inline void register_baselines(Registry& registry) {
  static constexpr auto variances_of = [](const Fields& in) -> baselines::TaskVariances<double> {
    return {.noise_variance = in.number("noise_variance"), .task_variance = in.number("task_variance")};
  };
  registry["isotropic"] = [](const Fields& in) -> Json {
    const baselines::WishartSpectrum<double> spectrum(in.count("examples"), in.count("dimension"));
    const auto task = variances_of(in);
    return {{"bayes_risk", bayes_risk(spectrum, task)},
            {"ridge_risk", ridge_risk(spectrum, task, in.number("penalty"))},
            {"mutual_information", mutual_information(spectrum, task)}};
  };
  registry["pool_of_two"] = [](const Fields& in) -> Json {
    const std::int64_t examples = in.count("examples"), dimension = in.count("dimension");
    return {{"risk", two_task_pool_risk(examples, dimension, variances_of(in))},
            {"weight", two_task_pool_weight(examples, dimension, variances_of(in))}};
  };
  registry["pool_weight"] = [](const Fields& in) -> Json {
    return {{"weight", baselines::right_task_weight(in.matrix("inputs"), in.vector("labels"), in.vector("right_task"),
                                                    variances_of(in), in.number("pool_size"))
                           .value}};
  };
  registry["one_pass_sgd"] = [](const Fields& in) -> Json {
    const baselines::OnePassSgd<double> sgd({.dimension = in.count("dimension"),
                                             .context_length = in.count("context_length"),
                                             .task = variances_of(in),
                                             .batch = in.count("batch")});
    const std::int64_t steps = in.count("steps");
    const double rate = in.number("learning_rate");
    return {{"floor", sgd.floor()},
            {"largest_stable_rate", sgd.largest_stable_rate()},
            {"risk", sgd.risk(sgd.after(steps, rate))},
            {"tail_average_risk", sgd.tail_average_risk(steps, in.count("tail"), rate)}};
  };
  registry["task_pool"] = [](const Fields& in) -> Json {
    const baselines::TaskPool<double> pool(in.matrix("tasks"), variances_of(in));
    const auto errors = pool.errors(in.count("examples"));
    return {{"seen", errors.seen}, {"fresh", errors.fresh}};
  };
  registry["pool_limit"] = [](const Fields& in) -> Json {
    const auto errors =
        baselines::pool_limit<double>(in.count("dimension"), in.count("tasks"), in.count("examples"), variances_of(in));
    return {{"seen", errors.seen}, {"fresh", errors.fresh}};
  };
  registry["flow_course"] = [](const Fields& in) -> Json {
    const baselines::FlowCourse<double> course({.dimension = in.count("dimension"),
                                                .context_length = in.count("context_length"),
                                                .task = variances_of(in),
                                                .start = in.number("start")});
    const double time = in.number("time");
    return {{"gain", course.gain(time)}, {"risk", course.risk(time)}, {"half_time", course.half_time()}};
  };
  registry["nearest_neighbors"] = [](const Fields& in) -> Json {
    return {{"risk", nearest_neighbors_risk(in.count("examples"), in.count("dimension"), in.count("neighbors"),
                                            variances_of(in))}};
  };
  registry["sequence_mixer"] = [](const Fields& in) -> Json {
    const baselines::SequenceMixers<double> mixers(
        {.input_variances = in.vector("input_variances"),
         .task_variances = in.vector("task_variances"),
         .noise_variance = in.number("noise_variance"),
         .persistence = in.number("persistence"),
         .keys = in.text("keys") == "normal" ? baselines::MixerKeys::normal : baselines::MixerKeys::normalized});
    const baselines::Mixer<double> mixer{in.number("keep"), in.number("erase"), in.number("write")};
    return {{"risk", mixers.risks(mixer, {in.count("examples")}).front()}, {"steady_risk", mixers.steady_risk(mixer)}};
  };
}

}  // namespace incontext::oracles
