#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/floating_point.hpp"
#include "incontext/core/math.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/sampled_training/detail/host_device.hpp"
#include "incontext/sampled_training/detail/initial_parameters.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/device_types.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/training/sequence_transformer.hpp"
#include "incontext/training/trainer.hpp"

/// Trains a causal transformer on sequences that are drawn as they are needed.
///
///     using Map = training::LearnedMap<scoring::Softmax<float>>;
///     const training::SequenceTransformer<Map> model({.features = training::affine_features}, Map{{2}});
///     const auto stream = training::affine_sequences<float>({.seed = 3}, 40);
///     const training::SequenceTraining<Map> affine(model, stream, {.batch = 64});
///     training::Trainer trainer(affine.initial(), affine.gradient(), {.rate = {.peak = 1e-3}}, affine.decays());
///     while (trainer.steps() < 500) trainer.step();
namespace incontext::training {

/// Sequences to train on. `draw` fills sequence `index` of the stream into the columns of `examples` from `first` on;
/// the columns are 0 before. It must depend on its arguments alone and may be called from several threads.
template <class T>
struct SequenceStream {
  training::SequenceLoss loss = training::SequenceLoss::squared_error;
  std::function<std::int64_t(std::int64_t step)> length;
  std::function<void(std::uint64_t index, std::int64_t length, training::SequenceExamples<T>& examples,
                     Eigen::Index first)>
      draw;
};

/// How large batches are, and the device on which the gradients are computed.
///
/// Domain    batch >= 1; threads >= 0 (0: all).
struct SequenceBatches {
  std::uint64_t seed = 1;  ///< of the initial weights
  std::int64_t batch = 64;
  simulate::Device device = simulate::Device::automatic;
  int threads = 0;
};

/// Sequences are worked on in blocks of this many, whose sums are added in order.
inline constexpr std::int64_t sequence_block = 8;

namespace detail {

/// Objects of working memory that threads borrow. There are as many as threads ever worked at the same time, and they
/// are freed with this object. Several threads may call it at once.
template <class Memory>
class KeptMemory {
 public:
  /// Calls work(memory) with an object that no other thread uses, as an earlier call left it. If work throws, the
  /// object is freed.
  template <class Work>
  void lend_to(const Work& work) {
    std::unique_ptr<Memory> memory = take();
    work(*memory);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(memory));
  }

 private:
  std::unique_ptr<Memory> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Memory>();
    std::unique_ptr<Memory> memory = std::move(idle_.back());
    idle_.pop_back();
    return memory;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> idle_;
};

}  // namespace detail

/// A transformer and the sequences that it learns, as the functions that a Trainer needs. Step s uses the sequences
/// s * batch to (s + 1) * batch - 1 of the stream, so that each is used once.
///
/// Source    docs/theory/training.md#sequence-transformer.
/// Units     loss: as training::SequenceGradient.
/// Errors    std::invalid_argument and std::domain_error that name the parameter.
/// Accuracy  gradients are those of training::SequenceTransformer: tests/sampled_training/sequence_training.cpp.
/// Random    stream initial_weights, and those of the sequences. Bits do not depend on the device or the threads.
template <training::TrainableMap Map>
class SequenceTraining {
 public:
  using T = typename Map::value_type;

  SequenceTraining(training::SequenceTransformer<Map> model, SequenceStream<T> stream, const SequenceBatches& batches)
      : model_(std::move(model)), stream_(std::move(stream)), batches_(batches) {
    constexpr std::string_view where = "training::SequenceTraining";
    require_at_least(where, "batch", batches.batch, std::int64_t{1});
    simulate::require_threads(where, batches.threads);
    batches_.device = detail::host_device(where, batches.device);
  }

  [[nodiscard]] const training::SequenceTransformer<Map>& model() const { return model_; }
  [[nodiscard]] std::vector<bool> decays() const { return model_.layout().decays(); }

