#pragma once

#include <vector>

#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"
#include "examples/tasks/options.hpp"
#include "examples/tasks/simulator.hpp"

namespace incontext::examples::tasks {

/// What one run of incontext tasks works with.
struct TaskRun {
  const TaskOptions& options;
  Simulator& simulator;
  Judgment& judgment;
  Controls& controls;
};

std::vector<Table> figure_tables(TaskRun& run);

}  // namespace incontext::examples::tasks
