#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/sampled_training/detail/host_device.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/simulate/rows/task_streams.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/training/trainer.hpp"

/// Trains the inverse temperature of softmax on rows in which a needle is to be found.
///
///     const training::NeedleTraining training({1024}, training::NeedleRule::constant, {.seed = 3});
///     training::Trainer trainer(training.initial(), training.gradient(), {.rate = {.peak = 0.1}});
namespace incontext::training {

/// How the inverse temperature depends on the length n of the row: not at all, as s log n (Scalable-Softmax), or as
/// s log n + b.
///
/// Source    arXiv 2501.19399, Figs. 2 and 4: p_n, s log n and s log n + b.
enum class NeedleRule { constant, log_length, log_length_and_constant };

/// The rows, and the device on which the gradients are computed.
///
/// Domain    batch >= 1; needle_stddev >= 0; threads >= 0 (0: all).
struct NeedleBatches {
  std::uint64_t seed = 1;
  simulate::ScoreLaw law = simulate::ScoreLaw::uniform;  ///< of the competitors: U(0, 1), N(0, 1) or a grid
  double needle_mean = 1.5;
  double needle_stddev = 0.5;
  std::int64_t batch = 64;  ///< rows per step and length
  simulate::Device device = simulate::Device::automatic;
  int threads = 0;
};

/// The mean cross entropy of a needle's weight, -E log a, over rows of one or more lengths, as the function that a
/// Trainer needs.
///
/// \f[ L = \frac1{|N|} \sum_{n \in N} E \Bigl[ \log \sum_j e^{\beta_n z_j} - \beta_n z_0 \Bigr],\qquad
///     \frac{\partial L}{\partial \beta_n} = \frac1{|N|} E \Bigl[ \sum_j a_j z_j - z_0 \Bigr] \f]
///
/// Source    arXiv 2501.19399, Fig. 2, whose scores are a language model's; laws::optimal_needle_temperature has the
///           optimum at one length. docs/theory/training.md#needle-training.
/// Shapes    parameters: beta; or s; or s and b.
/// Units     nats; parameters in one over the scores' units.
/// Errors    std::invalid_argument and std::domain_error that name the parameter.
/// Accuracy  gradients against differences, trained parameters against the optimum:
///           tests/sampled_training/needle_training.cpp.
/// Random    streams needle_scores, needle_place and needle_score; row i of step s and length number k has index
///           (s * lengths + k) * batch + i. Bits do not depend on the device or the threads.
class NeedleTraining {
 public:
  NeedleTraining(std::vector<std::int64_t> lengths, NeedleRule rule, const NeedleBatches& batches)
      : lengths_(std::move(lengths)), rule_(rule), batches_(batches) {
    constexpr std::string_view where = "training::NeedleTraining";
    require_at_least(where, "number of lengths", std::ssize(lengths_), std::ptrdiff_t{1});
    for (const std::int64_t length : lengths_) require_at_least(where, "length", length, std::int64_t{2});
    require_at_least(where, "batch", batches.batch, std::int64_t{1});
    require_finite(where, "needle_mean", batches.needle_mean);
    require_non_negative(where, "needle_stddev", batches.needle_stddev);
    simulate::require_threads(where, batches.threads);
    batches_.device = detail::host_device(where, batches.device);
  }

  /// The parameters before training: inverse temperature 1, if it depends on the length at the first length.
  [[nodiscard]] std::vector<double> initial() const {
    if (rule_ == NeedleRule::constant) return {1};
    const double first = 1 / std::log(static_cast<double>(lengths_.front()));
    return rule_ == NeedleRule::log_length ? std::vector<double>{first} : std::vector<double>{first, 0};
  }

  /// The inverse temperature of rows of a length.
  [[nodiscard]] double inverse_temperature(std::span<const double> parameters, std::int64_t length) const {
    if (rule_ == NeedleRule::constant) return parameters[0];
    const double scaled = parameters[0] * std::log(static_cast<double>(length));
    return rule_ == NeedleRule::log_length ? scaled : scaled + parameters[1];
  }

