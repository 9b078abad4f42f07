#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "examples/scores/maps.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/data_table.hpp"
#include "examples/support/unused_options.hpp"

/// The options of incontext scores, and the check of their combinations.
namespace incontext::examples::scores {

struct ScoresOptions {
  std::string figure = {};
  std::vector<std::int64_t> lengths = {};
  std::vector<double> temperatures = {};
  double gap = 5;

  Numbers row = {};
  std::string scores = {};
  std::string map = "softmax";
  Numbers direction = {};
  std::string weights = {};
  bool causal = false;
  bool no_finite_masks = false;
  bool norms = false;

  MapParameters parameters = {};
  OutputOptions output = {};
};

/// The figures, what they show, and the options that change them.
struct FigureEntry {
  std::string name;
  std::string meaning;
  std::vector<std::string> options;
};

inline const std::vector<FigureEntry>& figure_entries() {
  static const std::vector<FigureEntry> entries{
      {"approximation",
       "softmax, its linearization and linear attention (2511.01292 Fig. 1)",
       {"--row", "--temperatures"}},
      {"ssa-base", "the functions SSA puts in place of e^z (2508.14685 Fig. 5)", {}},
      {"ssmax-fading",
       "one score above n - 1 equal ones (2501.19399 Fig. 1)",
       {"--lengths", "--gap", "--s", "--base", "--exponent"}},
      {"ssmax-threshold", "one score against an even grid (2501.19399 Fig. 3)", {"--lengths", "--s"}},
      {"deviant",
       "one deviant token among normal ones, map by map",
       {"--lengths", "--s", "--base", "--exponent", "--alpha"}},
      {"prompt", "a hand-built head on the prompt 1 T -2 F 3 F 70 (2508.14685 Fig. 2)", {}},
      {"normsoftmax-bound", "the largest weight NormSoftmax can give", {"--lengths"}}};
  return entries;
}

namespace detail {

/// Scores between commas: finite numbers, or -inf where a key is masked.
inline Numbers parse_scores(const std::string& name, const std::string& text, bool masks) {
  Numbers numbers;
  for (const std::string& part : parse_number_list(name, text)) {
    const bool masked = masks && names_minus_infinity(part);
    numbers.push_back(masked ? -std::numeric_limits<double>::infinity() : parse_number(name, part));
  }
  return numbers;
}

inline void add_figure_options(CLI::App& app, ScoresOptions& o) {
  std::string known, listed = "One of:";
  for (const FigureEntry& entry : figure_entries()) {
    known += (known.empty() ? "" : "|") + entry.name;
    listed += "\n" + entry.name + std::string(18 - entry.name.size(), ' ') + entry.meaning;
  }
  const auto read_figure = [&o, known](const std::string& name) {
    for (const FigureEntry& entry : figure_entries()) {
      if (entry.name == name) o.figure = name;
    }
    if (o.figure.empty()) throw_input_error("--figure", "is unknown", name, known);
  };
  add_read(app, "--figure", read_figure, listed, "NAME");
  add_counts(app, "--lengths", o.lengths, "Row lengths n, all figures but the first two", 2, 10000000);
  add_positive_numbers(app, "--temperatures", o.temperatures, "Temperatures of --figure approximation");
  add_number(
      app, "--gap", o.gap, "Gap of the one score in --figure ssmax-fading",
      [](double value) { return value > 0 && value <= 300; }, "0 < value <= 300");
}

inline void add_row_options(CLI::App& app, ScoresOptions& o) {
  const auto read_row = [&o](const std::string& text) { o.row = parse_scores("--row", text, true); };
  const auto read_map = [&o](const std::string& name) {
    std::vector<std::string> known;
    maps::for_each_named_map<double>([&](const auto& entry) { known.emplace_back(entry.name); });
    if (std::find(known.begin(), known.end(), name) == known.end()) throw_unknown_word("--map", name, known);
    o.map = name;
  };
  const auto read_direction = [&o](const std::string& text) { o.direction = parse_scores("--direction", text, false); };
  std::string listed = "How scores become weights:";
  maps::for_each_named_map<double>([&](const auto& entry) {
    listed += "\n" + std::string(entry.name) + std::string(23 - entry.name.size(), ' ') + std::string(entry.meaning);
  });
  add_read(app, "--row", read_row, "One row of scores; -inf masks a key", "X,X,...");
  add_input(app, "--scores", o.scores, "A matrix of scores, queries x keys, .npy or .csv; -inf masks a key");
  add_flag(app, "--causal", o.causal,
           "A query of --scores does not see later keys; fewer queries than keys are the last ones");
  add_flag(app, no_finite_masks, o.no_finite_masks,
           "Every finite score is a score; without this one of at most -5000 can be a mask");
  add_read(app, "--map", read_map, listed, "NAME", o.map);
  add_read(app, "--direction", read_direction, "Change of the scores of --row: shows the change of the weights",
           "X,X,...");
  add_flag(app, "--norms", o.norms, "Norms of the Jacobian of every row");
  add_written(app, "--weights", o.weights, "Write the weights to this .npy file");
}

inline void add_map_options(CLI::App& app, MapParameters& p) {
  const auto positive = [](double value) { return value > 0; };
  const auto any = [](double) { return true; };
  add_number(app, "--temperature", p.temperature, "tau, the largest divisor of NormSoftmax", positive, "0 < value");
  add_number(app, "--s", p.s, "SSMax: factor of log n", any, "a number");
  add_number(app, "--bias", p.bias, "SSMax: added to s log n", any, "a number");
  add_number(app, "--base", p.base, "SSA: b", positive, "0 < value");
  add_number(
      app, "--exponent", p.exponent, "SSA: k", [](double value) { return value >= 1; }, "1 <= value");
  add_number(
      app, "--alpha", p.alpha, "entmax: alpha", [](double value) { return value > 0 && value != 1; },
      "0 < value < 1 or 1 < value");
  add_choice<scoring::ScoreScale>(app, "--score-scale", p.scale, "NormSoftmax: what scale of the scores",
                                  {{"population", scoring::ScoreScale::population_stddev},
                                   {"sample", scoring::ScoreScale::sample_stddev},
                                   {"variance", scoring::ScoreScale::population_variance}});
  add_choice<scoring::ScoreNormalization>(app, "--over", p.over, "Linear, average, tanh, relu, square: divided by",
                                          {{"n", scoring::ScoreNormalization::context_length},
                                           {"none", scoring::ScoreNormalization::none},
                                           {"sum", scoring::ScoreNormalization::sum},
                                           {"absolute-sum", scoring::ScoreNormalization::absolute_sum}});
}

/// The names in `all` that are not in `used`.
inline std::vector<std::string> others(const std::vector<std::string>& all, const std::vector<std::string>& used) {
  std::vector<std::string> unused;
  for (const std::string& name : all) {
    if (std::find(used.begin(), used.end(), name) == used.end()) unused.push_back(name);
  }
  return unused;
}

}  // namespace detail

inline void add_scores_options(CLI::App& app, ScoresOptions& o) {
  detail::add_figure_options(app, o);
  head_options(app, "Figures");
  detail::add_row_options(app, o);
  head_options(app, "Rows of scores");
  detail::add_map_options(app, o.parameters);
  head_options(app, "Parameters of the map");
  add_output_options(app, o.output);
}

/// Checks options that depend on each other, and finds those without effect.
inline UnusedOptions check_combination(const CLI::App& app, const ScoresOptions& o) {
  const std::vector<std::string> parameters{"--temperature", "--s",     "--bias",        "--base",
                                            "--exponent",    "--alpha", "--score-scale", "--over"};
  const std::vector<std::string> of_figures{"--lengths", "--temperatures", "--gap"};
  const std::vector<std::string> of_rows{"--row", "--scores",    "--causal", no_finite_masks,
                                         "--map", "--direction", "--norms",  "--weights"};
  const bool figure = !o.figure.empty(), scores = !o.scores.empty(), row = !o.row.empty();
  if (!figure && !scores && !row) {
    throw InputError("nothing to do: needs --figure NAME, --row X,X,... or --scores FILE (see --help)");
  }
  UnusedOptions unused(app);
  if (figure) {
    for (const FigureEntry& entry : figure_entries()) {
      if (entry.name != o.figure) continue;
      for (const auto* group : {&of_figures, &of_rows, &parameters}) {
        unused.add("--figure " + o.figure, detail::others(*group, entry.options));
      }
    }
    constexpr double largest_s = 1e6;  // above that, the rounding of a threshold changes the weights there visibly
    if (!(0 < o.parameters.s && o.parameters.s <= largest_s)) {
      throw_input_error("--s", "is out of range", o.parameters.s, "0 < value <= 1000000 with --figure");
    }
    return unused;
  }
  if (scores && row) throw InputError("--row and --scores exclude each other");
  unused.add("no --figure", of_figures);
  if (row) unused.add("--row", {"--causal"});
  if (scores) unused.add("--scores", {"--direction"});
  unused.add("--map " + o.map, detail::others(parameters, options_of(maps::find_map<double>(o.map))));
  if (o.map == "linear" && o.parameters.over != scoring::ScoreNormalization::context_length &&
      o.parameters.over != scoring::ScoreNormalization::none) {
    throw InputError("--over: has no such choice with --map linear (needs n or none)");
  }
  if (!o.direction.empty() && o.direction.size() != o.row.size()) {
    throw_input_error("--direction", "has the wrong size", o.direction.size(),
                      std::to_string(o.row.size()) + " numbers");
  }
  return unused;
}

}  // namespace incontext::examples::scores
