#pragma once

#include <incontext/regression/attention.hpp>
#include <incontext/regression/linear_task.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/support/run_record.hpp"
#include "examples/support/simulation_options.hpp"

// Boost's distributions, which it needs, are slow to compile.
namespace incontext::statistics {
struct Estimate;
}  // namespace incontext::statistics

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C. Only simulator.cpp
/// sees the simulate headers: nvcc compiles it for the CUDA edition, and nothing else.
namespace incontext::examples {

using Estimates = std::vector<statistics::Estimate>;

enum class ScoringChoice { approximate_softmax, linear, softmax };

/// What a trial averages in closed form, as simulate::Estimator.
enum class EstimatorChoice { literal, conditional, sufficient_statistics };

/// Which attention is simulated, and how.
struct Reading {
  regression::ErrorConvention convention = {};
  ScoringChoice scoring = ScoringChoice::approximate_softmax;
  EstimatorChoice estimator = EstimatorChoice::literal;
};

/// Labels of rows: their own where there are any, else from a law of tasks, as simulate::RowLabels.
struct LabelsOfRows {
  regression::Vector<double> task_mean = {};
  regression::Matrix<double> task_covariance = {};
  double noise_variance = 0;
  regression::Vector<double> own = {};
};

/// After Ctrl-C every further simulation returns at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  /// What the progress line calls the simulations that follow.
  void announce(std::string what);
  bool stopped() const;
  const RunRecord& record() const;
  /// Counts trials that were drawn in another way, and how many were intended.
  void count(std::int64_t trials, std::int64_t planned);
  std::uint64_t seed() const;
  double relative_error() const;
  std::int64_t trials() const;

  Estimates errors(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                   std::int64_t context_length, const std::vector<double>& temperatures, const Reading& reading);

  Estimates errors_on_rows(const regression::Attention<double>& attention, const regression::Matrix<double>& rows,
                           const LabelsOfRows& labels, std::int64_t context_length,
                           const std::vector<double>& temperatures, regression::Offset offset);

  statistics::Estimate bayes_risk(const regression::LinearTask<double>& task, std::int64_t context_length);

  statistics::Estimate bayes_risk_on_rows(const regression::Matrix<double>& rows,
                                          const regression::Matrix<double>& task_covariance, double noise_variance,
                                          std::int64_t context_length);

  /// The errors at one grid again and again, each time on a fresh stream of `trials` trials: what a jackknife needs.
  std::vector<Estimates> batches(std::size_t count, std::int64_t trials, const regression::Attention<double>& attention,
                                 const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const std::vector<double>& temperatures, const Reading& reading);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples
