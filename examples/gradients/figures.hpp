#pragma once

#include <vector>

#include "examples/gradients/options.hpp"
#include "examples/gradients/simulator.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"

namespace incontext::examples::gradients {

/// The state that the parts of a run of incontext gradients share.
struct GradientRun {
  const GradientOptions& options;
  Simulator& simulator;
  Judgment& judgment;
  Controls& controls;
};

std::vector<Table> figure_tables(GradientRun& run);

}  // namespace incontext::examples::gradients
