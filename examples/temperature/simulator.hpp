#pragma once

#include <incontext/regression/attention.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/simulate/bayes_ridge.hpp>
#include <incontext/simulate/regression.hpp>
#include <incontext/simulate/regression_on_rows.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/progress.hpp"
#include "examples/temperature/options.hpp"

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C.
namespace incontext::examples {

using Estimates = std::vector<statistics::Estimate>;

/// After Ctrl-C every further simulation answers at once with estimates of no trials; add_row leaves those out.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet) : progress_(quiet) {
    options_.seed = options.seed;
    options_.trials = options.relative_error > 0 ? 0 : options.trials;
    options_.relative_error = options.relative_error;
    options_.device = simulate::device_named(options.device);
    options_.threads = options.threads;
    simulate::resolve(options_.device);
  }

  /// What the progress line calls the simulations that follow.
  void announce(std::string what) { what_ = std::move(what); }
  bool stopped() const { return stopped_; }
  std::uint64_t seed() const { return options_.seed; }
  double relative_error() const { return options_.relative_error; }
  std::int64_t trials() const { return options_.trials; }

  Estimates errors(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                   std::int64_t context_length, const std::vector<double>& temperatures,
                   const TemperatureOptions& how) {
    return run(temperatures.size(), [&](const simulate::Options& options) {
      const auto with = [&](auto map) {
        return simulate::regression_error(attention, task, context_length, simulate::at_temperatures(temperatures, map),
                                          options, how.convention, how.estimator);
      };
      switch (how.scoring) {
        case ScoringChoice::linear:
          return with(scoring::LinearAttention<double>{});
        case ScoringChoice::softmax:
          return with(scoring::Softmax<double>{});
        case ScoringChoice::approximate_softmax:
          break;
      }
      return with(scoring::ApproximateSoftmax<double>{});
    });
  }

  Estimates errors_on_rows(const regression::Attention<double>& attention, const regression::Matrix<double>& rows,
                           const simulate::RowLabels& labels, std::int64_t context_length,
                           const std::vector<double>& temperatures, regression::Offset offset) {
    return run(temperatures.size(), [&](const simulate::Options& options) {
      return simulate::regression_error_on_rows(
          attention, rows, labels, context_length,
          simulate::at_temperatures(temperatures, scoring::ApproximateSoftmax<double>{}), options, {.offset = offset});
    });
  }

  statistics::Estimate bayes_risk(const regression::LinearTask<double>& task, std::int64_t context_length) {
    return run(1,
               [&](const simulate::Options& options) {
                 return simulate::bayes_ridge_risk(task, context_length, ridge_options(options));
               })
        .front();
  }

  statistics::Estimate bayes_risk_on_rows(const regression::Matrix<double>& rows,
                                          const regression::Matrix<double>& task_covariance, double noise_variance,
                                          std::int64_t context_length) {
    return run(1,
               [&](const simulate::Options& options) {
                 return simulate::bayes_ridge_risk_on_rows(rows, task_covariance, noise_variance, context_length,
                                                           ridge_options(options));
               })
        .front();
  }

  /// The errors at one grid again and again, each time on a fresh stream of `trials` trials: what a jackknife needs.
  std::vector<Estimates> batches(std::size_t count, std::int64_t trials, const regression::Attention<double>& attention,
                                 const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const std::vector<double>& temperatures, const TemperatureOptions& how) {
    simulate::Options whole = options_;
    options_.trials = trials;
    options_.relative_error = 0;
    std::vector<Estimates> result;
    for (std::size_t i = 0; i < count && !stopped_; ++i) {
      Estimates batch = errors(attention, task, context_length, temperatures, how);
      if (batch.front().count == trials) result.push_back(std::move(batch));
    }
    options_.trials = whole.trials;
    options_.relative_error = whole.relative_error;
    return result;
  }

 private:
  /// A ridge trial averages labels and query in closed form and spreads a hundred times less than a squared error: a
  /// thirty-second of the trials still leaves it the best-known number of its table.
  static simulate::Options ridge_options(simulate::Options options) {
    if (options.trials > 0) options.trials = std::max<std::int64_t>(options.trials / 32, 2);
    return options;
  }

  template <class Run>
  Estimates run(std::size_t size, Run&& simulation) {
    if (stopped_) return Estimates(size);
    simulate::Options options = options_;
    options.seed = options_.seed + next_stream_++ * 0x9E3779B97F4A7C15ULL;
    options.progress = [this](const simulate::Progress& at) { progress_.show(what_, at.done, at.planned, at.seconds); };
    simulate::Simulation result = simulation(options);
    progress_.clear();
    stopped_ = stopped_ || result.interrupted || simulate::InterruptGuard::requested();
    return std::move(result.estimates);
  }

  simulate::InterruptGuard interrupt_ = {};
  ProgressLine progress_;
  simulate::Options options_ = {};
  std::string what_ = "simulation";
  std::uint64_t next_stream_ = 0;
  bool stopped_ = false;
};

}  // namespace incontext::examples
