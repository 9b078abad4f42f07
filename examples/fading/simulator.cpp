#include "examples/fading/simulator.hpp"

#include <incontext/core/host_device.hpp>
#include <incontext/random/normal.hpp>
#include <incontext/random/uniform.hpp>
#include <incontext/simulate/engine/lanes.hpp>
#include <incontext/simulate/engine/run.hpp>
#include <incontext/simulate/rows/score_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::fading {

/// With S_k = sum z_j^k e^(beta z_j) over the competitors, the loss of a needle of score z_0 is
/// log(1 + S_0 e^(-beta z_0)); its slope in beta is the weighted mean of all scores less z_0, its curvature their
/// weighted variance. Every row of competitors meets several needles, in antithetic pairs.
struct NeedleLossTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "competitors";
  static constexpr int per_block = random::normals_per_block<double>;
  static constexpr int needle_blocks = 8;
  enum class Stream : std::uint32_t { competitors = 4096, needle };
  NeedleRow row;
  double inverse_temperature, other;  ///< `other`: a second inverse temperature, for a difference of losses

  INCONTEXT_HD int outputs() const { return needle_losses; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> /*scratch*/,
                        simulate::LaneArray<double, W> values) const {
    using Lane = Lanes<double, W>;
    const random::LaneStream<W> stream(trials, Stream::competitors), own(trials, Stream::needle);
    Lane drawn[per_block], sum(0.0), first(0.0), second(0.0), other_sum(0.0);
    for (std::int64_t j = 0; j < row.competitors; ++j) {
      if (j % per_block == 0) draw(stream, static_cast<std::uint32_t>(j / per_block), drawn);
      const Lane z = drawn[j % per_block], e = exp(inverse_temperature * z);
      sum += e;
      first += e * z;
      second += e * z * z;
      other_sum += exp(other * z);
    }
    for (int k = 0; k < needle_losses; ++k) values[k] = 0.0;
    constexpr double share = 1.0 / (2 * per_block * needle_blocks);
    for (int block = 0; block < needle_blocks; ++block) {
      random::normals(own, static_cast<std::uint32_t>(block), drawn);
      for (int k = 0; k < 2 * per_block; ++k) {
        const double side = k % 2 == 0 ? row.needle_stddev : -row.needle_stddev;
        for (int lane = 0; lane < W; ++lane) {
          const double z = row.needle_mean + side * drawn[k / 2][lane], e = std::exp(inverse_temperature * z);
          const double all = e + sum[lane], mean = (first[lane] - z * sum[lane]) / all;
          const double square = (second[lane] - 2 * z * first[lane] + z * z * sum[lane]) / all;
          const double loss = std::log1p(sum[lane] / e);
          values[NeedleLoss::loss][lane] += share * loss;
          values[NeedleLoss::slope][lane] += share * mean;
          values[NeedleLoss::curvature][lane] += share * (square - mean * mean);
          values[NeedleLoss::difference][lane] += share * (std::log1p(other_sum[lane] * std::exp(-other * z)) - loss);
        }
      }
    }
  }

 private:
  template <int W>
  INCONTEXT_HD void draw(const random::LaneStream<W>& stream, std::uint32_t block, Lanes<double, W>* out) const {
    if (row.law == CompetitorLaw::normal) {
      Lanes<double, W> normal[per_block];
      random::normals(stream, block, normal);
      for (int k = 0; k < per_block; ++k) out[k] = normal[k];
      return;
    }
    Lanes<std::uint32_t, W> words[4];
    stream.words(block, words);
    for (int k = 0; k < per_block; ++k) {
      for (int lane = 0; lane < W; ++lane) {
        const double u = random::uniform_open(words[2 * k][lane], words[2 * k + 1][lane]);
        out[k][lane] = row.law == CompetitorLaw::uniform ? u : (u < row.probability ? 1.0 : 0.0);
      }
    }
  }
};

struct Simulator::State {
  SimulationRuns runs;
  std::int64_t most_scores;
};

namespace {

constexpr std::int64_t fewest_trials = 128;

Measured measured(const statistics::Estimate& mean, const simulate::ScoreRowSample* sample, std::size_t point,
                  simulate::RowFunctional functional) {
  Measured result{mean, simulate::effective_trials(mean)};
  if (functional != simulate::RowFunctional::entropy) {  // within [0, 1]: 1 minus it may be rare, too
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

const RunSummary& Simulator::summary() const { return state_->runs.summary(); }
bool Simulator::stopped() const { return state_->runs.stopped(); }

std::vector<MeasuredRow> Simulator::rows(const simulate::ScoreRow& row, const std::vector<double>& inverse_temperatures,
                                         Keep keep) {
  using simulate::RowFunctional;
  const std::int64_t affordable = std::max<std::int64_t>(state_->most_scores / row.competitors, fewest_trials);
  struct Both {
    simulate::ScoreRowSimulation run = {};
    simulate::ScoreRowSample sample = {};
  };
  // In double, because single precision would round the mean of nearly even weights by more than its standard error.
  const auto simulation = [&](simulate::Options at) {
    if (at.relative_error == 0) at.trials = std::min(at.trials, affordable);
    Both both{.run = simulate::score_rows<double>(row, inverse_temperatures, at)};
    const simulate::Simulation& means = both.run.run;
    if (keep == Keep::medians && !means.interrupted && !state_->runs.is_part()) {
      at.trials = std::min(means.trials, affordable);
      at.relative_error = 0;
      both.sample = simulate::score_row_sample<double>(row, inverse_temperatures, at);
    }
    return std::pair(means, std::move(both));
  };
  const Both found = state_->runs.run("rows of scores", 0, simulation).second;
  const simulate::ScoreRowSimulation& run = found.run;
  const simulate::ScoreRowSample& sample = found.sample;
  if (run.run.estimates.empty()) return std::vector<MeasuredRow>(inverse_temperatures.size());  // stopped earlier
  std::vector<MeasuredRow> result;
  for (std::size_t point = 0; point < inverse_temperatures.size(); ++point) {
    const auto one = [&](RowFunctional functional) {
      return measured(run.at(point, functional), sample.sample.trials > 0 ? &sample : nullptr, point, functional);
    };
    result.push_back(
        {one(RowFunctional::ipr), one(RowFunctional::largest_weight), one(RowFunctional::entropy),
         row.needle_token == simulate::NeedleToken::present ? one(RowFunctional::needle_weight) : Measured{}});
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
