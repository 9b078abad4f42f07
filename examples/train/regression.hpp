#pragma once

#include <cstdint>
#include <vector>

#include "examples/support/table.hpp"
#include "examples/train/simulator.hpp"
#include "examples/train/task.hpp"

/// Trained attention beside the optima of the exact errors of regression in context (arXiv 2511.01292).
namespace incontext::examples::train {

/// Where training ends; the way there; and a temperature that is trained on shifted laws.
enum class RegressionFigure { ends, curves, temperature };

struct RegressionOptions : TaskOptions {
  RegressionFigure figure = RegressionFigure::ends;
  std::int64_t dimension = 3;
  std::int64_t context_length = 12;
  double noise_variance = 0.1;
  std::int64_t seeds = 16;   ///< runs per row
  std::int64_t steps = 0;    ///< 0: the row's own
  std::int64_t batch = 256;  ///< contexts per step
};

void add_options(CLI::App& app, RegressionOptions& o);

/// What the figures read and fill in.
struct RegressionParts : TaskParts<RegressionOptions, Simulator> {
  std::uint64_t next_seed = options.simulation.seed;  ///< no two runs share their seeds
};

std::vector<Table> regression_tables(RegressionParts& parts);

}  // namespace incontext::examples::train
