#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/sampled_training/detail/host_device.hpp"
#include "incontext/sampled_training/detail/initial_parameters.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/device_types.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/slots.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/training/reasoning_measurement.hpp"
#include "incontext/training/reasoning_task.hpp"
#include "incontext/training/reasoning_transformer.hpp"
#include "incontext/training/trainer.hpp"

/// Trains a transformer of one block on the reasoning task: any map from scores to weights, also one that changes from
/// step to step, with exact gradients.
///
///     const training::ReasoningTraining training({}, scoring::NormSoftmax<float>{4}, {.seed = 3});
///     training::Trainer trainer(training.initial(), training.gradient(), {.rate = {.peak = 1e-3}}, training.decays());
///     while (trainer.steps() < 500) trainer.step();
///     const auto reached = training.measure(trainer.parameters(), trainer.steps());
namespace incontext::training {

/// What becomes of the gradients of W_Q and W_K before a step.
///
/// Source    arXiv 2310.12956, Section 4.3, says only that their magnitudes are rescaled. A constant factor changes
///           nothing under Adam, which divides by the gradient's own size; matching lengths at every step does.
enum class GradientScaling {
  none,
  matched  ///< each is given the length of W_V's
};

/// The examples, and the device on which the gradients are computed.
///
/// Domain    0 < training_share < 1, with at least one example on either side; batch >= 0; 0 <= threads (0: all).
struct ReasoningBatches {
  std::uint64_t seed = 1;  ///< of the initial weights, the division of the inputs, and the batches
  double training_share = 0.3;
  std::int64_t batch = 0;  ///< examples per step, drawn with replacement; 0: all that are trained on
  training::ReasoningAnswers answers = training::ReasoningAnswers::rule;
  GradientScaling scaling = GradientScaling::none;
  simulate::Device device = simulate::Device::automatic;
  int threads = 0;
};

namespace detail {

/// All inputs of the reasoning task, divided at random into examples to train on and examples that are held out.
struct ReasoningSets {
  std::vector<training::ReasoningExample> trained, held_out;

  /// The inputs are put in the order of random 64-bit numbers; the first `share` of them are trained on.
  ReasoningSets(int largest_value, training::ReasoningAnswers answers, double share, std::uint64_t seed) {
    const std::int64_t inputs = training::reasoning_task(largest_value).inputs;
    std::vector<std::pair<std::uint64_t, std::int64_t>> order;
    for (std::int64_t index = 0; index < inputs; ++index) {
      std::uint32_t words[4];
      random::philox(
          seed, {static_cast<std::uint64_t>(index), 0, random::StreamTag(random::TrainingStream::held_out).number()},
          words);
      order.emplace_back(std::uint64_t{words[0]} << 32 | words[1], index);
    }
    std::sort(order.begin(), order.end());
    const auto count = static_cast<std::size_t>(share * static_cast<double>(inputs));
    for (std::size_t i = 0; i < order.size(); ++i) {
      (i < count ? trained : held_out).push_back(training::reasoning_example(largest_value, order[i].second, answers));
    }
  }

  /// The examples of a step's batch, drawn with replacement.
  [[nodiscard]] std::vector<training::ReasoningExample> batch(std::uint64_t seed, std::int64_t step,
                                                              std::int64_t size) const {
    std::vector<training::ReasoningExample> examples;
    for (std::int64_t i = 0; i < size; ++i) {
      std::uint32_t words[4];
      random::philox(seed,
                     {static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(i),
                      random::StreamTag(random::TrainingStream::batch).number()},
                     words);
      examples.push_back(trained[static_cast<std::size_t>(std::uint64_t{words[0]} * trained.size() >> 32)]);
    }
    return examples;
  }
};

}  // namespace detail

/// A transformer, its map and its examples, as the functions that a Trainer needs.
///
/// Source    arXiv 2310.12956, Section 4; docs/theory/training.md#reasoning-transformer.
/// Units     loss: mean cross entropy, in nats.
/// Errors    std::invalid_argument and std::domain_error that name the parameter.
/// Accuracy  gradients are those of training::reasoning_gradient: tests/sampled_training/reasoning_training.cpp.
/// Random    streams initial_weights, held_out and batch. Bits do not depend on the device or the number of threads.
template <class Map>
class ReasoningTraining {
 public:
  using T = typename Map::value_type;
  using MapOfStep = std::function<Map(std::int64_t step)>;

  ReasoningTraining(const training::ReasoningShape& shape, MapOfStep map_of_step, const ReasoningBatches& batches)
      : layout_(shape), map_of_step_(std::move(map_of_step)), batches_(batches) {
    constexpr std::string_view where = "training::ReasoningTraining";
    scoring::require_valid(map_of_step_(0));
    if (!(0 < batches.training_share && batches.training_share < 1)) {
      throw_domain_error(where, "training_share is not a share", batches.training_share, "0 < value < 1");
    }
    require_at_least(where, "batch", batches.batch, std::int64_t{0});
    simulate::require_threads(where, batches.threads);
    batches_.device = detail::host_device(where, batches.device);
    sets_ = std::make_shared<const detail::ReasoningSets>(shape.largest_value, batches.answers, batches.training_share,
                                                          batches.seed);
    require_at_least(where, "number of examples to train on", std::ssize(sets_->trained), std::ptrdiff_t{1});
    require_at_least(where, "number of held-out examples", std::ssize(sets_->held_out), std::ptrdiff_t{1});
  }
  ReasoningTraining(const training::ReasoningShape& shape, const Map& map, const ReasoningBatches& batches)
      : ReasoningTraining(
            shape, [map](std::int64_t) { return map; }, batches) {}

