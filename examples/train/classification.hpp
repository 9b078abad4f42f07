#pragma once

#include <vector>

#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"
#include "examples/train/options.hpp"
#include "examples/train/simulator.hpp"

/// Trained attention beside the rules of in-context gradient descent (arXiv 2510.10425).
namespace incontext::examples::train {

/// What the figures read and fill in.
struct TrainRun {
  const TrainOptions& options;
  Simulator& simulator;
  Judgment& judgment;
  Controls& controls;
};

std::vector<Table> classification_tables(TrainRun& parts);

}  // namespace incontext::examples::train
