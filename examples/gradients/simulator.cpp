#include "examples/gradients/simulator.hpp"

#include <incontext/core/host_device.hpp>
#include <incontext/random/normal.hpp>
#include <incontext/simulate/engine/lanes.hpp>
#include <incontext/simulate/engine/run.hpp>
#include <incontext/simulate/gradients/gradient_norms.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::gradients {

/// The points of a figure that share their draws. A plain array, so that a device has it with the trial.
struct PointGrid {
  static constexpr int most = 16;
  double at[most] = {};
  int size = 0;
};

/// What these trials draw.
enum class LayerStream : std::uint32_t { tokens = 4096, upstream, scores, values, query, key };

/// The softmax of x g_j + shift_j over n tokens, in `weights`.
template <int W, class Exponent>
INCONTEXT_HD void draw_weights(simulate::LaneArray<double, W> weights, std::int64_t tokens, const Exponent& exponent) {
  Lanes<double, W> sum(0.0);
  for (std::int64_t j = 0; j < tokens; ++j) {
    weights[j] = exp(exponent(j));
    sum += weights[j];
  }
  for (std::int64_t j = 0; j < tokens; ++j) weights[j] /= sum;
}

/// Squared norms of one query's contributions to dW_V, dW_K and dW_Q at every x, over |g|^2, with W_K, W_Q and W_V of
/// equal variances. Tokens are drawn component by component; component 0 is along w, and the direction of h is drawn.
/// For dW_Q the entries of W_K that the scores do not know are averaged in closed form.
struct QueryGradientTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "tokens x score standard deviations";
  std::int64_t tokens, dimension;
  double key_dimension;
  PointGrid score_stddevs;

  INCONTEXT_HD int outputs() const { return score_stddevs.size * query_gradients; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return tokens * (3 + score_stddevs.size) + score_stddevs.size + dimension;
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    using Lane = Lanes<double, W>;
    const random::LaneStream<W> stream(trials, LayerStream::tokens), upstream(trials, LayerStream::upstream);
    const auto scores = scratch.take(tokens), along = scratch.take(tokens), component = scratch.take(tokens);
    const auto weights = scratch.take(tokens * score_stddevs.size), means = scratch.take(score_stddevs.size),
               direction = scratch;
    const auto blocks = static_cast<std::uint32_t>((tokens + 1) / 2);
    draw_unit(direction, upstream);
    // h . x_j, which needs every component
    for (std::int64_t j = 0; j < tokens; ++j) along[j] = 0.0;
    for (std::int64_t c = 0; c < dimension && !simulate::stop_requested(); ++c) {
      const auto target = c == 0 ? scores : component;
      simulate::draw_normals(target, stream, static_cast<std::uint32_t>(c) * blocks, tokens);
      for (std::int64_t j = 0; j < tokens; ++j) along[j] += direction[c] * target[j];
    }
    for (int p = 0; p < score_stddevs.size; ++p) {
      const auto a = weights.after(tokens * p);
      const double x = score_stddevs.at[p];
      Lane top = scores[0];
      for (std::int64_t j = 1; j < tokens; ++j) {
        for (int lane = 0; lane < W; ++lane) top[lane] = top[lane] < scores[j][lane] ? scores[j][lane] : top[lane];
      }
      draw_weights(a, tokens, [&](std::int64_t j) { return Lane(x * (scores[j] - top)); });
      means[p] = 0.0;
      for (std::int64_t j = 0; j < tokens; ++j) means[p] += a[j] * along[j];
      for (int k = 0; k < query_gradients; ++k) at(values, p, k) = 0.0;
    }
    for (std::int64_t c = 0; c < dimension && !simulate::stop_requested(); ++c) {
      if (c > 0) simulate::draw_normals(component, stream, static_cast<std::uint32_t>(c) * blocks, tokens);
      const auto token = c == 0 ? scores : component;
      for (int p = 0; p < score_stddevs.size; ++p) {
        const auto a = weights.after(tokens * p);
        const double square = score_stddevs.at[p] * score_stddevs.at[p];
        Lane mean(0.0), covariance(0.0);
        for (std::int64_t j = 0; j < tokens; ++j) {
          const Lane share = a[j] * token[j];
          mean += share;
          covariance += share * (along[j] - means[p]);
        }
        const Lane key = square * covariance * covariance;
        at(values, p, QueryGradient::value) += mean * mean;
        at(values, p, QueryGradient::key) += key;
        at(values, p, QueryGradient::query) += (1 - 1 / key_dimension) * key;
        if (c == 0) at(values, p, QueryGradient::query) += static_cast<double>(dimension) / key_dimension * key;
      }
    }
    for (int p = 0; p < score_stddevs.size; ++p) {
      const Lane query = at(values, p, QueryGradient::query);
      at(values, p, QueryGradient::query_by_value) = query * at(values, p, QueryGradient::value);
      at(values, p, QueryGradient::query_by_key) = query * at(values, p, QueryGradient::key);
    }
  }

 private:
  template <int W, class Which>
  INCONTEXT_HD static Lanes<double, W>& at(simulate::LaneArray<double, W> values, int point, Which which) {
    return values[point * query_gradients + static_cast<int>(which)];
  }

  /// A uniform direction.
  template <int W>
  INCONTEXT_HD void draw_unit(simulate::LaneArray<double, W> unit, const random::LaneStream<W>& stream) const {
    simulate::draw_normals(unit, stream, 0, dimension);
    Lanes<double, W> square(0.0);
    for (std::int64_t i = 0; i < dimension; ++i) square += unit[i] * unit[i];
    for (std::int64_t i = 0; i < dimension; ++i) unit[i] /= sqrt(square);
  }
};

