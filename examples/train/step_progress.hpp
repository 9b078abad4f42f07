#pragma once

#include <chrono>
#include <cstdint>

namespace incontext::examples::train {

/// Training whose loss has grown this many times has diverged, even where clipping keeps the gradient finite.
inline constexpr double diverged_loss_growth = 1000;

/// Reports the steps of a training to the progress line of its run. Options are those of the simulation.
template <class Options>
class StepProgress {
 public:
  explicit StepProgress(const Options& options) : options_(options) {}

  void operator()(std::int64_t done, std::int64_t planned) const {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_;
    options_.progress({done, planned, elapsed.count()});
  }

 private:
  const Options& options_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace incontext::examples::train
