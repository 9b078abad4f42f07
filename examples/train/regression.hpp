#pragma once

#include <cstdint>
#include <vector>

#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"
#include "examples/train/regression_runs.hpp"

/// Trained attention beside the optima of the exact errors of regression in context (arXiv 2511.01292).
namespace incontext::examples::train {

/// What the figures of regression read and fill in. The controls have two columns of keys.
struct RegressionFigures {
  const RegressionTrainer& trainer;
  Judgment& judgment;
  Controls& controls;
  std::int64_t seeds = 16;   ///< runs per row
  std::int64_t batch = 256;  ///< contexts per step
  std::uint64_t next_seed = 1;
};

/// Where training from random weights ends, beside the optimum of the exact error: linear attention, approximate and
/// true softmax.
std::vector<Table> regression_ends(RegressionFigures& parts);

/// A pretrained layer whose temperature alone is trained on a shifted law, beside the optimal temperature.
std::vector<Table> regression_temperatures(RegressionFigures& parts);

/// Stochastic gradient descent beside gradient flow on the exact loss, at several times; and the flow of approximate
/// softmax, which never comes to rest.
std::vector<Table> regression_curves(RegressionFigures& parts);

}  // namespace incontext::examples::train
