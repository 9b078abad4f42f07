#pragma once

#include <cstdint>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"

/// What incontext tasks can be asked.
namespace incontext::examples::tasks {

enum class TaskFigure { baselines, boundary, deviant, printed };

struct TaskOptions {
  TaskFigure figure = TaskFigure::baselines;
  double input_stddev = 1.5;
  double function_stddev = 1;
  std::vector<std::int64_t> lengths = {2, 4, 10};  ///< prefixes of the quantifier task
  std::int64_t largest_value = 10;                 ///< of the reasoning task
  SimulationOptions simulation = {.trials = 1048576};
  OutputOptions output = {};
};

void add_task_options(CLI::App& app, TaskOptions& o);

/// Sets the defaults of options not given, and refuses those the chosen figure has no use for.
UnusedOptions complete(const CLI::App& app, TaskOptions& o);

}  // namespace incontext::examples::tasks
