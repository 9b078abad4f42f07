#pragma once

#include <cstdint>

#include "incontext/sampled_training/sequence_training.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"

namespace incontext::training {

/// Sequences of the sphere task: the points of a context with their labels, then the query, whose class is asked for. A
/// token is the input beside the one-hot label; the query's has no label. Only the query's token has a loss. The order
/// of the points has no effect on it, because a token does not know its place.
///
///     const auto stream = training::sphere_sequences<float>({.dimension = 5, .classes = 5, .context_length = 30}, 3);
///
/// With shared prototypes (SphereTask::prototype_sets) the sequences of one seed have the same sets at every index, and
/// another seed has other sets. Sequences at indices that were not trained on therefore test what was learned of the
/// sets.
///
/// Source    arXiv 2510.10425, Section 2.1 and App. C.
/// Shapes    dimension + classes features, classes outputs, sequences of context_length + 1 tokens.
/// Units     nats.
/// Errors    as simulate::validate(SphereTask), when a sequence is drawn.
/// Accuracy  the draws are those of simulate::draw_sphere_context: tests/sampled_training/sphere_sequences.cpp.
/// Random    as simulate::SphereTaskDraw.
template <class T>
SequenceStream<T> sphere_sequences(const simulate::SphereTask& task, std::uint64_t seed) {
  return {
      .loss = training::SequenceLoss::cross_entropy,
      .length = [task](std::int64_t) { return task.context_length + 1; },
      .draw =
          [task, seed](std::uint64_t index, std::int64_t, training::SequenceExamples<T>& examples, Eigen::Index first) {
            const auto context = simulate::draw_sphere_context<T>(task, seed, index);
            using Column = Eigen::Map<const numerics::Vector<T>>;
            for (std::int64_t j = 0; j < task.context_length; ++j) {
              auto token = examples.features.col(first + j);
              token.head(task.dimension) = Column(context.inputs.data() + j * task.dimension, task.dimension);
              token[task.dimension + context.labels[static_cast<std::size_t>(j)]] = T(1);
            }
            const Eigen::Index query = first + task.context_length;
            examples.features.col(query).head(task.dimension) = Column(context.query.data(), task.dimension);
            examples.targets(context.query_label, query) = T(1);
            examples.weights[query] = T(1);
          }};
}

}  // namespace incontext::training