/// Two groups of tokens, the first one's scores lower by a gap: its share of the weight, and the squared gradients at
/// the scores of each. All gaps on common draws.
struct GroupGradientTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "tokens x gaps";
  std::int64_t first, second;
  double score_stddev;
  PointGrid gaps;

  INCONTEXT_HD int outputs() const { return gaps.size * group_gradients; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 3 * (first + second); }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    using Lane = Lanes<double, W>;
    const std::int64_t tokens = first + second;
    const auto scores = scratch.take(tokens), along = scratch.take(tokens), weights = scratch;
    simulate::draw_normals(scores, random::LaneStream<W>(trials, LayerStream::scores), 0, tokens);
    simulate::draw_normals(along, random::LaneStream<W>(trials, LayerStream::values), 0, tokens);
    for (int p = 0; p < gaps.size; ++p) {
      draw_weights(weights, tokens,
                   [&](std::int64_t j) { return Lane(score_stddev * scores[j] - (j < first ? gaps.at[p] : 0.0)); });
      Lane mean(0.0), weight(0.0), own(0.0), other(0.0);
      for (std::int64_t j = 0; j < tokens; ++j) mean += weights[j] * along[j];
      for (std::int64_t j = 0; j < tokens; ++j) {
        const Lane slope = weights[j] * (along[j] - mean);
        (j < first ? own : other) += slope * slope;
        if (j < first) weight += weights[j];
      }
      values[p * group_gradients + static_cast<int>(GroupGradient::weight)] = weight;
      values[p * group_gradients + static_cast<int>(GroupGradient::first)] = own;
      values[p * group_gradients + static_cast<int>(GroupGradient::second)] = other;
    }
  }
};

/// |diag(a) - a a^T|_F^2 at softmax weights a of n normal scores, at every x on common draws.
struct JacobianTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "tokens x score standard deviations";
  std::int64_t tokens;
  PointGrid score_stddevs;

  INCONTEXT_HD int outputs() const { return score_stddevs.size; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 2 * tokens; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    using Lane = Lanes<double, W>;
    const auto scores = scratch.take(tokens), weights = scratch;
    simulate::draw_normals(scores, random::LaneStream<W>(trials, LayerStream::scores), 0, tokens);
    Lane top = scores[0];
    for (std::int64_t j = 1; j < tokens; ++j) {
      for (int lane = 0; lane < W; ++lane) top[lane] = top[lane] < scores[j][lane] ? scores[j][lane] : top[lane];
    }
    for (int p = 0; p < score_stddevs.size; ++p) {
      draw_weights(weights, tokens, [&](std::int64_t j) { return Lane(score_stddevs.at[p] * (scores[j] - top)); });
      Lane squares(0.0), all(0.0);
      for (std::int64_t j = 0; j < tokens; ++j) squares += weights[j] * weights[j];
      for (std::int64_t j = 0; j < tokens; ++j) {
        const Lane rest = 1.0 - weights[j], square = weights[j] * weights[j];
        all += square * (rest * rest + squares - square);
      }
      values[p] = all;
    }
  }
};

