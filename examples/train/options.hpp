#pragma once

#include <cstdint>
#include <string>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/train/reasoning.hpp"
#include "examples/train/simulator.hpp"

/// What incontext-train can be asked.
namespace incontext::examples::train {

/// Classification: where training ends, beside the rules; the way there. Reasoning: Eureka moments; the way there.
enum class TrainFigure { ends, curves, reasoning, reasoning_course };

/// Whether a figure is one of the reasoning task.
constexpr bool is_reasoning(TrainFigure figure) {
  return figure == TrainFigure::reasoning || figure == TrainFigure::reasoning_course;
}

/// Which maps are trained.
enum class MapChoice { linear, softmax, both };

struct TrainOptions {
  TrainFigure figure = TrainFigure::ends;
  MapChoice maps = MapChoice::both;
  std::int64_t dimension = 0;  ///< 0: the figure's own
  std::int64_t classes = 5;
  std::int64_t context_length = 100;
  std::int64_t seeds = 5;
  ContextRun run = {};
  ReasoningOptions reasoning = {};
  std::string checkpoint = {};
  std::string resume = {};
  std::string weights = {};
  SimulationOptions simulation = {.trials = 4096};
  OutputOptions output = {};
};

void add_train_options(CLI::App& app, TrainOptions& o);

/// Sets the defaults of options not given, and refuses those the chosen figure has no use for.
UnusedOptions complete(const CLI::App& app, TrainOptions& o);

}  // namespace incontext::examples::train
