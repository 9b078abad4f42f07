#pragma once

#include <incontext/simulate/gradients/gradient_norms_types.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/simulation_options.hpp"

/// The simulations of one run. Only simulator.cpp sees simulate headers other than their types: nvcc compiles it for
/// CUDA, and nothing else.
namespace incontext::examples::gradients {

/// Estimates of every squared norm, and the median of the ratio within a row, one of each per x = |W_K q| / tau.
struct MeasuredGradients {
  simulate::GradientNormsSimulation norms;
  std::vector<double> median;
};

/// What is measured at every x: squared norms of the contributions to W_V, W_K and W_Q, and products of them.
enum class QueryGradient { value, key, query, query_by_value, query_by_key };
inline constexpr int query_gradients = 5;

/// What is measured at every gap: the first group's weight, and the squared gradients at the scores of each.
enum class GroupGradient { weight, first, second };
inline constexpr int group_gradients = 3;

/// (q . k)^2 / d_k and its square.
enum class DotProduct { square, fourth };
inline constexpr int dot_products = 2;

/// After Ctrl-C every further simulation answers at once with estimates of no trials.
class Simulator {
 public:
  Simulator(const SimulationOptions& options, bool quiet);
  ~Simulator();

  const RunSummary& summary() const;

  /// The norms at each x = |W_K q| / tau, on common draws.
  MeasuredGradients gradients(simulate::GradientMap map, const std::vector<double>& score_stddevs);

  /// At each x, in the order of QueryGradient.
  std::vector<statistics::Estimate> queries(std::int64_t key_dimension, const std::vector<double>& score_stddevs);

  /// Half of the tokens, rounded down, are the first group; at each gap, in the order of GroupGradient.
  std::vector<statistics::Estimate> groups(double score_stddev, const std::vector<double>& gaps);

  /// |diag(a) - a a^T|_F^2 at each x.
  std::vector<statistics::Estimate> jacobians(const std::vector<double>& score_stddevs);

  /// In the order of DotProduct.
  std::vector<statistics::Estimate> dot_product(std::int64_t key_dimension);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples::gradients