/// The score q . k of a query and a key of standard normal entries: its square over d_k, and its fourth power over
/// d_k^2.
struct DotProductTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "key dimension";
  std::int64_t key_dimension;

  INCONTEXT_HD int outputs() const { return dot_products; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 2 * key_dimension; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    const auto query = scratch.take(key_dimension), key = scratch;
    simulate::draw_normals(query, random::LaneStream<W>(trials, LayerStream::query), 0, key_dimension);
    simulate::draw_normals(key, random::LaneStream<W>(trials, LayerStream::key), 0, key_dimension);
    Lanes<double, W> score(0.0);
    for (std::int64_t i = 0; i < key_dimension; ++i) score += query[i] * key[i];
    const Lanes<double, W> square = score * score / static_cast<double>(key_dimension);
    values[DotProduct::square] = square;
    values[DotProduct::fourth] = square * square;
  }
};

namespace {

/// The largest number of trials for medians, since every trial is kept.
constexpr std::int64_t most_kept_trials = 65536;

}  // namespace

struct Simulator::State {
  SimulationRuns runs;
  std::int64_t tokens, dimension;
};

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet), options.context_length, options.dimension}) {}

Simulator::~Simulator() = default;

const RunSummary& Simulator::summary() const { return state_->runs.summary(); }

MeasuredGradients Simulator::gradients(simulate::GradientMap map, const std::vector<double>& score_stddevs) {
  using simulate::GradientNorm;
  const simulate::GradientRow row{state_->tokens, state_->dimension, map};
  MeasuredGradients measured;
  const auto simulation = [&](simulate::Options options) {
    simulate::GradientNormsSimulation result = simulate::gradient_norms(row, score_stddevs, options);
    std::vector<double> medians(score_stddevs.size(), std::numeric_limits<double>::quiet_NaN());
    if (result.run.interrupted || state_->runs.is_part()) return std::pair(std::move(result.run), medians);
    options.trials = std::min(result.run.trials, most_kept_trials);
    options.relative_error = 0;
    const auto sample = simulate::gradient_norms_sample(row, score_stddevs, options);
    for (std::size_t i = 0; i < score_stddevs.size(); ++i) medians[i] = sample.median(i, GradientNorm::ratio);
    return std::pair(std::move(result.run), medians);
  };
  constexpr std::size_t norms = 1 + static_cast<std::size_t>(GradientNorm::key_orthogonal);
  std::tie(measured.norms.run, measured.median) =
      state_->runs.run("gradients", score_stddevs.size() * norms, simulation);
  measured.median.resize(score_stddevs.size(), std::numeric_limits<double>::quiet_NaN());
  return measured;
}

namespace {

using Estimates = std::vector<statistics::Estimate>;

/// Trials of one row of scores are cheap: this many for each that was asked for.
constexpr std::int64_t cheap_trials = 16;

/// What `trial_of` a grid of points gives, point by point; grids of the largest size share their draws.
template <class TrialOf>
Estimates over_grids(SimulationRuns& runs, const std::vector<double>& points, std::int64_t more,
                     const TrialOf& trial_of) {
  Estimates all;
  for (std::size_t first = 0; first < points.size(); first += PointGrid::most) {
    PointGrid grid;
    for (std::size_t i = first; i < points.size() && grid.size < PointGrid::most; ++i) grid.at[grid.size++] = points[i];
    const auto trial = trial_of(grid);
    const auto found = runs.run("gradients", static_cast<std::size_t>(trial.outputs()), [&](simulate::Options at) {
      at.trials *= more;
      return simulate::run(trial, at);
    });
    all.insert(all.end(), found.estimates.begin(), found.estimates.end());
  }
  return all;
}

}  // namespace

Estimates Simulator::queries(std::int64_t key_dimension, const std::vector<double>& score_stddevs) {
  return over_grids(state_->runs, score_stddevs, 1, [&](const PointGrid& grid) {
    return QueryGradientTrial{state_->tokens, state_->dimension, static_cast<double>(key_dimension), grid};
  });
}

Estimates Simulator::groups(double score_stddev, const std::vector<double>& gaps) {
  const std::int64_t first = state_->tokens / 2;
  return over_grids(state_->runs, gaps, cheap_trials, [&](const PointGrid& grid) {
    return GroupGradientTrial{first, state_->tokens - first, score_stddev, grid};
  });
}

Estimates Simulator::jacobians(const std::vector<double>& score_stddevs) {
  return over_grids(state_->runs, score_stddevs, cheap_trials, [&](const PointGrid& grid) {
    return JacobianTrial{state_->tokens, grid};
  });
}

Estimates Simulator::dot_product(std::int64_t key_dimension) {
  return over_grids(state_->runs, {1}, 32 * cheap_trials,
                    [&](const PointGrid&) { return DotProductTrial{key_dimension}; });
}

}  // namespace incontext::examples::gradients
