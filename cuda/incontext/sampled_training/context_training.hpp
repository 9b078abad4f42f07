#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/sampled_training/context_batches.hpp"
#include "incontext/sampled_training/detail/batch_mean.hpp"
#include "incontext/sampled_training/detail/context_gradient.hpp"
#include "incontext/sampled_training/detail/context_parameters.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/device_types.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/training/trainer.hpp"

/// Trains one layer of self-attention to classify in context: any number of heads and any map from scores to weights,
/// with exact gradients, on contexts of the sphere task that are drawn as they are needed.
///
///     const training::ContextLayer layer{.task = {5, 5, 100}, .scale = 1};
///     const training::ContextTraining attention(layer, scoring::LinearAttention<float>{1}, {.batch = 512});
///     training::Trainer trainer(attention.initial(), attention.gradient(), {.rate = {.peak = 1e-2}});
///     while (trainer.steps() < 1000) trainer.step();
namespace incontext::training {

/// A layer on the sphere task: its scores are `scale` e_j^T M e_q, and its heads' logits are added.
///
/// Source    arXiv 2510.10425, Section 2.2; scale: 1 for linear attention, 1/sqrt(d + k) for softmax.
/// Domain    as SphereTask with balanced contexts; heads >= 1; scale > 0.
struct ContextLayer {
  simulate::SphereTask task;
  double scale = 1;
  int heads = 1;
  QueryToken query = QueryToken::included;
  ContextParameters parameters = ContextParameters::merged;
};

/// A layer, its map and its batches, as the functions that a Trainer needs.
///
/// Source    docs/theory/training.md#context-layers.
/// Units     loss: mean cross entropy of a batch, in nats.
/// Errors    std::invalid_argument and std::domain_error that name the parameter.
/// Accuracy  gradients against classification::context_attention, context by context, and against differences:
///           tests/sampled_training/context_training.cpp.
/// Random    contexts as SphereTaskDraw; initial weights: stream initial_weights. Bits do not depend on the device or
///           the number of threads.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class Map>
class ContextTraining {
 public:
  using T = typename Map::value_type;

  ContextTraining(const ContextLayer& layer, const Map& map, const ContextBatches& batches)
      : layer_(layer), map_(map), batches_(batches) {
    constexpr std::string_view where = "training::ContextTraining";
    simulate::validate(layer.task, where);
    if (layer.task.law != simulate::ContextLaw::balanced) {
      throw_invalid_argument(where, "task.law is independent", 1, "balanced contexts");
    }
    scoring::require_valid(map);
    require_positive(where, "scale", layer.scale);
    require_at_least(where, "heads", layer.heads, 1);
    validate(batches, where);
  }

  [[nodiscard]] std::int64_t width() const { return layer_.task.dimension + layer_.task.classes; }

  /// The number of trained parameters.
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(parameter_map().size()); }

  /// Independent normal weights of standard deviation scale / sqrt(d + k).
  ///
  /// Source    arXiv 2510.10425, App. I: scale = 0.002.
  [[nodiscard]] std::vector<double> initial(double scale = 0.002) const {
    require_positive("training::ContextTraining::initial", "scale", scale);
    std::vector<double> weights(size());
    const random::LaneStream<1> stream({batches_.seed, 0}, random::TrainingStream::initial_weights);
    simulate::draw_normals(simulate::LaneArray<double, 1>{weights.data(), 1}, stream, 0, std::ssize(weights));
    for (double& weight : weights) weight *= scale / std::sqrt(static_cast<double>(width()));
    return weights;
  }

  /// The matrices of every head that these parameters stand for.
  [[nodiscard]] std::vector<ContextHead> heads(std::span<const double> parameters) const {
    return parameter_map().heads(parameters);
  }

  /// Loss, accuracy and gradient of the batch of a step. The function keeps working memory from step to step.
  [[nodiscard]] training::GradientFunction gradient() const {
    return [self = *this, batch_of = batch_function()](std::span<const double> parameters, std::int64_t step) {
      const std::vector<statistics::Moments> means =
          batch_of(self.merged_numbers(parameters), step * self.batches_.batch, self.batches_.batch);
      if (means.empty()) return training::BatchGradient{};
      const statistics::Estimate loss(means[0]);
      const bool is_finite = std::all_of(means.begin(), means.end(), [](const auto& m) { return m.non_finite == 0; });
      return training::BatchGradient{is_finite ? loss.mean : std::numeric_limits<double>::quiet_NaN(),
                                     loss.standard_error, means[1].mean,
                                     self.parameter_map().pull_back(parameters, self.heads_of(means))};
    };
  }

  /// Loss and accuracy on `contexts` held-out contexts, the same at every call.
  [[nodiscard]] std::array<statistics::Estimate, 2> evaluate(std::span<const double> parameters,
                                                             std::int64_t contexts) const {
    require_at_least("training::ContextTraining::evaluate", "contexts", contexts, std::int64_t{2});
    const auto means = batch_function()(merged_numbers(parameters), ContextBatches::held_out, contexts);
    if (means.empty()) return {};
    return {statistics::Estimate(means[0]), statistics::Estimate(means[1])};
  }

 private:
  using MergedNumbers = std::vector<T>;
  using BatchFunction =
      std::function<std::vector<statistics::Moments>(const MergedNumbers&, std::int64_t first, std::int64_t count)>;

  [[nodiscard]] detail::ContextParameterMap parameter_map() const { return {layer_.parameters, layer_.heads, width()}; }

  [[nodiscard]] detail::MergedHeads<T> merged_heads(const T* numbers) const {
    return {numbers, layer_.heads, static_cast<int>(layer_.task.dimension), static_cast<int>(layer_.task.classes)};
  }

  /// What the trials read of the heads' matrices.
  [[nodiscard]] MergedNumbers merged_numbers(std::span<const double> parameters) const {
    MergedNumbers numbers;
    const std::int64_t d = layer_.task.dimension, k = layer_.task.classes;
    for (const ContextHead& head : heads(parameters)) {
      for (const auto& part : {simulate::detail::by_rows<T>(head.key_query.leftCols(d)),
                               simulate::detail::by_rows<T>(head.output.bottomRows(k))}) {
        numbers.insert(numbers.end(), part.begin(), part.end());
      }
    }
    return numbers;
  }

  /// The heads' gradients from a batch's means, in the order in which the trials write them.
  [[nodiscard]] std::vector<ContextHead> heads_of(const std::vector<statistics::Moments>& means) const {
    const std::int64_t d = layer_.task.dimension, k = layer_.task.classes;
    std::vector<ContextHead> heads;
    auto at = means.begin() + detail::ContextGradientTrial<T, Map>::measures;
    const auto read = [&](numerics::Matrix<double>& whole, std::int64_t row, std::int64_t rows, std::int64_t columns) {
      whole = numerics::Matrix<double>::Zero(width(), width());
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) whole(row + i, j) = (at++)->mean;
      }
    };
    for (int h = 0; h < layer_.heads; ++h) {
      ContextHead& head = heads.emplace_back();
      read(head.key_query, 0, width(), d);
      read(head.output, d, k, width());
    }
    return heads;
  }

  [[nodiscard]] BatchFunction batch_function() const {
    const simulate::Device device = simulate::resolve(batches_.device, batches_.gpu);
    return simulate::detail::with_system(device, [&](auto system) -> BatchFunction {
      using System = decltype(system);
      auto mean = std::make_shared<detail::BatchMean<System, T>>(simulate::detail::Workers{device, batches_.threads});
      return [mean, self = *this](const MergedNumbers& numbers, std::int64_t first, std::int64_t count) {
        const typename System::template Memory<T> memory(numbers.begin(), numbers.end());
        const detail::ContextGradientTrial<T, Map> trial{
            simulate::detail::draw_of<T>(self.layer_.task), self.merged_heads(simulate::detail::address(memory)),
            self.map_, static_cast<T>(self.layer_.scale), self.layer_.query};
        return (*mean)(trial, self.batches_.seed, first, count);
      };
    });
  }

  ContextLayer layer_;
  Map map_;
  ContextBatches batches_;
};

}  // namespace incontext::training
