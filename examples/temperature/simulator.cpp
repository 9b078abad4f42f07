#include "examples/temperature/simulator.hpp"

#include <incontext/simulate/regression/regression_error.hpp>
#include <incontext/simulate/regression/regression_error_on_rows.hpp>
#include <incontext/simulate/regression/ridge_risk.hpp>

#include <algorithm>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::temperature {

struct Simulator::State {
  SimulationRuns runs;
  std::string what = "simulation";

  template <class Simulation>
  Estimates run(std::size_t size, const Simulation& simulation) {
    return runs.run(what, size, simulation).estimates;
  }
};

namespace {

/// A ridge trial averages labels and query in closed form, and its standard deviation is a hundred times smaller than
/// that of a squared error. So a sixty-fourth of the trials is enough for the most accurate numbers of its table, but
/// no fewer than can be judged.
simulate::Options ridge_options(simulate::Options options) {
  constexpr std::int64_t least = 16;
  options.trials = std::max(options.trials / 64, std::min(options.trials, least));
  return options;
}

}  // namespace

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{.runs = SimulationRuns(options, quiet)}) {}

Simulator::~Simulator() = default;

void Simulator::announce(std::string what) { state_->what = std::move(what); }
bool Simulator::stopped() const { return state_->runs.none() || state_->runs.stopped(); }
const RunSummary& Simulator::summary() const { return state_->runs.summary(); }
void Simulator::count(std::int64_t trials, std::int64_t planned) { state_->runs.count(trials, planned); }
std::uint64_t Simulator::seed() const { return state_->runs.options().seed; }
double Simulator::relative_error() const { return state_->runs.options().relative_error; }
std::int64_t Simulator::trials() const { return state_->runs.options().trials; }

Estimates Simulator::errors(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                            std::int64_t context_length, const std::vector<double>& temperatures,
                            const Reading& reading) {
  return state_->run(temperatures.size(), [&](const simulate::Options& options) {
    const auto with = [&](auto map) {
      return simulate::regression_error(attention, task, context_length, simulate::at_temperatures(temperatures, map),
                                        options, reading.convention, reading.estimator);
    };
    switch (reading.scoring) {
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

Estimates Simulator::errors_on_rows(const regression::Attention<double>& attention,
                                    const regression::Matrix<double>& rows, const simulate::RowLabels& labels,
                                    std::int64_t context_length, const std::vector<double>& temperatures,
                                    const Reading& reading) {
  return state_->run(temperatures.size(), [&](const simulate::Options& options) {
    const auto with = [&](auto map) {
      return simulate::regression_error_on_rows(attention, rows, labels, context_length,
                                                simulate::at_temperatures(temperatures, map), options,
                                                {.offset = reading.convention.offset});
    };
    if (reading.scoring == ScoringChoice::softmax) return with(scoring::Softmax<double>{});
    return with(scoring::ApproximateSoftmax<double>{});
  });
}

statistics::Estimate Simulator::posterior_risk(const regression::LinearTask<double>& task,
                                               std::int64_t context_length) {
  const auto simulation = [&](const simulate::Options& options) {
    return simulate::posterior_risk(task, context_length, ridge_options(options));
  };
  return state_->run(1, simulation).front();
}

statistics::Estimate Simulator::centered_ridge_risk(const regression::LinearTask<double>& task,
                                                    std::int64_t context_length) {
  const auto simulation = [&](const simulate::Options& options) {
    return simulate::centered_ridge_risk(task, context_length, ridge_options(options));
  };
  return state_->run(1, simulation).front();
}

statistics::Estimate Simulator::posterior_risk_on_rows(const regression::Matrix<double>& rows,
                                                       const regression::Matrix<double>& task_covariance,
                                                       double noise_variance, std::int64_t context_length) {
  const auto simulation = [&](const simulate::Options& options) {
    return simulate::posterior_risk_on_rows(rows, task_covariance, noise_variance, context_length,
                                            ridge_options(options));
  };
  return state_->run(1, simulation).front();
}

statistics::Estimate Simulator::centered_ridge_risk_on_rows(const regression::Matrix<double>& rows,
                                                            const regression::Matrix<double>& task_covariance,
                                                            double noise_variance, std::int64_t context_length) {
  const auto simulation = [&](const simulate::Options& options) {
    return simulate::centered_ridge_risk_on_rows(rows, task_covariance, noise_variance, context_length,
                                                 ridge_options(options));
  };
  return state_->run(1, simulation).front();
}

std::vector<Estimates> Simulator::batches(std::size_t count, std::int64_t trials,
                                          const regression::Attention<double>& attention,
                                          const regression::LinearTask<double>& task, std::int64_t context_length,
                                          const std::vector<double>& temperatures, const Reading& reading) {
  simulate::Options& own = state_->runs.options();
  const std::int64_t whole_trials = std::exchange(own.trials, trials);
  const double whole_relative_error = std::exchange(own.relative_error, 0);
  std::vector<Estimates> result;
  const auto simulation = [&](const simulate::Options& options) {  // a vertex needs the digits of double
    return simulate::regression_error<double>(
        attention, task, context_length, simulate::at_temperatures(temperatures, scoring::ApproximateSoftmax<double>{}),
        options, reading.convention, reading.estimator);
  };
  for (std::size_t i = 0; i < count && !stopped(); ++i) {
    Estimates batch = state_->run(temperatures.size(), simulation);
    if (batch.front().count == trials) result.push_back(std::move(batch));
  }
  own.trials = whole_trials;
  own.relative_error = whole_relative_error;
  return result;
}

}  // namespace incontext::examples::temperature
