#pragma once

#include <incontext/sampled_training/sphere_sequences.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/statistics/moments.hpp>
#include <incontext/training/learned_map.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/simulation_runs.hpp"
#include "examples/train/kept_training.hpp"
#include "examples/train/transience_runs.hpp"

/// The training that transience_runs.hpp describes. Only simulator.cpp includes this.
namespace incontext::examples::train {

inline void pass_fields(Numbers& numbers, ContextScore& score) { numbers(score.loss, score.accuracy); }

inline void pass_fields(Numbers& numbers, TransiencePoint& at) { numbers(at.step, at.fresh, at.chosen_by, at.shared); }

namespace detail {

using TransienceTraining = incontext::training::SequenceTraining<training::LearnedMap<scoring::Softmax<float>>>;

/// The loss and the accuracy of the query's class over contexts of a stream, from an index on.
inline ContextScore score_of(const TransienceTraining& model, const std::vector<double>& parameters,
                             const incontext::training::SequenceStream<float>& stream, std::int64_t contexts,
                             std::int64_t length) {
  std::vector<double> losses(static_cast<std::size_t>(contexts)), hits(losses.size());
  model.each_output(
      parameters, stream, contexts, length,
      [&](std::int64_t first, const training::SequenceExamples<float>& drawn, const training::Matrix<float>& outputs) {
        for (std::int64_t s = 0; s < drawn.sequences(); ++s) {
          const Eigen::Index query = (s + 1) * length - 1;
          const Eigen::VectorXd logits = outputs.col(query).template cast<double>();
          Eigen::Index own = 0, said = 0;
          drawn.targets.col(query).maxCoeff(&own);
          const double largest = logits.maxCoeff(&said);
          const auto at = static_cast<std::size_t>(first + s);
          losses[at] = largest + std::log((logits.array() - largest).exp().sum()) - logits[own];
          hits[at] = said == own ? 1 : 0;
        }
      });
  const auto mean = [](const std::vector<double>& values) {
    return statistics::Estimate(statistics::moments_of(values.data(), std::ssize(values)));
  };
  return {mean(losses), mean(hits)};
}

}  // namespace detail

inline std::vector<TransiencePoint> train_transience(SimulationRuns& runs, const std::string& what,
                                                     const TransienceRun& run) {
  std::vector<TransiencePoint> course;
  runs.train(what, [&](const simulate::Options& options) {
    using incontext::training::sphere_sequences;
    const simulate::SphereTask& task = run.task;
    const int width = static_cast<int>(task.dimension + task.classes);
    const std::int64_t length = task.context_length + 1;
    const training::LearnedMap<scoring::Softmax<float>> map{{std::sqrt(static_cast<float>(width))}};
    const auto stream = sphere_sequences<float>(task, run.seed);
    const detail::TransienceTraining model(
        {{.features = width,
          .outputs = static_cast<int>(task.classes),
          .width = width,
          .heads = 1,
          .hidden = static_cast<int>(run.hidden_ratio) * width,
          .norms = training::LayerNorms::none},
         map},
        stream, {.seed = run.seed, .batch = run.batch, .device = options.device, .threads = options.threads});
    training::Trainer trainer(
        model.initial(), model.gradient(),
        {.rate = {.peak = run.rate}, .largest_gradient_norm = 10, .largest_loss_growth = diverged_loss_growth},
        model.decays());
    auto fresh_task = task;
    fresh_task.prototype_sets = 0;
    constexpr std::uint64_t test_seed = 0x7E570000, choice_seed = 0xC4010000, held_out = std::uint64_t{1} << 60;
    // Every run has contexts of its own, so that the spread over runs is the whole error of their mean.
    const auto fresh = sphere_sequences<float>(fresh_task, test_seed + run.seed);
    const auto chosen_by = sphere_sequences<float>(fresh_task, choice_seed + run.seed);
    auto shared = stream;
    shared.draw = [draw = stream.draw](std::uint64_t index, std::int64_t tokens, auto& examples, Eigen::Index first) {
      draw(held_out + index, tokens, examples, first);
    };
    KeptTraining kept(runs.summary().file.get(), what, options, run.steps);
    kept.resume(trainer);
    course = kept.template results<TransiencePoint>();
    SimulationRuns::Training done;
    for (std::int64_t i = std::ssize(course) + 1; i <= run.measurements; ++i) {
      const std::int64_t next = run.steps * i / run.measurements;
      if (!kept.advance(trainer, next)) break;
      const auto score = [&](const auto& contexts) {
        return detail::score_of(model, trainer.parameters(), contexts, run.tested, length);
      };
      const TransiencePoint point{next, score(fresh), score(chosen_by), score(shared)};
      if (simulate::InterruptGuard::requested()) break;
      course.push_back(point);
      kept.add(point);
    }
    done.interrupted = std::ssize(course) < run.measurements;
    if (!done.interrupted) kept.end();
    done.drawn = kept.steps() * run.batch;
    return done;
  });
  return course;
}

}  // namespace incontext::examples::train
