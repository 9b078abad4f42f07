#include "examples/train/reasoning.hpp"

#include <incontext/statistics/estimate.hpp>
#include <incontext/training/reasoning_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "examples/support/text.hpp"
#include "examples/train/binomial_interval.hpp"

namespace incontext::examples::train {

namespace {

using statistics::Estimate;
using training::ReasoningAnswers;
using training::ReasoningMeasurement;
using Course = std::vector<ReasoningMeasurement>;

/// The values of the task, as in the paper.
constexpr int largest_value = 10;

/// What training to the plateau may leave, as a share of its loss.
constexpr double unreached = 0.002;

/// The steps in which a block learns all that answers by a coin can teach.
constexpr std::int64_t coin_steps = 300;

/// Narrower blocks are further from the plateau after as many steps.
constexpr std::int64_t coin_width = 64;

const std::vector<std::pair<std::string, ReasoningMethod>>& methods() {
  static const std::vector<std::pair<std::string, ReasoningMethod>> all{
      {"softmax", ReasoningMethod::softmax},
      {"normsoftmax", ReasoningMethod::normsoftmax},
      {"heat-treatment", ReasoningMethod::heat_treatment},
      {"low-temperature", ReasoningMethod::low_temperature},
      {"gradient-matching", ReasoningMethod::gradient_matching}};
  return all;
}

ReasoningMethod method_of(const std::string& name) {
  const auto has_name = [&](const auto& method) { return method.first == name; };
  return std::find_if(methods().begin(), methods().end(), has_name)->second;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const auto& [name, method] : methods()) names.push_back(name);
  return names;
}

/// What is trained once per seed.
struct ReasoningSetting {
  std::string method;
  ReasoningRun run;
};

std::vector<ReasoningSetting> settings_of(const ReasoningOptions& o) {
  std::vector<ReasoningSetting> settings;
  for (const double rate : o.rates) {
    for (const double weight_decay : o.weight_decays) {
      for (const std::int64_t width : o.widths) {
        for (const std::int64_t warm_up : o.warm_ups) {
          for (const std::string& method : o.methods) {
            settings.push_back({method,
                                {.method = method_of(method),
                                 .width = width,
                                 .batch = o.batch,
                                 .training_share = o.training_share,
                                 .rate = rate,
                                 .weight_decay = weight_decay,
                                 .warm_up = warm_up,
                                 .initial_stddev = o.initial_stddev,
                                 .low_temperature = o.low_temperature,
                                 .steps = o.steps,
                                 .every = o.every,
                                 .seed = o.simulation.seed}});
          }
        }
      }
    }
  }
  return settings;
}

/// The method and rate of a setting, and what else the lists of options vary.
std::string name_of(const ReasoningOptions& o, const ReasoningSetting& setting) {
  const ReasoningRun& run = setting.run;
  std::string name = setting.method + " at rate " + short_text(run.rate, 3);
  if (o.weight_decays.size() > 1) name += ", weight decay " + short_text(run.weight_decay, 3);
  if (o.widths.size() > 1) name += ", width " + std::to_string(run.width);
  if (o.warm_ups.size() > 1) name += ", warm-up " + std::to_string(run.warm_up);
  return name;
}

/// The runs of one setting, seed by seed.
struct Runs {
  ReasoningSetting setting;
  std::vector<std::optional<std::int64_t>> jumps;
  std::vector<double> plateaus;

  std::vector<double> steps() const {
    std::vector<double> result;
    for (const auto& jump : jumps) {
      if (jump) result.push_back(static_cast<double>(*jump));
    }
    return result;
  }
};

/// The mean logarithm of one setting's steps over another's, seed by seed, where both had their moment.
Estimate log_ratio(const Runs& runs, const Runs& other) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(runs.jumps.size(), other.jumps.size()); ++i) {
    if (!runs.jumps[i] || !other.jumps[i]) continue;
    logs.push_back(std::log(static_cast<double>(*runs.jumps[i]) / static_cast<double>(*other.jumps[i])));
  }
  return estimate_of_runs(logs);
}

/// What all settings share; what they do not is in their names.
std::string in_common(const ReasoningOptions& o) {
  return ": " + (o.widths.size() > 1 ? "" : "width " + std::to_string(o.widths.front()) + ", ") + "4 heads, " +
         short_text(100 * o.training_share, 3) + "% of the inputs, " +
         (o.batch == 0 ? "full batch" : "batch " + std::to_string(o.batch)) +
         (o.weight_decays.size() > 1 ? "" : ", weight decay " + short_text(o.weight_decays.front(), 3)) +
         ", initial weights N(0, " + short_text(o.initial_stddev, 3) + "^2)";
}

