#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"

/// The options of incontext fading.
namespace incontext::examples::fading {

enum class FadingFigure { fading, phase, retrieval, bounded, diagram, optimum };

struct FadingOptions {
  FadingFigure figure = FadingFigure::phase;
  std::vector<std::int64_t> lengths = {};
  double scale = 0.43;                           ///< SSMax's s
  double variance = 1;                           ///< of the competitors
  double height = 4.5;                           ///< of the needle, in standard deviations of the competitors
  std::optional<double> gap = {};                ///< of the needle, in units of the scores; in place of the height
  std::vector<double> weights = {};              ///< of which the critical length is shown
  std::vector<double> score_stddevs = {};        ///< in units of the critical one
  std::vector<double> heights = {};              ///< of the needle, in units of the exact threshold
  std::int64_t points = 12;                      ///< of the diagram, a side
  std::optional<std::int64_t> most_scores = {};  ///< drawn by one simulation
  SimulationOptions simulation = {};
  OutputOptions output = {};
};

/// The number of scores that the user gave, or as many as are needed to judge every default row of the figure.
std::int64_t most_scores(const FadingOptions& o);

/// The needle's score.
double needle_score(const FadingOptions& o);

void add_fading_options(CLI::App& app, FadingOptions& o);

/// Refuses options that have no effect on the chosen figure.
UnusedOptions check_combination(const CLI::App& app, const FadingOptions& o);

}  // namespace incontext::examples::fading