  /// Loss and gradient of the rows of a step.
  [[nodiscard]] training::GradientFunction gradient() const {
    return [self = *this, memory = std::make_shared<std::vector<Sums>>()](std::span<const double> parameters,
                                                                          std::int64_t step) {
      require_same_size("training::NeedleTraining", "parameters", std::ssize(parameters), std::ssize(self.initial()));
      const std::int64_t lengths = std::ssize(self.lengths_), blocks = self.blocks();
      memory->resize(static_cast<std::size_t>(lengths * blocks));
      System::for_each_index(lengths * blocks, {self.batches_.device, self.batches_.threads}, [&](std::int64_t i) {
        (*memory)[static_cast<std::size_t>(i)] = self.block(parameters, step, i / blocks, i % blocks);
      });
      if (simulate::InterruptGuard::requested()) return training::BatchGradient{};
      return self.mean(*memory);
    };
  }

 private:
  using System = simulate::detail::HostSystem;

  /// Sums over the rows of a block.
  struct Sums {
    double loss = 0, by_beta = 0;
    statistics::Moments losses;
  };

  static constexpr std::int64_t rows_per_block = 16;
  [[nodiscard]] std::int64_t blocks() const { return (batches_.batch + rows_per_block - 1) / rows_per_block; }

  [[nodiscard]] Sums block(std::span<const double> parameters, std::int64_t step, std::int64_t k,
                           std::int64_t number) const {
    const std::int64_t length = lengths_[static_cast<std::size_t>(k)];
    const double beta = inverse_temperature(parameters, length);
    std::vector<float> scores(static_cast<std::size_t>(length));
    Sums sums;
    const std::int64_t last = (std::min)((number + 1) * rows_per_block, batches_.batch);
    for (std::int64_t i = number * rows_per_block; i < last; ++i) {
      const auto index = static_cast<std::uint64_t>((step * std::ssize(lengths_) + k) * batches_.batch + i);
      float normal = 0;
      simulate::detail::draw_normals(batches_.seed, index, random::TaskStream::needle_score, 1, &normal);
      const double needle = batches_.needle_mean + batches_.needle_stddev * static_cast<double>(normal);
      const simulate::NeedleRows<float> rows{
          .seed = batches_.seed, .law = batches_.law, .needle = static_cast<float>(needle)};
      rows.draw(index, length, scores.data());
      const auto top = static_cast<double>(beta < 0 ? *std::min_element(scores.begin(), scores.end())
                                                    : *std::max_element(scores.begin(), scores.end()));
      const auto factor = static_cast<float>(beta);
      double total = 0, mean = 0;
      for (const float score : scores) {
        const auto weight = static_cast<double>(std::exp(factor * (score - static_cast<float>(top))));
        total += weight;
        mean += weight * static_cast<double>(score);
      }
      const double own = static_cast<double>(static_cast<float>(needle));
      const double loss = std::log(total) + beta * (top - own);
      sums.loss += loss;
      sums.losses = merge(sums.losses, {.count = 1, .mean = loss});
      sums.by_beta += mean / total - own;
    }
    return sums;
  }

  [[nodiscard]] training::BatchGradient mean(const std::vector<Sums>& memory) const {
    const auto rows = static_cast<double>(batches_.batch), lengths = static_cast<double>(lengths_.size());
    training::BatchGradient result{.gradient = std::vector<double>(initial().size(), 0.0)};
    double variance = 0;
    for (std::size_t k = 0; k < lengths_.size(); ++k) {
      Sums sums;
      for (std::size_t b = 0; b < static_cast<std::size_t>(blocks()); ++b) {
        const Sums& block = memory[k * static_cast<std::size_t>(blocks()) + b];
        sums.loss += block.loss;
        sums.losses = merge(sums.losses, block.losses);
        sums.by_beta += block.by_beta;
      }
      const double loss = sums.loss / rows, slope = sums.by_beta / rows / lengths;
      const double log_length = std::log(static_cast<double>(lengths_[k]));
      result.loss += loss / lengths;
      variance += sums.losses.sum_of_squares / rows / rows / lengths / lengths;
      result.gradient[0] += rule_ == NeedleRule::constant ? slope : slope * log_length;
      if (rule_ == NeedleRule::log_length_and_constant) result.gradient[1] += slope;
    }
    result.loss_standard_error = std::sqrt(variance);
    return result;
  }

  std::vector<std::int64_t> lengths_;
  NeedleRule rule_;
  NeedleBatches batches_;
};

}  // namespace incontext::training
