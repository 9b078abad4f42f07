#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/run.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::simulate {

/// Every trial's values, for what a mean does not say: medians, and the share of the largest trial.
///
/// Shapes    an output's values are contiguous and ascending.
/// Units     as the trial's.
/// Runs on   host
struct Sample {
  std::vector<double> values;
  std::int64_t trials = 0;

  [[nodiscard]] const double* sorted(std::size_t output) const {
    return values.data() + output * static_cast<std::size_t>(trials);
  }
  [[nodiscard]] double median(std::size_t output) const {
    const double* x = sorted(output);
    return (x[(trials - 1) / 2] + x[trials / 2]) / 2;
  }
  /// What the largest trial alone contributes to the total.
  [[nodiscard]] double largest_share(std::size_t output) const {
    const double* x = sorted(output);
    return x[trials - 1] / (statistics::moments_of(x, trials).mean * static_cast<double>(trials));
  }
};

/// The first `options.trials` trials of a run, each kept.
///
/// Source    as run_on: the same trials.
/// Shapes    as Sample: 8 bytes a trial and output.
/// Domain    options.trials >= 1.
/// Errors    std::invalid_argument.
/// Random    as run_on.
/// Runs on   host (the trials: the system)
template <class System, Trial TrialType>
Sample sample_on(const TrialType& trial, const Options& options) {
  using T = typename TrialType::Scalar;
  require_at_least("simulate::sample_on", "trials", options.trials, std::int64_t{1});
  constexpr int lanes = System::lanes;
  // The working memory is that of a wave: some hundred megabytes on a GPU, some ten on a CPU where a chunk allows it.
  const std::int64_t rows = trial.scratch_rows(), numbers = std::int64_t{1} << (lanes == 1 ? 28 : 23);
  const std::int64_t wave =
      std::max<std::int64_t>(numbers / std::max<std::int64_t>(rows, 1) / chunk_trials, 1) * chunk_trials;
  const std::int64_t stride = (options.trials + lanes - 1) / lanes * lanes, held = std::min(wave, stride);
  typename System::template Memory<T> values(static_cast<std::size_t>(stride * trial.outputs()));
  typename System::template Memory<T> scratch(static_cast<std::size_t>(held * rows));
  for (std::int64_t done = 0; done < stride; done += wave) {
    System::for_each_index(
        std::min(wave, stride - done) / lanes, options.threads,
        detail::RunBatch<TrialType, lanes>{trial, options.seed, done, detail::address(values) + done, stride,
                                           detail::address(scratch), lanes == 1 ? held : lanes});
  }
  const std::vector<T> host(values.begin(), values.end());
  Sample result{{}, options.trials};
  for (std::int64_t k = 0; k < trial.outputs(); ++k) {
    const auto first = host.begin() + k * stride;
    const auto end = result.values.insert(result.values.end(), first, first + options.trials);
    std::sort(end, result.values.end());
  }
  return result;
}

}  // namespace incontext::simulate
