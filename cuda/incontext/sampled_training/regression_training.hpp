#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/sampled_training/context_batches.hpp"
#include "incontext/sampled_training/detail/batch_mean.hpp"
#include "incontext/sampled_training/detail/regression_gradient.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/device_types.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/training/regression_parameters.hpp"
#include "incontext/training/trainer.hpp"

/// Trains one layer of attention to do regression in context: any number of heads and any map from scores to weights,
/// with exact gradients, on contexts that are drawn as they are needed.
///
///     const training::RegressionTraining training({task, 20}, scoring::Softmax<float>{1}, {.batch = 256});
///     training::Trainer trainer(training.initial(), training.gradient(), {.rate = {.peak = 1e-2}});
///     while (trainer.steps() < 1000) trainer.step();
namespace incontext::training {

/// The task and the length of its contexts, and which parameters of the layer are trained. The others are those of
/// `fixed`. Heads each have an M, a v_x and a v_y, and their predictions are added.
///
/// Domain    context_length >= 2; heads >= 1, and 1 unless all of the layer is trained.
struct RegressionSetting {
  regression::LinearTask<double> task;
  std::int64_t context_length;
  training::RegressionParameters parameters = training::RegressionParameters::layer;
  regression::Attention<double> fixed = {};
  int heads = 1;
};

/// A task, a map and batches, as the functions that a Trainer needs.
///
/// Source    arXiv 2511.01292, section 3; docs/theory/training.md#sampled-gradients.
/// Units     loss: mean squared error of a batch, in label units squared.
/// Errors    std::invalid_argument and std::domain_error that name the parameter.
/// Accuracy  gradients against differences, context by context, and on average against the exact population gradients:
///           tests/sampled_training/regression_training.cpp.
/// Random    contexts as RegressionErrorTrial; initial weights: stream initial_weights. Bits do not depend on the
///           device or the number of threads.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class Map>
class RegressionTraining {
 public:
  using T = typename Map::value_type;

  RegressionTraining(RegressionSetting setting, const Map& map, const ContextBatches& batches)
      : setting_(std::move(setting)),
        map_(map),
        batches_(batches),
        input_factor_(simulate::detail::plain_cholesky(setting_.task.input_covariance())),
        task_factor_(simulate::detail::plain_cholesky(setting_.task.task_covariance())) {
    constexpr std::string_view where = "training::RegressionTraining";
    require_at_least(where, "context_length", setting_.context_length, std::int64_t{2});
    require_at_least(where, "heads", setting_.heads, 1);
    if (setting_.heads > 1 && setting_.parameters != training::RegressionParameters::layer) {
      throw_invalid_argument(where, "heads is too large", setting_.heads, "1 where not all of the layer is trained");
    }
    scoring::require_valid(map);
    validate(batches, where);
    if (setting_.parameters != training::RegressionParameters::layer) {
      auto rest = setting_.fixed;
      if (setting_.parameters == training::RegressionParameters::scores) {
        rest.key_query = numerics::Matrix<double>::Zero(dimension(), dimension());
      }
      regression::validate(rest, dimension(), where);
    }
  }

  [[nodiscard]] std::int64_t dimension() const { return setting_.task.dimension(); }
  [[nodiscard]] int heads() const { return setting_.heads; }

  /// The number of trained parameters.
  [[nodiscard]] std::size_t size() const { return head_size() * static_cast<std::size_t>(setting_.heads); }

  /// Independent normal weights of standard deviation `deviation` / sqrt(d), and v_y of standard deviation `deviation`;
  /// or the inverse temperature 1.
  ///
  /// Shapes    one head after the other
  [[nodiscard]] std::vector<double> initial(double deviation = 0.5) const {
    require_positive("training::RegressionTraining::initial", "deviation", deviation);
    if (trains_temperature()) return {1.0};
    std::vector<double> weights(size());
    const random::LaneStream<1> stream({batches_.seed, 0}, random::TrainingStream::initial_weights);
    simulate::draw_normals(simulate::LaneArray<double, 1>{weights.data(), 1}, stream, 0, std::ssize(weights));
    const double scale = deviation / std::sqrt(static_cast<double>(dimension()));
    for (double& weight : weights) weight *= scale;
    if (setting_.parameters == training::RegressionParameters::layer) {
      for (std::size_t end = head_size(); end <= weights.size(); end += head_size()) {
        weights[end - 1] *= deviation / scale;
      }
    }
    return weights;
  }