std::vector<Runs> all_runs(ReasoningParts& parts, double plateau) {
  const ReasoningOptions& o = parts.options;
  std::vector<Runs> all;
  for (const ReasoningSetting& setting : settings_of(o)) {
    Runs runs{setting, {}, {}};
    ReasoningRun run = setting.run;
    for (std::int64_t seed = 0; seed < o.seeds && !parts.simulator.stopped(); ++seed, ++run.seed) {
      const Course course = parts.simulator.train(name_of(o, setting), run, training::eureka_accuracy);
      if (parts.simulator.stopped()) break;
      runs.jumps.push_back(training::eureka_step(course));
      if (const auto loss = training::plateau_loss(course, 1.2 * plateau)) runs.plateaus.push_back(*loss);
    }
    all.push_back(std::move(runs));
  }
  return all;
}

/// What a setting's steps are compared with: softmax's in the same training, and softmax's own with those of the first
/// weight decay, width and warm-up.
const Runs* reference_of(const Runs& runs, const std::vector<Runs>& all) {
  const ReasoningRun& own = runs.setting.run;
  for (const Runs& other : all) {
    const ReasoningRun& run = other.setting.run;
    if (other.setting.method != "softmax" || run.rate != own.rate) continue;
    if (runs.setting.method == "softmax") return &other == &runs ? nullptr : &other;
    if (run.weight_decay == own.weight_decay && run.width == own.width && run.warm_up == own.warm_up) return &other;
  }
  return nullptr;
}

Table eureka_table(const ReasoningOptions& o, const std::vector<Runs>& all) {
  const auto varied = [](const auto& list) { return list.size() > 1 ? InText::shown : InText::hidden; };
  Table table{.title = "Eureka moments, the first step with a held-out accuracy above 0.7" + in_common(o),
              .columns = {{"method"},
                          {.name = "rate", .style = Style::shortest},
                          {.name = "weight_decay", .style = Style::shortest, .in_text = varied(o.weight_decays)},
                          {.name = "width", .in_text = varied(o.widths)},
                          {.name = "warm_up", .in_text = varied(o.warm_ups)},
                          {"runs"},
                          {"moments"},
                          {.name = "ratio", .in_text = InText::hidden},
                          {.name = "ratio_error", .in_text = InText::hidden},
                          {.name = "ratio_lower", .heading = "ratio from", .digits = 3},
                          {.name = "ratio_upper", .heading = "to", .digits = 3},
                          {.name = "mean_step", .heading = "mean step", .digits = 4},
                          {.name = "step_stddev", .heading = "spread", .digits = 3},
                          {.name = "first_step", .heading = "first", .style = Style::shortest},
                          {.name = "last_step", .heading = "last", .style = Style::shortest},
                          {.name = "over_softmax", .heading = "steps / softmax's", .digits = 3},
                          {.name = "log_over_softmax", .in_text = InText::hidden},
                          {.name = "log_standard_error", .heading = "± share", .digits = 2},
                          {.name = "plateau", .heading = "slowest at loss", .digits = 4},
                          {.name = "plateau_standard_error", .heading = "± error", .digits = 2}},
              .key_columns = 5};
  for (const Runs& runs : all) {
    const ReasoningRun& run = runs.setting.run;
    const std::vector<double> steps = runs.steps();
    const auto moments = static_cast<double>(steps.size());
    std::vector<Cell> cells{runs.setting.method,    run.rate,         run.weight_decay, run.width, run.warm_up,
                            std::ssize(runs.jumps), std::ssize(steps)};
    if (runs.jumps.empty()) {
      cells.resize(table.columns.size());
      table.add_row(std::move(cells));
      continue;
    }
    const auto share = binomial_interval(std::ssize(steps), std::ssize(runs.jumps));
    const auto count = static_cast<double>(runs.jumps.size());
    const double likely = (moments + 1) / (count + 2);  // not 0 or 1, which would have no error
    cells.emplace_back(moments / count);
    cells.emplace_back(std::sqrt(likely * (1 - likely) / count));
    cells.emplace_back(share.lower);
    cells.emplace_back(share.upper);
    const Estimate step = estimate_of_runs(steps), plateau = estimate_of_runs(runs.plateaus);
    cells.push_back(finite_cell(step.mean));
    cells.push_back(finite_cell(step.standard_error * std::sqrt(moments)));
    cells.push_back(steps.empty() ? Cell() : Cell(*std::min_element(steps.begin(), steps.end())));
    cells.push_back(steps.empty() ? Cell() : Cell(*std::max_element(steps.begin(), steps.end())));
    if (const Runs* softmax = reference_of(runs, all)) {
      const Estimate ratio = log_ratio(runs, *softmax);
      cells.push_back(finite_cell(std::exp(ratio.mean)));
      cells.push_back(finite_cell(ratio.mean));
      cells.push_back(finite_cell(ratio.standard_error));
    } else {
      cells.insert(cells.end(), 3, Cell());
    }
    cells.push_back(finite_cell(plateau.mean));
    cells.push_back(finite_cell(plateau.standard_error));
    table.add_row(std::move(cells));
  }
  table.notes = {
      "A run ends with its Eureka moment, or at step " + std::to_string(o.steps) + "; measured every " +
          std::to_string(o.every) + " steps. Ratio: Clopper and Pearson, 95%.",
      "Seeds share initial weights and examples over methods: steps over softmax's are geometric means of "
      "ratios of the same seed, with the standard error of their logarithm; softmax's own are over those of the first "
      "weight decay, width and warm-up.",
      "Slowest at loss: where the loss of the examples trained on falls most slowly before the moment, over "
      "seeds. It is not judged: those examples are learned by heart meanwhile."};
  return table;
}

