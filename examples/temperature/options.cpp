#include "examples/temperature/options.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "examples/support/data_table.hpp"

namespace incontext::examples::temperature {

namespace {

void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& target,
              const std::string& description) {
  const auto read = [&target, name](const std::string& text) {
    target = parse_list(text);
    if (std::find(target.begin(), target.end(), "") != target.end()) {
      throw_input_error(name, "has an empty name", text, "NAME,NAME,...");
    }
  };
  add_read(app, name, read, description, "NAME,NAME,...");
}

void add_law_options(CLI::App& app, TemperatureOptions& o) {
  add_positive_numbers(app, "--temperatures", o.temperatures, "Temperatures to show beside 1 and the optimal one");
  add_regression_law_options(app, o.law);
  add_choice<regression::QueryToken>(
      app, "--query", o.reading.convention.query, "Whether the query attends to itself too",
      {{"excluded", regression::QueryToken::excluded}, {"included", regression::QueryToken::included}});
  show_no_default(
      add_choice<regression::Offset>(app, "--offset", o.reading.convention.offset,
                                     "The temperature-free part of the prediction: figures remove it, as the paper "
                                     "does, and other tables keep it",
                                     {{"kept", regression::Offset::kept}, {"removed", regression::Offset::removed}}));
  add_choice<ScoringChoice>(app, "--scoring", o.reading.scoring, "From scores to weights",
                            {{"approximate-softmax", ScoringChoice::approximate_softmax},
                             {"linear", ScoringChoice::linear},
                             {"softmax", ScoringChoice::softmax}});
  show_no_default(add_choice<simulate::Estimator>(
      app, "--estimator", o.reading.estimator,
      "What a trial averages in closed form: figures of approximate softmax and linear attention draw sufficient "
      "statistics, all else is literal",
      {{"literal", simulate::Estimator::literal},
       {"conditional", simulate::Estimator::conditional},
       {"sufficient-statistics", simulate::Estimator::sufficient_statistics}}));
}

void add_figure_options(CLI::App& app, TemperatureOptions& o) {
  const auto read_figure = [&o](const std::string& name) {
    const auto& names = figure_names();
    if (std::find(names.begin(), names.end(), name) == names.end()) throw_unknown_word("--figure", name, names);
    o.figure = name;
  };
  add_read(app, "--figure", read_figure, "A figure of the paper", "2a|2b|2c|3a|3b|3c|6|7|mean-shift|scores");
  add_counts(app, "--context-lengths", o.context_lengths, "Context lengths of figures 2a, 2c, 3a", 2, 100000000);
  add_positive_numbers(app, "--shifts", o.shifts, "Values the shifted quantity takes in the other figures");
}

void add_data_options(CLI::App& app, TemperatureOptions& o) {
  add_input(app, "--data", o.data,
            "Real inputs: rows of a .npy or .csv file; , ; tabs or blanks separate, # begins a comment");
  add_list(app, "--columns", o.columns,
           "Input columns of --data (1,2,... without names); all but the labels if absent");
  add_list(app, "--without", o.without, "Columns of --data that are no inputs");
  add_text(app, "--labels", o.labels, "Column of --data with the rows' own labels", "NAME");
  add_flag(app, "--center", o.center, "Shift every input column of --data to mean 0");
  add_flag(app, "--standardize", o.standardize, "Shift and scale every column of --data to mean 0, variance 1");
  add_flag(app, "--no-header", o.no_header, "The first line of --data is a row: a CSV file without column names");
  add_list(app, "--missing", o.missing,
           "What stands for a missing number, besides an empty cell, NA, NaN, null and None");
  add_flag(app, "--drop-missing", o.drop_missing, "Leave out rows of --data in which a number is missing");
  add_input(app, "--scores", o.scores,
            "Raw attention scores, queries x keys, -inf for a mask: the moment-ratio temperature");
  add_flag(app, "--causal", o.causal,
           "A query of --scores does not see later keys; fewer queries than keys are the last ones");
  add_flag(app, no_finite_masks, o.no_finite_masks,
           "Every finite number of --scores is a score; without this one of at most -5000 can be a mask");
  const auto read_self_column = [&o](const std::string& text) {
    o.self_column = parse_count<std::int64_t>("--self-column", text, 1, std::numeric_limits<std::int64_t>::max());
  };
  add_read(app, "--self-column", read_self_column,
           "Column of --scores, from 1, of the self-scores; the diagonal if absent", "N");
  add_input(app, "--self-scores", o.self_scores, "Each query's score on itself, if --scores does not hold it");
}

}  // namespace

const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names{"2a", "2b", "2c", "3a", "3b", "3c", "6", "7", "mean-shift", "scores"};
  return names;
}

void add_temperature_options(CLI::App& app, TemperatureOptions& o) {
  add_figure_options(app, o);
  head_options(app, "Figures");
  add_law_options(app, o);
  head_options(app, "Pretraining and test laws");
  add_data_options(app, o);
  head_options(app, "Real data");
  add_simulation_options(app, o.simulation);
  add_no_simulation_option(app, o.simulation);
  add_run_output_options(app, o.output);
}

