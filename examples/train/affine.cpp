#include <incontext/training/affine_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>

#include "examples/support/boundary_fit.hpp"
#include "examples/support/text.hpp"
#include "examples/train/sequences.hpp"

namespace incontext::examples::train {

namespace {

using statistics::Estimate;

/// A transformer, with or without layer norms and perceptron, and the law of the inputs that it is trained on.
struct AffineModel {
  std::string name;
  bool has_mlp, has_norms;
  double input_stddev = 1;
};

/// The runs of one map and model, seed by seed.
struct AffineRuns {
  std::string map;
  AffineModel model;
  std::vector<TrainedSequence> trained;
  std::vector<std::vector<AffineAnswers>> answers;  ///< per run, test by test

  /// A number of every run, over the runs.
  template <class Number>
  std::vector<double> each(const Number& number) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < trained.size(); ++i) values.push_back(number(i));
    return values;
  }
  Estimate error(std::size_t test) const {
    return estimate_of_runs(each([&](std::size_t run) { return answers[run][test].error.mean; }));
  }
};

std::vector<AffineModel> affine_models(const SequenceOptions& o) {
  std::vector<AffineModel> models;
  for (const std::string& name : o.models) {
    if (name == "attention") models.push_back({"attention only, no norms", false, false});
    if (name == "full") models.push_back({"full", true, true});
    if (name == "attention-norms") models.push_back({"attention and norms", false, true});
    if (name == "wide") models.push_back({"full, inputs N(0, 10^2)", true, true, 10});
  }
  return models;
}

/// The tests: shifted functions first, then shifted first inputs, then shifted inputs.
struct AffineTests {
  std::vector<AffineTest> all;
  std::size_t functions, deviants;

  explicit AffineTests(bool full) {
    for (const double sigma :
         full ? std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10} : std::vector<double>{1, 4, 7, 10}) {
      all.push_back({.function_stddev = sigma});
    }
    functions = all.size();
    for (const double sigma : {10.0, 100.0}) all.push_back({.first_input_stddev = sigma});
    deviants = all.size();
    for (const double sigma : {3.0, 10.0}) all.push_back({.input_stddev = sigma, .first_input_stddev = sigma});
  }
};

std::string shift_name_of(const AffineTest& test) {
  if (test.input_stddev != 1) return "all inputs N(0, " + short_text(test.input_stddev, 3) + "^2)";
  if (test.first_input_stddev != 1) return "first input N(0, " + short_text(test.first_input_stddev, 3) + "^2)";
  return "a, b N(0, " + short_text(test.function_stddev, 3) + "^2)";
}

double error_of_zero(const AffineTest& test) {
  return affine_metric *
         training::affine_risks(training::AffineTask<double>{test.input_stddev, test.function_stddev}).no_example;
}

std::vector<AffineRuns> affine_runs(SequenceParts& parts, const AffineTests& tests) {
  const SequenceOptions& o = parts.options;
  std::vector<AffineRuns> all;
  for (const AffineModel& model : affine_models(o)) {
    for (const std::string& map : o.maps) {
      AffineRuns runs{map, model, {}, {}};
      for (std::int64_t seed = 0; seed < o.seeds && !parts.simulator.stopped(); ++seed) {
        SequenceRun run = run_of(o, map, seed);
        run.has_mlp = model.has_mlp;
        run.has_norms = model.has_norms;
        run.input_stddev = model.input_stddev;
        std::vector<AffineAnswers> answers;
        const auto trained =
            parts.simulator.affine("affine, " + map + ", " + model.name, run, tests.all, o.tested, answers);
        if (!trained.reached) break;
        runs.trained.push_back(trained);
        runs.answers.push_back(std::move(answers));
      }
      all.push_back(std::move(runs));
    }
  }
  return all;
}

/// The answer 0 on the sequences that all transformers are tested on.
Table zero_table(SequenceParts& parts, const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title = "The answer 0 on the sequences of the tests, in the metric of 2508.14685, eq. 2",
              .columns = {{"test"}},
              .key_columns = 1};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  for (std::size_t i = 0; i < tests.functions; ++i) {
    const double exact = error_of_zero(tests.all[i]);
    Estimate zero;
    if (!all.empty() && !all.front().answers.empty()) zero = all.front().answers.front()[i].zero;
    std::vector<Cell> cells{shift_name_of(tests.all[i])};
    const auto comparison = parts.judgment.judged(exact, zero);
    cells.insert(cells.end(), comparison.begin(), comparison.end());
    table.add_row(std::move(cells));
    parts.controls.add({"the answer 0 errs by Var y of one input, sigma^2", shift_name_of(tests.all[i])}, exact / 2,
                       exact, zero);
  }
  table.notes = {"Points 3 to 40, divided by 40. Least squares has the error 0 everywhere."};
  return table;
}