/// Runs whose answers know nothing of the parities: they must end at the plateau and have no Eureka moment.
Table plateau_table(ReasoningParts& parts) {
  const ReasoningOptions& o = parts.options;
  const auto task = training::reasoning_task(largest_value);
  Table table{.title = "The plateau: cross entropy of held-out inputs where a coin answers in place of the parities",
              .columns = {{"method"}, {"seed"}},
              .key_columns = 2};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  const double share = task.parities_differ;
  const double coin = -share * std::log(share) - (1 - share) * std::log(1 - share);
  const std::int64_t seeds = o.full ? 2 : 1;
  const std::string& method = o.methods.front();
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    ReasoningRun run = settings_of(o).front().run;
    run.rate = 3e-3;
    run.seed += static_cast<std::uint64_t>(seed);
    run.answers = ReasoningAnswers::coin;
    run.width = std::max(run.width, coin_width);
    run.decay = training::RateDecay::cosine;
    run.weight_decay = 0;
    run.batch = 0;
    run.steps = run.every = coin_steps;
    const Course course = parts.simulator.train(method + ", answered by a coin", run, 1);
    Estimate loss, accuracy;
    if (course.size() == 2) {
      const auto held_out =
          static_cast<double>(task.inputs) - std::floor(run.training_share * static_cast<double>(task.inputs));
      const ReasoningMeasurement& end = course.back();
      loss.count = accuracy.count = static_cast<std::int64_t>(held_out);
      loss.mean = end.held_out_loss;
      loss.standard_error = end.held_out_standard_error;
      accuracy.mean = end.held_out_accuracy;
      accuracy.standard_error = std::sqrt(end.held_out_accuracy * (1 - end.held_out_accuracy) / held_out);
    }
    table.add_row({method, static_cast<std::int64_t>(run.seed)},
                  parts.judgment.judged({task.plateau_cross_entropy, unreached * task.plateau_cross_entropy}, loss));
    const std::string at = method + ", seed " + std::to_string(run.seed);
    parts.controls.add({"plateau h(P), as if c and d always differed", at}, coin, task.plateau_cross_entropy, loss);
    parts.controls.add({"a Eureka moment without parities: accuracy 0.7", at}, training::eureka_accuracy,
                       task.coin_accuracy, accuracy);
  }
  table.notes = {"Trained for " + std::to_string(coin_steps) +
                 " steps without weight decay at a rate that falls from 0.003 to 0 along a cosine; ± error is that of "
                 "the held-out inputs. Up to " +
                 short_text(100 * unreached, 2) + "% above the plateau is what training has not reached."};
  return table;
}

std::vector<Table> eureka_tables(ReasoningParts& parts) {
  std::vector<Table> tables;
  const double plateau = training::reasoning_task(largest_value).plateau_cross_entropy;
  tables.push_back(plateau_table(parts));
  tables.back().audit = true;
  tables.push_back(eureka_table(parts.options, all_runs(parts, plateau)));
  return tables;
}