namespace {

using Names = std::vector<std::string>;

/// The options that each figure sets itself or does not use.
Names unused_by_figure(const std::string& figure) {
  if (figure == "2a" || figure == "3a") return {"--context-length", "--shifts"};
  if (figure == "2c") return {"--context-length"};
  if (figure == "3b") return {"--context-lengths", "--test-noise-variance"};
  if (figure == "3c") return {"--context-lengths", "--test-noise-variance", "--scoring"};
  if (figure == "6") return {"--context-lengths", "--scoring"};
  if (figure == "mean-shift") return {"--context-lengths", "--mean-shift", "--scoring"};
  if (figure == "scores") {
    return {"--context-lengths",     "--scoring",    "--query",      "--offset",         "--estimator",
            "--test-noise-variance", "--task-scale", "--mean-shift", "--test-task-mean", "--test-task-covariance"};
  }
  return {"--context-lengths"};
}

void add_unused_by_data(UnusedOptions& unused, const TemperatureOptions& o) {
  unused.add("--data",
             {"--dimension", "--input-variance", "--task-variance", "--input-covariance", "--test-input-covariance",
              "--test-task-covariance", "--task-mean", "--test-task-mean", "--mean-shift", "--query", "--estimator"});
  if (!o.labels.empty()) unused.add("--labels", {"--input-scale", "--task-scale", "--test-noise-variance"});
  if (o.standardize) unused.add("--standardize", {"--center"});
  if (!o.columns.empty()) unused.add("--columns", {"--without"});
}

}  // namespace

UnusedOptions check_combination(const CLI::App& app, TemperatureOptions& o) {
  complete_regression_law(app, o.law);
  const bool figure = !o.figure.empty(), data = !o.data.empty(), scores = !o.scores.empty();
  if (figure + data + scores > 1) throw InputError("--figure, --data and --scores exclude each other");
  if (data && o.reading.scoring == ScoringChoice::linear) {
    throw_input_error("--scoring", "does not go with --data", "linear", "approximate-softmax or softmax");
  }
  using regression::Offset;
  const bool softmax = o.reading.scoring == ScoringChoice::softmax;
  const bool included = o.reading.convention.query == regression::QueryToken::included;
  if (!is_given(app, "--offset") && figure && !softmax) o.reading.convention.offset = Offset::removed;
  if (!is_given(app, "--estimator") && figure && !softmax && !included) {
    o.reading.estimator = simulate::Estimator::sufficient_statistics;
  }
  if (o.reading.estimator != simulate::Estimator::literal) {
    const std::string estimator = text_of(app, "--estimator");
    if (included) throw_input_error("--estimator", "does not support --query included", estimator, "literal");
    if (softmax) throw_input_error("--estimator", "does not support --scoring softmax", estimator, "literal");
  }
  UnusedOptions unused(app);
  add_unused_variances(unused, o.law);
  if (!figure) unused.add("no --figure", {"--context-lengths", "--shifts"});
  if (!data)
    unused.add("no --data", {"--columns", "--without", "--labels", "--center", "--standardize", "--no-header",
                             "--missing", "--drop-missing"});
  if (!scores) unused.add("no --scores", {"--self-column", "--self-scores", "--causal", no_finite_masks});
  if (figure) {
    unused.add("--figure", {"--temperatures"});
    unused.add("--figure " + o.figure, unused_by_figure(o.figure));
  }
  if (data) add_unused_by_data(unused, o);
  if (!o.columns.empty()) unused.add("--columns", {"--without"});
  if (!scores && o.reading.scoring != ScoringChoice::approximate_softmax) {
    unused.add("--scoring " + text_of(app, "--scoring"), {"--offset"});
  }
  if (scores) {
    unused.add("--scores", regression_law_names());
    unused.add("--scores",
               {"--temperatures", "--query", "--offset", "--scoring", "--estimator", "--dimension", "--context-length",
                "--trials", "--relative-error", "--seed", "--device", "--threads", "--checkpoint", "--resume", "--part",
                "--replace-by-partial", "--no-simulation", "--audit"});
    if (o.self_column && !o.self_scores.empty()) throw InputError("--self-column and --self-scores exclude each other");
    if (o.self_column) unused.add("--self-column", {"--causal"});
    if (!o.self_scores.empty()) unused.add("--self-scores", {"--causal"});
  } else {
    add_unused_run_options(unused, o.simulation, o.output);
  }
  return unused;
}

void state_reading(const TemperatureOptions& o, nlohmann::ordered_json& arguments) {
  if (!o.data.empty()) return;
  if (o.reading.scoring == ScoringChoice::approximate_softmax) {
    arguments["offset"] = o.reading.convention.offset == regression::Offset::removed ? "removed" : "kept";
  }
  const simulate::Estimator estimator = o.reading.estimator;
  arguments["estimator"] = estimator == simulate::Estimator::literal       ? "literal"
                           : estimator == simulate::Estimator::conditional ? "conditional"
                                                                           : "sufficient-statistics";
}

}  // namespace incontext::examples::temperature