Table affine_error_table(const SequenceOptions& o, const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title = "Affine functions: errors of " + described(o),
              .columns = {{"model"},
                          {"map"},
                          {"test"},
                          {"runs"},
                          {.name = "error", .digits = 3, .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .digits = 2, .decimals_as = 1},
                          {.name = "least", .digits = 3},
                          {.name = "largest", .digits = 3},
                          {.name = "over_zero", .heading = "over the answer 0", .digits = 3}},
              .key_columns = 3};
  for (const AffineRuns& runs : all) {
    for (std::size_t i = 0; i < tests.all.size(); ++i) {
      const Estimate error = runs.error(i);
      const auto values = runs.each([&](std::size_t run) { return runs.answers[run][i].error.mean; });
      const auto [least, largest] = std::minmax_element(values.begin(), values.end());
      table.add_row({runs.model.name, runs.map, shift_name_of(tests.all[i]), std::ssize(values),
                     finite_cell(error.mean), finite_cell(error.standard_error), values.empty() ? Cell() : Cell(*least),
                     values.empty() ? Cell() : Cell(*largest), finite_cell(error.mean / error_of_zero(tests.all[i]))});
    }
  }
  table.notes = {
      "Means over seeds, their standard error and their range. Trained on 40 points, inputs and functions "
      "N(0, 1) unless the model says otherwise; a token shows the pair before and the next input."};
  return table;
}

/// The largest answers: those that occurred, the bound that the weights set, and the bound that the clip model fits.
Table bound_table(SequenceParts& parts, const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title =
                  "Boundary values: the largest answer, the bound of the weights, and the clip model fitted from "
                  "sigma = 4 on",
              .columns = {{"model"},
                          {"map"},
                          {.name = "largest_answer", .heading = "largest answer", .digits = 4, .decimals_as = 1},
                          {.name = "bound", .heading = "bound of the weights", .digits = 4, .decimals_as = 1},
                          {.name = "bound_stddev", .heading = "spread", .digits = 2},
                          {.name = "fitted", .heading = "B fitted", .digits = 4, .decimals_as = 1},
                          {.name = "fitted_stddev", .heading = "spread", .digits = 2},
                          {.name = "clip_residual", .heading = "residual of the clip", .digits = 3},
                          {.name = "proportional_residual", .heading = "of c sigma^2", .digits = 3},
                          {.name = "over_least", .heading = "error over the bound's least", .digits = 4},
                          {"parameters"}},
              .key_columns = 2};
  for (const AffineRuns& runs : all) {
    if (runs.trained.empty() || runs.model.input_stddev != 1) continue;
    std::vector<double> fitted, clip, proportional;
    double largest = 0, over_least = std::numeric_limits<double>::infinity();
    for (std::size_t run = 0; run < runs.trained.size(); ++run) {
      std::vector<ShiftedError> errors;
      for (std::size_t i = 0; i < tests.functions; ++i) {
        const AffineAnswers& at = runs.answers[run][i];
        largest = std::max(largest, at.largest);
        const double sigma = tests.all[i].function_stddev;
        if (sigma >= 4) errors.push_back({sigma, at.error.mean});
        if (at.largest > runs.trained[run].bound * (1 + 1e-4)) {  // never where the bound is NaN
          throw std::logic_error("an answer of " + runs.map +
                                 " left the bound of its weights: " + short_text(at.largest, 6));
        }
        if (runs.model.has_norms) {
          over_least = std::min(over_least, at.error.mean / clipped_metric(runs.trained[run].bound, sigma));
        }
      }
      const ShiftFit clipped = fitted_to(errors, clipped_metric);
      fitted.push_back(clipped.parameter);
      clip.push_back(clipped.residual);
      proportional.push_back(fitted_to(errors, shrunk_metric).residual);
    }
    const auto bounds = runs.each([&](std::size_t run) { return runs.trained[run].bound; });
    const auto spread = [](const std::vector<double>& values) {
      const Estimate of = estimate_of_runs(values);
      return finite_cell(of.standard_error * std::sqrt(static_cast<double>(values.size())));
    };
    std::string words;
    for (std::size_t i = 0; i < runs.trained.front().map_parameters.size(); ++i) {
      const Estimate of =
          estimate_of_runs(runs.each([&](std::size_t run) { return runs.trained[run].map_parameters[i]; }));
      words += (words.empty() ? "" : ", ") + short_text(of.mean, 3);
    }
    const bool has_bound = runs.model.has_norms;
    table.add_row({runs.model.name, runs.map, largest, finite_cell(estimate_of_runs(bounds).mean), spread(bounds),
                   estimate_of_runs(fitted).mean, spread(fitted), estimate_of_runs(clip).mean,
                   estimate_of_runs(proportional).mean, has_bound ? Cell(over_least) : Cell(), words});
    const std::string at = runs.map + ", " + runs.model.name;
    if (!has_bound) continue;
    const std::size_t last = tests.functions - 1;
    parts.controls.add({"no boundary: the error of N(0, 1) functions times sigma^2", at},
                       runs.error(0).mean * std::pow(tests.all[last].function_stddev, 2), runs.error(last).mean,
                       runs.error(last));
  }
  table.notes = {
      "Bound of the weights: what the last layer norm lets out for any prompt; without norms there is none. The clip "
      "model at that bound is the least error of any answers within it; error over it: the least over runs and sigmas.",
      "Residual: root mean square of the logarithms, of the clip model and of an error in proportion to sigma^2. "
      "Parameters: those of the map after training (SSA: b, k; SSMax: s), means over heads and runs."};
  return table;
}

}  // namespace

std::vector<Table> affine_tables(SequenceParts& parts) {
  const AffineTests tests(parts.options.full);
  const auto all = affine_runs(parts, tests);
  std::vector<Table> tables;
  tables.push_back(zero_table(parts, tests, all));
  tables.push_back(affine_error_table(parts.options, tests, all));
  tables.push_back(bound_table(parts, tests, all));
  return tables;
}

}  // namespace incontext::examples::train