  /// Independent normal numbers of variance scale^2 / columns in the matrices, gains 1, all else 0.
  [[nodiscard]] std::vector<double> initial(double scale = 1) const {
    require_positive("training::SequenceTraining::initial", "scale", scale);
    return detail::initial_parameters(model_.layout(), batches_.seed, [&](const TransformerLayout::Place& at) {
      return at.kind == PartKind::matrix && at.columns > 0 ? scale / std::sqrt(static_cast<double>(at.columns)) : 0;
    });
  }

  /// Loss, accuracy and gradient of the batch of a step. The function and its copies share memory: one call at a time.
  [[nodiscard]] training::GradientFunction gradient() const {
    return [self = *this, kept = std::make_shared<Kept>()](std::span<const double> parameters, std::int64_t step) {
      const std::vector<T> numbers(parameters.begin(), parameters.end());
      const std::int64_t blocks = (self.batches_.batch + sequence_block - 1) / sequence_block;
      std::vector<Sums>& sums = kept->sums;
      sums.resize(static_cast<std::size_t>(blocks));
      System::for_each_index(blocks, {self.batches_.device, self.batches_.threads}, [&](std::int64_t block) {
        const std::int64_t first = block * sequence_block;
        const auto drawn =
            self.examples_of(self.stream_, step * self.batches_.batch + first,
                             (std::min)(sequence_block, self.batches_.batch - first), self.stream_.length(step));
        kept->memory.lend_to([&](Memory& memory) {
          self.model_.sum(std::span<const T>(numbers), self.stream_.loss, drawn, sums[static_cast<std::size_t>(block)],
                          memory);
        });
      });
      if (simulate::InterruptGuard::requested()) return training::BatchGradient{};
      for (std::size_t i = 1; i < sums.size(); ++i) sums[0].add(sums[i]);
      const auto means = self.model_.means(self.stream_.loss, sums[0], self.batches_.batch);
      return training::BatchGradient{.loss = means.loss,
                                     .loss_standard_error = means.loss_standard_error,
                                     .accuracy = means.accuracy,
                                     .gradient = {means.gradient.begin(), means.gradient.end()}};
    };
  }

  /// The outputs for sequences of any stream, block by block: visit(index of the first sequence, examples, outputs),
  /// with outputs x tokens, valid during the visit. Blocks may be visited at the same time and in any order. Returns
  /// false if a stop request cut the work short.
  template <class Visit>
  bool each_output(std::span<const double> parameters, const SequenceStream<T>& stream, std::int64_t sequences,
                   std::int64_t length, const Visit& visit) const {
    const std::vector<T> numbers(parameters.begin(), parameters.end());
    detail::KeptMemory<Memory> kept;
    System::for_each_index((sequences + sequence_block - 1) / sequence_block, {batches_.device, batches_.threads},
                           [&](std::int64_t block) {
                             const std::int64_t first = block * sequence_block;
                             const auto drawn =
                                 examples_of(stream, first, (std::min)(sequence_block, sequences - first), length);
                             kept.lend_to([&](Memory& memory) {
                               visit(first, drawn, model_.outputs(std::span<const T>(numbers), drawn, memory));
                             });
                           });
    return !simulate::InterruptGuard::requested();
  }

 private:
  using Model = training::SequenceTransformer<Map>;
  using Sums = typename Model::Sums;
  using Memory = typename Model::Memory;
  using System = simulate::detail::HostSystem;

  /// Memory that the function of gradient() keeps from step to step.
  struct Kept {
    std::vector<Sums> sums;  ///< one per block
    detail::KeptMemory<Memory> memory;
  };

  [[nodiscard]] training::SequenceExamples<T> examples_of(const SequenceStream<T>& stream, std::int64_t first,
                                                          std::int64_t count, std::int64_t length) const {
    training::SequenceExamples<T> examples;
    examples.resize(model_.layout().shape(), count, length);
    for (std::int64_t i = 0; i < count; ++i) {
      stream.draw(static_cast<std::uint64_t>(first + i), length, examples, i * length);
    }
    return examples;
  }

  Model model_;
  SequenceStream<T> stream_;
  SequenceBatches batches_;
};

}  // namespace incontext::training
