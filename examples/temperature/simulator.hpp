#pragma once

#include <incontext/regression/attention.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/simulate/regression/regression_types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

// Boost's distributions, which it needs, are slow to compile.
namespace incontext::statistics {
struct Estimate;
}  // namespace incontext::statistics

/// The simulations of one run: each with a random stream of its own, one progress line, and Ctrl-C. Only simulator.cpp
/// sees simulate headers other than their types: nvcc compiles it for CUDA, and nothing else.
namespace incontext::examples::temperature {

using Estimates = std::vector<statistics::Estimate>;

enum class ScoringChoice { approximate_softmax, linear, softmax };

/// Which attention is simulated, and how.
struct Reading {
  regression::ErrorConvention convention = {};
  ScoringChoice scoring = ScoringChoice::approximate_softmax;
  simulate::Estimator estimator = simulate::Estimator::literal;
};

/// After Ctrl-C every further simulation returns at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  /// What the progress line calls the simulations that follow.
  void announce(std::string what);
  /// Whether nothing more is to be drawn.
  bool stopped() const;
  const RunSummary& summary() const;
  /// Adds trials that were drawn in another way to the summary of the run, with the number that was intended.
  void count(std::int64_t trials, std::int64_t planned);
  std::uint64_t seed() const;
  double relative_error() const;
  std::int64_t trials() const;

  Estimates errors(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                   std::int64_t context_length, const std::vector<double>& temperatures, const Reading& reading);

  Estimates errors_on_rows(const regression::Attention<double>& attention, const regression::Matrix<double>& rows,
                           const simulate::RowLabels& labels, std::int64_t context_length,
                           const std::vector<double>& temperatures, const Reading& reading);

  statistics::Estimate posterior_risk(const regression::LinearTask<double>& task, std::int64_t context_length);

  statistics::Estimate centered_ridge_risk(const regression::LinearTask<double>& task, std::int64_t context_length);

  statistics::Estimate posterior_risk_on_rows(const regression::Matrix<double>& rows,
                                              const regression::Matrix<double>& task_covariance, double noise_variance,
                                              std::int64_t context_length);

  statistics::Estimate centered_ridge_risk_on_rows(const regression::Matrix<double>& rows,
                                                   const regression::Matrix<double>& task_covariance,
                                                   double noise_variance, std::int64_t context_length);

  /// The errors at one grid of temperatures, computed again and again on fresh streams of `trials` trials each, as a
  /// jackknife needs them.
  std::vector<Estimates> batches(std::size_t count, std::int64_t trials, const regression::Attention<double>& attention,
                                 const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const std::vector<double>& temperatures, const Reading& reading);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::temperature