  /// The layer that these parameters stand for, and its inverse temperature: one of its heads.
  ///
  /// Domain    0 <= head < heads.
  /// Errors    std::invalid_argument for a wrong number of parameters, and for a head that is not there.
  [[nodiscard]] training::RegressionLayer layer(std::span<const double> parameters, int head = 0) const {
    constexpr std::string_view where = "training::RegressionTraining::layer";
    require_same_size(where, "parameters", parameters.size(), size());
    if (!(head >= 0 && head < setting_.heads)) {
      throw_invalid_argument(where, "head is no head of the layer", head, "0 to " + std::to_string(setting_.heads - 1));
    }
    return training::regression_layer(setting_.parameters, setting_.fixed, dimension(),
                                      parameters.subspan(static_cast<std::size_t>(head) * head_size(), head_size()));
  }

  /// Loss and gradient of the batch of a step. The function keeps working memory from step to step.
  [[nodiscard]] training::GradientFunction gradient() const {
    return [self = *this, batch_of = batch_function()](std::span<const double> parameters, std::int64_t step) {
      const auto means = batch_of(parameters, step * self.batches_.batch, self.batches_.batch);
      if (means.empty()) return training::BatchGradient{};
      const statistics::Estimate loss(means[0]);
      const bool is_finite = std::all_of(means.begin(), means.end(), [](const auto& m) { return m.non_finite == 0; });
      training::BatchGradient batch;
      batch.loss = is_finite ? loss.mean : std::numeric_limits<double>::quiet_NaN();
      batch.loss_standard_error = loss.standard_error;
      const auto first = means.begin() + (self.trains_temperature() ? std::ssize(means) - 1 : 1);
      std::transform(first, first + static_cast<std::ptrdiff_t>(self.size()), std::back_inserter(batch.gradient),
                     [](const auto& m) { return m.mean; });
      return batch;
    };
  }

  /// The loss on `contexts` held-out contexts, the same at every call, and all entries of its gradient: by each head's
  /// M (by rows), v_x and v_y, and by the inverse temperature.
  [[nodiscard]] std::vector<statistics::Estimate> evaluate(std::span<const double> parameters,
                                                           std::int64_t contexts) const {
    require_at_least("training::RegressionTraining::evaluate", "contexts", contexts, std::int64_t{2});
    std::vector<statistics::Estimate> estimates;
    for (const auto& mean : batch_function()(parameters, ContextBatches::held_out, contexts)) {
      estimates.emplace_back(mean);
    }
    return estimates;
  }

 private:
  using BatchFunction =
      std::function<std::vector<statistics::Moments>(std::span<const double>, std::int64_t, std::int64_t)>;

  [[nodiscard]] std::size_t head_size() const { return training::parameter_count(setting_.parameters, dimension()); }

  [[nodiscard]] bool trains_temperature() const {
    return setting_.parameters == training::RegressionParameters::temperature;
  }

  [[nodiscard]] BatchFunction batch_function() const {
    const simulate::Device device = simulate::resolve(batches_.device, batches_.gpu);
    return simulate::detail::with_system(device, [&](auto system) -> BatchFunction {
      using System = decltype(system);
      auto mean = std::make_shared<detail::BatchMean<System, T>>(simulate::detail::Workers{device, batches_.threads});
      return [mean, self = *this](std::span<const double> parameters, std::int64_t first, std::int64_t count) {
        const auto& task = self.setting_.task;
        std::vector<simulate::RegressionModelStorage<T, System::template Memory>> storage;
        std::vector<simulate::RegressionModel<T>> models;
        storage.reserve(static_cast<std::size_t>(self.setting_.heads));
        for (int head = 0; head < self.setting_.heads; ++head) {
          storage.emplace_back(self.layer(parameters, head).attention, task.input_mean(), self.input_factor_,
                               task.task_mean(), self.task_factor_, task.noise_variance(),
                               self.setting_.context_length);
        }
        for (const auto& of : storage) models.push_back(of.model());
        const typename System::template Memory<simulate::RegressionModel<T>> heads(models.begin(), models.end());
        const detail::RegressionGradientTrial<T, Map> trial{models.front(), simulate::detail::address(heads),
                                                            self.setting_.heads, self.map_,
                                                            static_cast<T>(self.layer(parameters).inverse_temperature)};
        return (*mean)(trial, self.batches_.seed, first, count);
      };
    });
  }

  RegressionSetting setting_;
  Map map_;
  ContextBatches batches_;
  numerics::Matrix<double> input_factor_, task_factor_;
};

}  // namespace incontext::training