  [[nodiscard]] const training::ReasoningLayout& layout() const { return layout_; }
  [[nodiscard]] std::vector<bool> decays() const { return layout_.decays(); }
  [[nodiscard]] const std::vector<training::ReasoningExample>& trained() const { return sets_->trained; }
  [[nodiscard]] const std::vector<training::ReasoningExample>& held_out() const { return sets_->held_out; }

  /// Independent normal numbers in the matrices and the class token, gains 1, shifts and biases 0. The usual scale is
  /// 1 / sqrt(width); smaller ones start with smaller scores.
  [[nodiscard]] std::vector<double> initial(double stddev = 0.125) const {
    require_positive("training::ReasoningTraining::initial", "stddev", stddev);
    return detail::initial_parameters(layout_, batches_.seed, [&](const TransformerLayout::Place& at) {
      return at.kind == PartKind::matrix || at.part == TransformerPart::class_token ? stddev : 0;
    });
  }

  /// Loss, accuracy and gradient of the batch of a step.
  [[nodiscard]] training::GradientFunction gradient() const {
    return [self = *this, memory = std::make_shared<Memory>()](std::span<const double> parameters, std::int64_t step) {
      const bool is_full = self.batches_.batch == 0;
      const auto drawn = is_full ? std::vector<training::ReasoningExample>()
                                 : self.sets_->batch(self.batches_.seed, step, self.batches_.batch);
      const auto at = self.pass(parameters, step, is_full ? self.sets_->trained : drawn, Work::gradient, *memory);
      if (at.gradient.empty()) return training::BatchGradient{};
      training::BatchGradient result{.loss = at.loss,
                                     .accuracy = at.accuracy,
                                     .gradient = std::vector<double>(at.gradient.begin(), at.gradient.end())};
      if (self.batches_.scaling == GradientScaling::matched) self.match(result.gradient);
      return result;
    };
  }

  /// Loss and accuracy on all examples, entropies of the attention, and norms of gradients before any scaling, with the
  /// map of a step.
  ///
  /// Errors    the losses are NaN if a stop request cut the work short.
  [[nodiscard]] training::ReasoningMeasurement measure(std::span<const double> parameters, std::int64_t step) const {
    Memory memory;
    const auto trained = pass(parameters, step, sets_->trained, Work::gradient_and_entropy, memory);
    const auto held_out = pass(parameters, step, sets_->held_out, Work::loss, memory);
    training::ReasoningMeasurement result{.step = step,
                                          .loss = trained.loss,
                                          .accuracy = trained.accuracy,
                                          .held_out_loss = held_out.loss,
                                          .held_out_standard_error = held_out.loss_standard_error,
                                          .held_out_accuracy = held_out.accuracy,
                                          .entropy = {trained.entropy.begin(), trained.entropy.end()}};
    if (trained.gradient.empty()) return result;
    const std::vector<double> gradient(trained.gradient.begin(), trained.gradient.end());
    result.query_gradient = part(gradient, training::TransformerPart::query).norm();
    result.key_gradient = part(gradient, training::TransformerPart::key).norm();
    result.value_gradient = part(gradient, training::TransformerPart::value).norm();
    return result;
  }

 private:
  using Work = training::ReasoningWork;
  using Model = training::ReasoningModel<Map>;
  using Sums = typename Model::Sums;
  using Memory = std::vector<Sums>;
  using System = simulate::detail::HostSystem;

  [[nodiscard]] auto part(const std::vector<double>& numbers, training::TransformerPart which) const {
    return layout_.part(numbers.data(), which);
  }

  void match(std::vector<double>& gradient) const {
    using training::TransformerPart;
    const double length = part(std::as_const(gradient), TransformerPart::value).norm();
    for (const TransformerPart which : {TransformerPart::query, TransformerPart::key}) {
      auto own = layout_.part(gradient.data(), which);
      if (const double norm = own.norm(); norm > 0) own *= length / norm;
    }
  }

  /// Means over examples, with the map of a step. Without a gradient if a stop request cut the work short.
  [[nodiscard]] training::ReasoningGradient<T> pass(std::span<const double> parameters, std::int64_t step,
                                                    const std::vector<training::ReasoningExample>& examples, Work work,
                                                    Memory& memory) const {
    require_same_size("training::ReasoningTraining", "parameters", std::ssize(parameters), layout_.size());
    const std::vector<T> numbers(parameters.begin(), parameters.end());
    const Map map = map_of_step_(step);
    scoring::require_valid(map);
    const Model model(layout_, map, numbers.data());
    constexpr auto block = static_cast<std::size_t>(training::reasoning_block);
    const std::size_t blocks = (examples.size() + block - 1) / block;
    if (memory.size() < blocks) memory.resize(blocks);
    System::for_each_index(static_cast<std::int64_t>(blocks), {batches_.device, batches_.threads},
                           [&](std::int64_t index) {
                             const std::size_t first = static_cast<std::size_t>(index) * block;
                             model.sum(std::span(examples).subspan(first, (std::min)(block, examples.size() - first)),
                                       work, memory[static_cast<std::size_t>(index)]);
                           });
    if (simulate::InterruptGuard::requested()) {
      training::ReasoningGradient<T> cut;
      cut.loss = math::not_a_number<double>();
      return cut;
    }
    for (std::size_t i = 1; i < blocks; ++i) memory[0].add(memory[i]);
    return model.means(memory[0], std::ssize(examples), work);
  }

  training::ReasoningLayout layout_;
  MapOfStep map_of_step_;
  ReasoningBatches batches_;
  std::shared_ptr<const detail::ReasoningSets> sets_;
};

}  // namespace incontext::training
