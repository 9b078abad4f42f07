#pragma once

#include <incontext/regression/linear_task.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/table.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/train/simulator.hpp"
#include "examples/train/task.hpp"

/// Trained attention beside the optima of the exact errors of regression in context (arXiv 2511.01292).
namespace incontext::examples::train {

/// Where training ends; the way there; a temperature that is trained on shifted laws; and several heads.
enum class RegressionFigure { ends, curves, temperature, heads };

struct RegressionOptions : TaskOptions {
  RegressionFigure figure = RegressionFigure::ends;
  std::int64_t dimension = 3;
  std::int64_t context_length = 12;
  double noise_variance = 0.1;
  std::int64_t seeds = 16;   ///< runs per row
  std::int64_t steps = 0;    ///< 0: the row's own
  std::int64_t batch = 256;  ///< contexts per step
  std::int64_t heads = 2;    ///< the most of a layer, in the figure that trains several
};

void add_options(CLI::App& app, RegressionOptions& o);

/// Refuses options that the figure has no use for.
void complete(const CLI::App& app, RegressionOptions& o, UnusedOptions& unused);

/// What the figures read and fill in.
struct RegressionParts : TaskParts<RegressionOptions, Simulator> {
  std::uint64_t next_seed = options.simulation.seed;  ///< no two runs share their seeds
};

std::vector<Table> regression_tables(RegressionParts& parts);

/// One softmax head, two and more, beside the best ones.
std::vector<Table> heads_tables(RegressionParts& parts);

/// Inputs of variance 1, and labels of variance 1 without their noise.
regression::LinearTask<double> even_law(const RegressionOptions& o);

std::string sizes_in_words(const RegressionOptions& o);

/// The columns of a comparison, with what is trained in place of what is simulated.
std::vector<Column> with_training(std::vector<Column> columns);

}  // namespace incontext::examples::train