std::vector<Table> course_tables(ReasoningParts& parts) {
  const ReasoningOptions& o = parts.options;
  std::vector<Table> tables;
  for (const ReasoningSetting& setting : settings_of(o)) {
    if (parts.simulator.stopped()) return tables;
    Table table{
        .title = "Course of " + name_of(o, setting) + ", seed " + std::to_string(o.simulation.seed) + in_common(o),
        .columns = {{"step"},
                    {.name = "loss", .digits = 4},
                    {.name = "accuracy", .digits = 3},
                    {.name = "held_out_loss", .heading = "held-out loss", .digits = 4},
                    {.name = "held_out_accuracy", .heading = "accuracy", .digits = 3},
                    {.name = "least_entropy", .heading = "entropy from", .digits = 3},
                    {.name = "largest_entropy", .heading = "to", .digits = 3},
                    {.name = "query_gradient", .heading = "|dW_Q|", .digits = 3},
                    {.name = "key_gradient", .heading = "|dW_K|", .digits = 3},
                    {.name = "value_gradient", .heading = "|dW_V|", .digits = 3},
                    {.name = "key_over_value", .heading = "|dW_K|/|dW_V|", .digits = 3}},
        .key_columns = 1};
    constexpr double nearly_all = 0.995;
    for (const ReasoningMeasurement& at : parts.simulator.train(name_of(o, setting), setting.run, nearly_all)) {
      const auto [least, largest] = std::minmax_element(at.entropy.begin(), at.entropy.end());
      table.add_row({at.step, finite_cell(at.loss), finite_cell(at.accuracy), finite_cell(at.held_out_loss),
                     finite_cell(at.held_out_accuracy), finite_cell(*least), finite_cell(*largest),
                     finite_cell(at.query_gradient), finite_cell(at.key_gradient), finite_cell(at.value_gradient),
                     finite_cell(at.key_gradient / at.value_gradient)});
    }
    table.notes = {
        "Entropies of the class token's attention, the least and the largest of the heads'; uniform "
        "attention has log 5 = 1.61. Gradients of the mean loss, all examples, before any scaling."};
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace

void add_options(CLI::App& app, ReasoningOptions& o) {
  const auto positive = [](double value) { return value > 0 && value <= 1e3; };
  add_choice<ReasoningFigure>(app, "--figure", o.figure, "What to show, see above",
                              {{"ends", ReasoningFigure::ends}, {"curves", ReasoningFigure::curves}});
  add_full_flag(app, o);
  add_words(app, "--methods", o.methods, "How queries and keys are helped to learn", method_names());
  head_options(app, "Task");
  add_edition_count(app, o, "--seeds", o.seeds, "Runs of training, with the seeds --seed, --seed + 1, ...", 3, 5, 1000);
  add_edition_count(app, o, "--steps", o.steps, "Steps of AdamW per run, at most", 800, 1500, 100000000);
  show_no_default(add_count<std::int64_t>(app, "--batch", o.batch, "Inputs per step; default: all", 1, 1 << 24));
  show_no_default(add_positive_numbers(app, "--rates", o.rates, "Learning rates, after the warm-up"));
  add_counts(app, "--widths", o.widths, "Widths of the block, multiples of 4", 4, 4096);
  add_counts(app, "--warm-ups", o.warm_ups, "Steps in which the learning rate rises", 0, 1000000);
  add_count<std::int64_t>(app, "--every", o.every, "Steps between measurements", 1, 1000000);
  add_number(
      app, "--training-share", o.training_share, "Share of the inputs that are trained on",
      [](double value) { return 0.001 <= value && value <= 0.999; }, "0.001 to 0.999");
  add_positive_numbers(app, "--weight-decays", o.weight_decays, "Weight decays of the matrices", true);
  add_number(app, "--initial-stddev", o.initial_stddev, "Standard deviation of the initial weights", positive,
             "0 < value <= 1000");
  add_number(app, "--low-temperature", o.low_temperature,
             "heat-treatment: where it starts; low-temperature: throughout", positive, "0 < value <= 1000");
  head_options(app, "Training");
  add_device_options(app, o.simulation);
  add_record_options(app, o.simulation, false);
  add_run_output_options(app, o.output);
}

void complete(const CLI::App&, ReasoningOptions& o, UnusedOptions& unused) {
  if (o.figure == ReasoningFigure::curves) unused.add("--figure curves", {"--seeds", "--full"});
  if (o.methods.empty()) {
    for (const std::string& name : method_names()) {
      if (o.full || std::ssize(o.methods) < 2) o.methods.push_back(name);
    }
  }
  or_usual(o.rates, o.full ? std::vector<double>{1e-3, 3e-3, 1e-2} : std::vector<double>{3e-3});
  for (const std::int64_t width : o.widths) {
    if (width % 4 != 0) {
      throw_input_error("--widths", "is no multiple of the heads", std::to_string(width), "a multiple of 4");
    }
  }
  const std::int64_t longest = *std::max_element(o.warm_ups.begin(), o.warm_ups.end());
  if (o.steps < longest) {
    throw_input_error("--steps", "is less than the warm-up", std::to_string(o.steps),
                      "at least " + std::to_string(longest));
  }
}

void state_used(const ReasoningOptions& o, nlohmann::ordered_json& arguments) {
  arguments["methods"] = o.methods;
  arguments["rates"] = o.rates;
  if (o.batch == 0) arguments["batch"] = nullptr;
}

std::vector<Table> reasoning_tables(ReasoningParts& parts) {
  return parts.options.figure == ReasoningFigure::ends ? eureka_tables(parts) : course_tables(parts);
}

}  // namespace incontext::examples::train
