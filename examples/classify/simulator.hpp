#pragma once

#include <incontext/statistics/estimate.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/run_record.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C. Only simulator.cpp
/// sees the simulate headers: nvcc compiles it for the CUDA edition, and nothing else.
namespace incontext::examples {

/// As simulate::SphereTask, class-balanced.
struct SphereTask {
  std::int64_t dimension;
  std::int64_t classes;
  std::int64_t context_length;
};

/// As simulate::ClassificationRule.
enum class Rule { linear, kernel, adaptive, adaptive_with_query };

struct Classifier {
  Rule rule;
  double kappa;
  double gain;  ///< the learning rate of linear and kernel
};

enum class Metric { loss, accuracy, entropy, probability, sensitivity };

struct Metrics {
  std::array<statistics::Estimate, 5> all;

  const statistics::Estimate& operator[](Metric metric) const { return all[static_cast<std::size_t>(metric)]; }
};

struct Alignment {
  statistics::Estimate predictions_difference, cosine_similarity, sensitivity_difference;
};

/// As simulate::ClassificationGrid; on the slope chart the gains are kappa times the gain.
struct Grid {
  Rule rule;
  std::vector<double> kappas;
  std::vector<double> gains;
  bool slope_chart = false;
};

/// As simulate::AxisPlace.
enum class Place { inside, lowest, highest, fixed };

struct Optimum {
  Classifier best;
  double slope;  ///< gain times kappa; the gain of the linear rule
  statistics::Estimate loss;
  Place kappa_place, gain_place;
  bool reached = true;  ///< false if the run was stopped before the search ended
};

/// Losses kappas x gains, and each less the reference's.
struct GridLosses {
  std::vector<statistics::Estimate> losses, differences;
};

/// As simulate::SphereContext.
struct DrawnContext {
  std::vector<double> inputs;
  std::vector<std::int64_t> labels;
  std::vector<double> query;
  std::int64_t query_label;
  std::vector<double> prototypes;
};

/// Whether a grid runs the trials of a search, or twice those of the options: small differences ask for many.
enum class Effort { search, twofold };

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  /// Searches run `search_trials` trials whatever the options say.
  Simulator(const SimulationOptions& options, std::int64_t search_trials, bool quiet);
  ~Simulator();

  bool stopped() const;
  const RunRecord& record() const;
  /// Counts trials that were drawn in another way, and how many were intended.
  void count(std::int64_t trials, std::int64_t planned);

  /// All classifiers on the same contexts, with at most `most_trials` trials if that is above 0.
  std::vector<Metrics> metrics(const std::string& what, const SphereTask& task,
                               const std::vector<Classifier>& classifiers, std::int64_t most_trials = 0);
  std::vector<Alignment> alignment(const std::string& what, const SphereTask& task,
                                   const std::vector<std::pair<Classifier, Classifier>>& pairs);

  /// Least loss over a grid, zoomed in on; its own loss is a little low.
  Optimum search(const std::string& what, const SphereTask& task, const Grid& grid);

  /// `reference` is the index of a loss, or negative where no differences are wanted.
  GridLosses losses(const std::string& what, const SphereTask& task, const Grid& grid, int reference, Effort effort);

  /// A context by its number, the same whatever else was simulated.
  DrawnContext context(const SphereTask& task, std::uint64_t number) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples
