#include "examples/fading/options.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace incontext::examples::fading {

std::int64_t most_scores(const FadingOptions& o) {
  if (o.most_scores) return *o.most_scores;
  return o.figure == FadingFigure::phase ? 15000000 : o.figure == FadingFigure::retrieval ? 30000000 : 10000000;
}

double needle_score(const FadingOptions& o) { return o.gap ? *o.gap : o.height * std::sqrt(o.variance); }

void add_fading_options(CLI::App& app, FadingOptions& o) {
  const auto positive = [](double value) { return value > 0; };
  add_choice<FadingFigure>(app, "--figure", o.figure, "What to show, see above",
                           {{"phase", FadingFigure::phase},
                            {"fading", FadingFigure::fading},
                            {"retrieval", FadingFigure::retrieval},
                            {"bounded", FadingFigure::bounded},
                            {"diagram", FadingFigure::diagram},
                            {"optimum", FadingFigure::optimum}});
  add_counts(app, "--lengths", o.lengths, "Lengths n of the rows", 3, 1000000000);
  add_number(app, "--s", o.scale, "SSMax's s: its inverse temperature is s log n", positive, "0 < value");
  add_number(app, "--variance", o.variance, "Variance of the normal competitors' scores", positive, "0 < value");
  add_positive_numbers(app, "--score-stddevs", o.score_stddevs,
                       "phase: inverse temperature times standard deviation, over sqrt(2 log n)");
  add_number(
      app, "--height", o.height, "fading: the needle's score over the competitors' standard deviation",
      [](double) { return true; }, "a number");
  const auto read_gap = [&o](const std::string& text) { o.gap = parse_number("--gap", text); };
  add_read(app, "--gap", read_gap,
           "fading: the needle's score above the competitors' mean, in units of the scores, in place of --height",
           "NUMBER");
  add_positive_numbers(
      app, "--weights", o.weights,
      "fading: weights below 1 of which the critical length is shown, the longest row that keeps them");
  add_positive_numbers(app, "--heights", o.heights,
                       "retrieval, bounded: the needle's score over the one with weight 1/2");
  add_count<std::int64_t>(app, "--points", o.points, "diagram: cells per side", 1, 300);
  head_options(app, "Figures");
  const auto read_most_scores = [&o](const std::string& text) {
    o.most_scores = parse_count<std::int64_t>("--most-scores", text, 1, std::numeric_limits<std::int64_t>::max());
  };
  add_read(app, "--most-scores", read_most_scores,
           "Scores that one simulation draws at most: longer rows have fewer trials, at least 128; default 1e7, "
           "phase 1.5e7, retrieval 3e7",
           "N");
  add_run_options(app, o.simulation);
  add_no_simulation_option(app, o.simulation);
  add_run_output_options(app, o.output);
}

namespace {

std::vector<std::string> unused_by(FadingFigure figure) {
  switch (figure) {
    case FadingFigure::phase:
      return {"--s", "--variance", "--height", "--gap", "--weights", "--heights", "--points"};
    case FadingFigure::fading:
      return {"--score-stddevs", "--heights", "--points"};
    case FadingFigure::retrieval:
      return {"--score-stddevs", "--height", "--gap", "--weights", "--points"};
    case FadingFigure::bounded:
      return {"--variance", "--score-stddevs", "--height", "--gap", "--weights", "--points"};
    case FadingFigure::optimum:
      return {"--s", "--variance", "--score-stddevs", "--height", "--gap", "--heights", "--weights", "--points"};
    case FadingFigure::diagram:
      break;
  }
  return {"--s", "--variance", "--score-stddevs", "--height", "--gap", "--weights", "--heights"};
}

}  // namespace

UnusedOptions check_combination(const CLI::App& app, const FadingOptions& o) {
  UnusedOptions unused(app);
  unused.add("--figure " + text_of(app, "--figure"), unused_by(o.figure));
  if (o.gap) {
    if (is_given(app, "--height")) throw InputError("--gap and --height exclude each other");
    unused.add("--gap", {"--height"});
  }
  for (const double weight : o.weights) {
    if (!(weight < 1)) throw_input_error("--weights", "is not below 1", weight, "0 < value < 1");
  }
  // With --relative-error the run chooses the number of rows. The phases keep every row for their medians, so they
  // still draw at most this number of scores.
  if (o.simulation.relative_error > 0 && o.figure != FadingFigure::phase) {
    unused.add("--relative-error", {"--most-scores"});
  }
  if (o.simulation.none) unused.add("--no-simulation", {"--most-scores", "--audit"});
  add_unused_run_options(unused, o.simulation, o.output, o.figure == FadingFigure::diagram);
  return unused;
}

}  // namespace incontext::examples::fading
