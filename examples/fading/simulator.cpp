#include "examples/fading/simulator.hpp"

#include <incontext/simulate/run.hpp>
#include <incontext/simulate/score_rows.hpp>

#include <algorithm>
#include <utility>

#include "examples/fading/needle_loss.hpp"
#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::fading {

struct Simulator::State {
  SimulationRuns runs;
  std::int64_t most_scores;
};

namespace {

constexpr std::int64_t fewest_trials = 128;

Measured measured(const statistics::Estimate& mean, const simulate::ScoreRowSample* sample, std::size_t point,
                  simulate::RowFunctional functional) {
  Measured result{mean, simulate::effective_trials(mean)};
  if (functional != simulate::RowFunctional::entropy) {  // between 0 and 1: rare rows may make the rest, too
    statistics::Estimate rest = mean;
    rest.mean = 1 - mean.mean;
    result.effective_trials = std::min(result.effective_trials, simulate::effective_trials(rest));
  }
  if (sample != nullptr) {
    result.median = sample->median(point, functional);
    result.largest_share = sample->largest_share(point, functional);
  }
  return result;
}

}  // namespace

Simulator::Simulator(const SimulationOptions& options, std::int64_t most_scores, bool quiet)
    : state_(new State{SimulationRuns(options, quiet), most_scores}) {}

Simulator::~Simulator() = default;

const RunRecord& Simulator::record() const { return state_->runs.record(); }
bool Simulator::stopped() const { return state_->runs.stopped(); }

std::vector<MeasuredRow> Simulator::rows(const simulate::ScoreRow& row, const std::vector<double>& inverse_temperatures,
                                         Keep keep) {
  using simulate::RowFunctional;
  const std::int64_t affordable = std::max<std::int64_t>(state_->most_scores / row.competitors, fewest_trials);
  simulate::ScoreRowSimulation run;
  simulate::ScoreRowSample sample;
  // In double: the mean of nearly even weights is known better than single precision rounds it.
  const auto simulation = [&](simulate::Options at) {
    if (at.relative_error == 0) at.trials = std::min(at.trials, affordable);
    run = simulate::score_rows<double>(row, inverse_temperatures, at);
    if (keep == Keep::medians && !run.run.interrupted) {
      at.trials = std::min(run.run.trials, affordable);
      at.relative_error = 0;
      sample = simulate::score_row_sample<double>(row, inverse_temperatures, at);
    }
    return run.run;
  };
  state_->runs.run("rows of scores", 0, simulation);
  if (run.run.estimates.empty()) return std::vector<MeasuredRow>(inverse_temperatures.size());  // stopped earlier
  std::vector<MeasuredRow> result;
  for (std::size_t point = 0; point < inverse_temperatures.size(); ++point) {
    const auto one = [&](RowFunctional functional) {
      return measured(run.at(point, functional), sample.sample.trials > 0 ? &sample : nullptr, point, functional);
    };
    result.push_back({one(RowFunctional::ipr), one(RowFunctional::largest_weight), one(RowFunctional::entropy),
                      row.has_needle ? one(RowFunctional::needle_weight) : Measured{}});
  }
  return result;
}

std::vector<statistics::Estimate> Simulator::needle_loss(const NeedleRow& row, double inverse_temperature,
                                                         double other) {
  const std::int64_t affordable = std::max<std::int64_t>(state_->most_scores / row.competitors, fewest_trials);
  return state_->runs
      .run("rows with a needle", needle_losses,
           [&](simulate::Options at) {
             if (at.relative_error == 0) at.trials = std::min(at.trials, affordable);
             return simulate::run(NeedleLossTrial{row, inverse_temperature, other}, at);
           })
      .estimates;
}

}  // namespace incontext::examples::fading
