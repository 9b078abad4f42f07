#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "examples/fading/options.hpp"
#include "examples/fading/simulator.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"

/// Attention over long rows of random scores: the exact law beside simulations.
namespace incontext::examples::fading {

/// The state that the parts of a run share; `arguments` are the report's, for values that the options do not set.
struct FadingRun {
  const FadingOptions& options;
  Simulator& simulator;
  Judgment& judgment;
  Controls& controls;
  nlohmann::ordered_json& arguments;
};

std::vector<Table> figure_tables(FadingRun& run);

}  // namespace incontext::examples::fading
