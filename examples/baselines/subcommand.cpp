// incontext baselines: the curves that figures of in-context linear regression show for reference, exact at finite
// size, beside the same run on drawn contexts.

#include <incontext/baselines/reference_curves.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/baselines/simulator.hpp"
#include "examples/incontext/subcommand.hpp"

namespace incontext::examples::baselines {

namespace {

using Settings = incontext::baselines::CurveSettings<double>;

struct BaselineOptions {
  Settings settings = {.dimension = 20, .noise_variance = 0.1, .task_variance = 1.0 / 20};
  std::vector<std::int64_t> lengths = {1, 2, 5, 10, 20, 40, 80, 160};
  bool without_query_noise = false;
  SimulationOptions simulation = {};
  OutputOptions output = {};
};

void add_options(CLI::App& app, BaselineOptions& o) {
  const auto positive = [](double value) { return value > 0; };
  const auto not_negative = [](double value) { return value >= 0; };
  add_count<std::int64_t>(app, "--dimension", o.settings.dimension, "Dimension d of the inputs", 1, 1000);
  add_counts(app, "--context-lengths", o.lengths, "Numbers of examples in a context", 0, 1000000);
  add_number(app, "--noise-variance", o.settings.noise_variance, "Variance of the labels' noise", not_negative,
             "0 <= value");
  show_no_default(add_number(app, "--task-variance", o.settings.task_variance,
                             "Variance of each entry of the task; one over the dimension if absent", positive,
                             "0 < value"));
  add_number(app, "--input-variance", o.settings.input_variance, "Variance of each entry of the inputs", positive,
             "0 < value");
  add_counts(app, "--layers", o.settings.layers,
             "Numbers of layers of linear attention, each layer with a step size of its own; 1,2,4 without --looped", 0,
             64);
  add_counts(app, "--looped", o.settings.looped, "How often one layer of linear attention is applied", 0, 64);
  add_flag(app, "--averaging", o.settings.averaging, "A curve of the mean of label times input");
  add_counts(app, "--neighbors", o.settings.neighbors, "Numbers of nearest neighbors whose labels are averaged", 1,
             1000000);
  using incontext::baselines::MixerKind;
  std::vector<std::pair<std::string, MixerKind>> mixers;
  for (const auto kind : {MixerKind::linear_attention, MixerKind::gated_linear_attention, MixerKind::delta_rule,
                          MixerKind::gated_delta_rule, MixerKind::gated_delta_net}) {
    std::string word = mixer_name(kind);
    std::replace(word.begin(), word.end(), '_', '-');
    mixers.emplace_back(word, kind);
  }
  add_choices(app, "--mixers", o.settings.mixers, "Sequence mixers, each with its best rate and gate at each length",
              mixers);
  head_options(app, "Setting");
  add_counts(app, "--pretraining-tasks", o.settings.pretraining_tasks,
             "Numbers of tasks that a layer of linear attention is pretrained on, without end", 1, 1000000);
  add_count<std::int64_t>(app, "--pools", o.settings.pool_draws.pools, "Number of pools of tasks that are averaged", 2,
                          1000000);
  add_count<std::uint64_t>(app, "--pool-seed", o.settings.pool_draws.seed, "Seed of the pools", 0);
  add_counts(app, "--sgd-tasks", o.settings.sgd_tasks,
             "Numbers of tasks, each seen once, after which SGD on a layer of linear attention ends", 1, 1000000000000);
  head_options(app, "Pretraining");
  add_flag(app, "--without-query-noise", o.without_query_noise,
           "Measure the error on the query's label without its noise");
  add_flag(app, "--per-dimension", o.settings.per_dimension, "Divide errors by the dimension");
  head_options(app, "Units");
  add_run_options(app, o.simulation);
  add_no_simulation_option(app, o.simulation);
  add_run_output_options(app, o.output);
}

UnusedOptions complete(const CLI::App& app, BaselineOptions& o) {
  UnusedOptions unused(app);
  add_unused_run_options(unused, o.simulation, o.output);
  if (!is_given(app, "--layers") && !is_given(app, "--looped")) o.settings.layers = {1, 2, 4};
  if (!is_given(app, "--task-variance")) o.settings.task_variance = 1 / static_cast<double>(o.settings.dimension);
  o.settings.query_noise = !o.without_query_noise;
  if (o.settings.pretraining_tasks.empty()) unused.add("no --pretraining-tasks", {"--pools", "--pool-seed"});
  return unused;
}

std::string heading_of(std::string name) {
  if (name.starts_with("sgd_")) return name.substr(4) + " SGD tasks";
  if (name.starts_with("pool_")) {
    const std::size_t end = name.find('_', 5);
    return name.substr(5, end - 5) + (end == std::string::npos ? " tasks, new" : " tasks, seen");
  }
  if (name.starts_with("neighbors_")) name = name.substr(10) + " neighbors";
  const bool counted = name.starts_with("layers_") || name.starts_with("looped_");
  if (counted) name = name.substr(7) + (name.starts_with("layers_") ? " layers" : " rounds");
  for (char& c : name) c = c == '_' ? ' ' : c;
  for (const std::string plural : {"1 layers", "1 rounds", "1 tasks", "1 SGD tasks", "1 neighbors"}) {
    if (name.starts_with(plural)) name.erase(plural.size() - 1, 1);
  }
  return name;
}

/// What the errors are errors of, and their units, for a title.
std::string in_words(const Settings& settings) {
  return "d = " + std::to_string(settings.dimension) + ", noise " + short_text(settings.noise_variance, 4) +
         ", each entry of the task N(0, " + short_text(settings.task_variance, 4) + "), of an input N(0, " +
         short_text(settings.input_variance, 4) + "); " +
         (settings.query_noise ? "on a label with its noise" : "on a label without its noise") +
         (settings.per_dimension ? ", divided by d" : "");
}

Table curve_table(const std::vector<incontext::baselines::Curve<double>>& curves,
                  const std::vector<std::int64_t>& lengths, const Settings& settings) {
  Table table{.name = "curves",
              .title = "Mean squared errors of predictors: " + in_words(settings),
              .columns = {{.name = "context_length", .heading = "examples"}},
              .notes = {settings.pretraining_tasks.empty() ? "Exact at this size."
                                                           : "Exact at this size, but for means over pools.",
                        "bayes is the floor that no reader of the context can be below; least "
                        "squares, of least norm, has no mean where examples and dimensions differ by at most one."},
              .audit_notes = {"bayes limit is that of bayes for large sizes."},
              .key_columns = 1};
  if (!settings.pretraining_tasks.empty()) {
    table.notes.push_back(
        "K tasks, new and seen: a layer of linear attention pretrained without end on K tasks, on new "
        "tasks and on those; the mean over " +
        std::to_string(settings.pool_draws.pools) +
        " drawn pools, +- its standard error. Seen tasks may have less error than bayes, which knows the prior and not "
        "the K tasks.");
  }
  if (!settings.sgd_tasks.empty()) {
    table.notes.push_back(
        "T SGD tasks: a layer of linear attention after T tasks, each seen once, at the constant "
        "learning rate that is best for T.");
  }
  if (!settings.pretraining_tasks.empty() || !settings.sgd_tasks.empty()) {
    table.notes.push_back("Pretraining is not simulated here: the tests of the library do that.");
  }
  if (settings.averaging || !settings.neighbors.empty() || !settings.mixers.empty()) {
    table.notes.push_back(
        "Averaging, neighbors and mixers are not simulated here: the tests of the library do that. K neighbors: the "
        "mean "
        "label of the K nearest examples, or of all where these are fewer.");
  }
  for (const auto& curve : curves) {
    table.columns.push_back({.name = curve.name, .heading = heading_of(curve.name), .decimals_as = 1});
    if (curve.name == "bayes_limit") table.columns.back().in_text = InText::audit;
    if (curve.standard_errors.empty()) continue;
    table.columns.push_back({.name = curve.name + "_standard_error", .heading = "+-", .digits = 2});
  }
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    std::vector<Cell> cells = {lengths[k]};
    for (const auto& curve : curves) {
      cells.emplace_back(curve.values[k]);
      if (!curve.standard_errors.empty()) cells.emplace_back(curve.standard_errors[k]);
    }
    table.add_row(std::move(cells));
  }
  return table;
}

/// An error on the noisy label in the units of the settings.
double in_units(double error, const Settings& settings) {
  const double counted = settings.query_noise ? error : error - settings.noise_variance;
  return settings.per_dimension ? counted / static_cast<double>(settings.dimension) : counted;
}

statistics::Estimate in_units(statistics::Estimate estimate, const Settings& settings) {
  const double scale = settings.per_dimension ? static_cast<double>(settings.dimension) : 1;
  estimate.mean = in_units(estimate.mean, settings);
  estimate.standard_error /= scale;
  estimate.rounding /= scale;
  return estimate;
}

/// The curves at one length beside the same readers on drawn contexts.
void add_simulated(Table& table, const BaselineOptions& o, std::int64_t length, Simulator& simulator,
                   Judgment& judgment, Controls& controls) {
  namespace exact = incontext::baselines;
  const exact::TaskVariances<double> task = exact::standardized(o.settings);
  const exact::WishartSpectrum<double> spectrum(length, o.settings.dimension);
  simulate::BaselineSetting setting{.dimension = o.settings.dimension, .examples = length, .task = task};
  std::vector<std::pair<std::string, double>> exacts;
  const auto add_descent = [&](const std::string& name, const exact::DescentLayers<double>& layers) {
    setting.descents.push_back(layers.learning_rates);
    exacts.emplace_back(heading_of(name), layers.risk);
  };
  for (const auto count : o.settings.layers) {
    add_descent("layers_" + std::to_string(count), optimal_layers(spectrum, task, count));
  }
  for (const auto count : o.settings.looped) {
    add_descent("looped_" + std::to_string(count), looped_layers(spectrum, task, count));
  }
  // four moments of its error exist, and it is not 0 but for rounding
  const bool is_least_squares_judged = length >= o.settings.dimension + 8 && task.noise_variance > 0;
  if (is_least_squares_judged) {
    setting.penalties.push_back(0);
    exacts.emplace_back("least squares", exact::least_squares_risk(length, o.settings.dimension, task));
  }
  const bool has_bayes = task.noise_variance > 0;
  if (has_bayes) {
    setting.penalties.push_back(task.noise_variance / task.task_variance);
    exacts.emplace_back("bayes", bayes_risk(spectrum, task));
  }
  if (exacts.empty()) return;
  const std::vector<statistics::Estimate> estimates = simulator.errors(setting);
  for (std::size_t k = 0; k < exacts.size(); ++k) {
    table.add_row({length, exacts[k].first},
                  judgment.judged(in_units(exacts[k].second, o.settings), in_units(estimates[k], o.settings)));
  }
  if (!has_bayes) return;
  const Eigen::VectorXd eigenvalues = Eigen::VectorXd::Constant(o.settings.dimension, task.task_variance);
  const double limit = exact::corrected_bayes_risk<double>(eigenvalues, task.noise_variance, length).limit;
  controls.add({std::string("bayes limit"), length}, in_units(limit, o.settings),
               in_units(exacts.back().second, o.settings), in_units(estimates.back(), o.settings));
}

Report report_of(const CLI::App& app, BaselineOptions& o) {
  Report report = report_on(app, complete(app, o));
  report.arguments["layers"] = o.settings.layers;
  Controls controls({{"statement"}, {.name = "context_length", .heading = "examples"}});
  Simulator simulator(o.simulation, o.output.quiet);
  return judged(std::move(report), simulator, controls, [&](Report&, Judgment& judgment) {
    std::vector<Table> tables = {curve_table(reference_curves(o.settings, o.lengths), o.lengths, o.settings)};
    if (o.simulation.none) return tables;
    Table table{.name = "simulated",
                .title = "The same run on drawn contexts",
                .columns = {{.name = "context_length", .heading = "examples"}, {"reader"}},
                .notes = {"Rows of one length share their draws, so their z are correlated. Least squares is simulated "
                          "from d + 8 examples on, where its errors have four moments."},
                .key_columns = 2,
                .audit = true};
    for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
    for (const std::int64_t length : o.lengths) {
      if (length > 0) add_simulated(table, o, length, simulator, judgment, controls);
    }
    tables.push_back(std::move(table));
    return tables;
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<BaselineOptions>(
      {.name = "baselines",
       .question = "Which reference curves does a figure of in-context regression need, exactly at its size?",
       .description =
           "The reference curves of in-context linear regression, exact at finite size, inputs N(0, c I) and tasks\n"
           "N(0, t I): the Bayes floor, least squares, layers of linear attention as gradient steps with the best "
           "step\n"
           "sizes, the answer 0; beside the same run on drawn contexts. The limit of large sizes is a negative "
           "control.\n"
           "A layer that was pretrained on a few tasks, or stopped after some tasks of SGD, is a curve of its own.\n" +
           std::string(exit_codes_help),
       .footer =
           "\nExamples:\n"
           "  incontext baselines --dimension 10 --context-lengths 5,10,20,40\n"
           "  incontext baselines --input-variance 0.05 --task-variance 1 --noise-variance 0.25 --per-dimension\n"
           "  incontext baselines --layers 1,2,3 --looped 2,3 --no-simulation --format csv --output curves.csv\n"
           "  incontext baselines --pretraining-tasks 10,100 --sgd-tasks 1000,10000 --no-simulation\n"
           "  incontext baselines --averaging --neighbors 3 --mixers delta-rule,gated-delta-net --no-simulation\n"},
      add_options, report_of);
}

}  // namespace incontext::examples::baselines
