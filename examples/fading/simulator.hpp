#pragma once

#include <incontext/simulate/rows/score_rows_types.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C. Only simulator.cpp
/// sees simulate headers other than their types: nvcc compiles it for CUDA, and nothing else.
namespace incontext::examples::fading {

/// A mean over rows, and what else is known about them. The last two are kept for rows where they were asked for.
struct Measured {
  statistics::Estimate mean = {};
  double effective_trials = 0;  ///< that carry the mean, or what it lacks to 1
  std::optional<double> median = {};
  std::optional<double> largest_share = {};  ///< of the total, the largest trial's
};

struct MeasuredRow {
  Measured ipr, largest_weight, entropy, needle_weight;
};

enum class Keep { means, medians };

/// Competitors N(0, 1), uniform on [0, 1], or 1 with a probability and else 0.
enum class CompetitorLaw { normal, uniform, two_values };

/// A needle whose score is drawn too.
struct NeedleRow {
  CompetitorLaw law = CompetitorLaw::normal;
  double probability = 0;
  std::int64_t competitors = 0;
  double needle_mean = 0, needle_stddev = 0;
};

/// The cross entropy of the needle's weight, its slope and curvature in the inverse temperature, and how much it is
/// larger at another one.
enum class NeedleLoss { loss, slope, curvature, difference };
inline constexpr int needle_losses = 4;

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  /// A simulation draws at most about `most_scores` scores, but always its first 128 rows.
  Simulator(const SimulationOptions& options, std::int64_t most_scores, bool quiet);
  ~Simulator();

  const RunSummary& summary() const;
  bool stopped() const;

  /// One measurement for each inverse temperature, all on the same rows.
  std::vector<MeasuredRow> rows(const simulate::ScoreRow& row, const std::vector<double>& inverse_temperatures,
                                Keep keep = Keep::means);

  /// In the order of NeedleLoss.
  std::vector<statistics::Estimate> needle_loss(const NeedleRow& row, double inverse_temperature, double other);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::fading
