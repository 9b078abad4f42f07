#include "examples/fading/options.hpp"

#include <string>

namespace incontext::examples {

void add_fading_options(CLI::App& app, FadingOptions& o) {
  const auto positive = [](double value) { return value > 0; };
  add_choice<FadingFigure>(app, "--figure", o.figure, "What to show, see above",
                           {{"phase", FadingFigure::phase},
                            {"fading", FadingFigure::fading},
                            {"retrieval", FadingFigure::retrieval},
                            {"bounded", FadingFigure::bounded},
                            {"diagram", FadingFigure::diagram}});
  const auto read_lengths = [&o](const std::string& text) {
    o.lengths.clear();
    for (const std::string& part : parse_list(text)) {
      o.lengths.push_back(parse_count<std::int64_t>("--lengths", part, 3, 1000000000));
    }
  };
  add_read(app, "--lengths", read_lengths, "Lengths n of the rows", "N,N,...");
  add_number(app, "--s", o.scale, "SSMax's s: its inverse temperature is s log n", positive, "0 < value");
  add_number(app, "--variance", o.variance, "Variance of the normal competitors' scores", positive, "0 < value");
  add_positive_numbers(app, "--spreads", o.spreads,
                       "phase: inverse temperature times standard deviation, over sqrt(2 log n)");
  add_number(
      app, "--height", o.height, "fading: the needle's score over the competitors' standard deviation",
      [](double) { return true; }, "a number");
  add_positive_numbers(app, "--heights", o.heights,
                       "retrieval, bounded: the needle's score over the one with weight 1/2");
  add_count<std::int64_t>(app, "--points", o.points, "diagram: cells a side", 1, 1000);
  head_options(app, "Figures");
  add_count<std::int64_t>(app, "--most-scores", o.most_scores,
                          "Scores one simulation draws at most: longer rows, fewer trials, down to 128", 1);
  add_run_options(app, o.simulation);
  add_output_options(app, o.output);
}

void check_combination(const CLI::App& app, const FadingOptions& o) {
  switch (o.figure) {
    case FadingFigure::phase:
      return detail::refuse_unused(app, "--figure phase", {"--s", "--variance", "--height", "--heights", "--points"});
    case FadingFigure::fading:
      return detail::refuse_unused(app, "--figure fading", {"--spreads", "--heights", "--points"});
    case FadingFigure::retrieval:
      return detail::refuse_unused(app, "--figure retrieval", {"--spreads", "--height", "--points"});
    case FadingFigure::bounded:
      return detail::refuse_unused(app, "--figure bounded", {"--variance", "--spreads", "--height", "--points"});
    case FadingFigure::diagram:
      return detail::refuse_unused(app, "--figure diagram",
                                   {"--s", "--variance", "--spreads", "--height", "--heights"});
  }
}

}  // namespace incontext::examples
