#include <incontext/training/affine_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "examples/support/boundary_fit.hpp"
#include "examples/support/text.hpp"
#include "examples/train/sequences.hpp"

namespace incontext::examples::train {

namespace {

using statistics::Estimate;

/// A transformer, with or without layer norms and perceptron, and the law of the inputs that it is trained on.
struct AffineModel {
  std::string option, name;
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
    if (name == "attention") models.push_back({name, "attention only, no norms", false, false});
    if (name == "full") models.push_back({name, "full", true, true});
    if (name == "attention-norms") models.push_back({name, "attention and norms", false, true});
    if (name == "wide") models.push_back({name, "full, inputs N(0, 10^2)", true, true, 10});
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

/// The error of the answer 0 on the sequences of all seeds.
Estimate zero_of(const std::vector<AffineRuns>& all, std::size_t test) {
  Estimate zero;
  if (all.empty() || all.front().answers.empty()) return zero;
  double sum = 0, variance = 0;
  for (const auto& answers : all.front().answers) {
    const Estimate& one = answers[test].zero;
    sum += one.mean;
    variance += one.standard_error * one.standard_error;
    zero.count += one.count;
    zero.non_finite += one.non_finite;
  }
  const auto seeds = static_cast<double>(all.front().answers.size());
  zero.mean = sum / seeds;
  zero.standard_error = std::sqrt(variance) / seeds;
  return zero;
}

Table zero_table(SequenceParts& parts, const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title = "The answer 0 on the sequences of the tests, in the metric of 2508.14685, eq. 2",
              .columns = {{"test"}},
              .key_columns = 1};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  for (std::size_t i = 0; i < tests.functions; ++i) {
    const double exact = error_of_zero(tests.all[i]);
    const Estimate zero = zero_of(all, i);
    table.add_row({shift_name_of(tests.all[i])}, parts.judgment.judged(exact, zero));
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

/// The error of a map over that of softmax: the mean over seeds of its logarithm, as a ratio.
Estimate error_ratio(const AffineRuns& runs, const AffineRuns& softmax, std::size_t test) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(runs.answers.size(), softmax.answers.size()); ++i) {
    logs.push_back(std::log(runs.answers[i][test].error.mean / softmax.answers[i][test].error.mean));
  }
  Estimate ratio = estimate_of_runs(logs);
  ratio.mean = std::exp(ratio.mean);
  ratio.standard_error *= ratio.mean;
  return ratio;
}

/// The maps that arXiv 2508.14685 tried beside SSA.
bool is_alternative(const std::string& map) { return map == "soft-average" || map == "four" || map == "sa-softmax"; }

/// Whether the runs err less than half as much as the answer 0 on functions of training.
bool have_learned(const AffineRuns& runs, const AffineTests& tests) {
  return runs.error(0).mean < error_of_zero(tests.all.front()) / 2;
}

/// A map and test whose error over that of softmax is known or claimed.
struct ErrorRatio {
  const AffineRuns& runs;
  std::string test;
  Estimate ratio;
  bool learned;  ///< both the map's runs and those of softmax
};

/// Statements about the errors of one layer that are wrong after as many steps as in the full run. A shorter
/// training need not reject them.
void add_ratio_controls(SequenceParts& parts, const AffineTests& tests, std::size_t test, const ErrorRatio& one) {
  if (parts.options.layers != 1 || one.ratio.count < fewest_values || !one.learned) return;
  const std::string at = one.runs.map + ", " + one.test + ", " + one.runs.model.name;
  const auto as_softmax = [&](const std::string& statement) {
    parts.controls.add({statement, at}, 1, one.ratio.mean, one.ratio);
  };
  const std::string& map = one.runs.map;
  if (map == "average" && test + 1 == tests.functions) as_softmax("averages alone err as softmax does");
  if (map == "four" && test == 0) as_softmax("on functions of training the four err as softmax does");
  if (map == "sa-softmax" && tests.all[test].input_stddev > 1) {
    as_softmax("where all inputs are wide it errs as softmax does");
  }
}

void add_ratio(SequenceParts& parts, Table& table, const AffineTests& tests, std::size_t test, const ErrorRatio& one) {
  const bool is_shifted_function = test > 0 && test < tests.functions;
  const bool is_claimed = is_alternative(one.runs.map) && is_shifted_function && parts.options.layers == 1 &&
                          one.ratio.count >= fewest_values && one.learned;
  const std::string relation = is_claimed ? ">=" : "";
  const auto comparison =
      is_claimed ? parts.judgment.judged_bound(relation, 1, one.ratio, one.ratio.count * parts.options.tested)
                 : Judgment::shown({}, one.ratio);
  std::vector<Cell> cells{one.runs.model.name, one.runs.map, one.test, is_claimed ? Cell(relation) : Cell()};
  table.add_row(std::move(cells), comparison);
  add_ratio_controls(parts, tests, test, one);
}

/// Every map's error over that of softmax. With one layer that has learned, the alternatives are claimed to err no less
/// under shifted functions.
Table ratio_table(SequenceParts& parts, const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title = "Errors over those of softmax with the same seed",
              .columns = {{"model"}, {"map"}, {"test"}, {.name = "relation", .heading = " "}},
              .notes = {same_sequences_note, bounds_note},
              .key_columns = 3};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  for (const AffineRuns& runs : all) {
    const auto softmax = std::find_if(all.begin(), all.end(), [&runs](const AffineRuns& one) {
      return one.map == "softmax" && one.model.name == runs.model.name;
    });
    if (runs.map == "softmax" || softmax == all.end()) continue;
    const bool learned = have_learned(runs, tests) && have_learned(*softmax, tests);
    for (std::size_t i = 0; i < tests.all.size(); ++i) {
      add_ratio(parts, table, tests, i, {runs, shift_name_of(tests.all[i]), error_ratio(runs, *softmax, i), learned});
    }
  }
  return table;
}

/// The largest answers to shifted functions, a column per model and map.
Table largest_table(const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title = "Largest answers by the standard deviation of the functions",
              .columns = {{.name = "function_stddev", .heading = "sigma", .style = Style::shortest}},
              .notes = {"Means over seeds of the largest answer to any of the test's sequences."},
              .key_columns = 1};
  for (const AffineRuns& runs : all) {
    std::string name = runs.model.option + '_' + runs.map;
    std::replace(name.begin(), name.end(), '-', '_');
    table.columns.push_back(
        {.name = name, .heading = runs.model.option + ", " + runs.map, .digits = 3, .decimals_as = 1});
  }
  for (std::size_t i = 0; i < tests.functions; ++i) {
    std::vector<Cell> cells{tests.all[i].function_stddev};
    for (const AffineRuns& runs : all) {
      cells.push_back(
          finite_cell(estimate_of_runs(runs.each([&](std::size_t run) { return runs.answers[run][i].largest; })).mean));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

/// What is claimed of the largest answers: layer norms bound them, attention does not. From sigma = 4 to 10 a bound that
/// is reached lets them grow by 1, and linear attention by 2.5; 1.5 is nearer to that.
void claim_bounds(Claims& claims, const AffineTests& tests, const AffineRuns& runs) {
  constexpr double proportional = 10.0 / 4, hardly_bounded = 1.5;
  for (std::size_t run = 0; run < runs.trained.size(); ++run) {
    const auto largest_at = [&](double sigma) {
      for (std::size_t i = 0; i < tests.functions; ++i) {
        if (tests.all[i].function_stddev == sigma) return runs.answers[run][i].largest;
      }
      return std::numeric_limits<double>::quiet_NaN();
    };
    const std::string where = runs.map + ", " + runs.model.name + ", run " + std::to_string(run + 1);
    const double growth = largest_at(10) / largest_at(4);
    if (!runs.model.has_norms) {
      claims.at_least("without layer norms: the largest answer at sigma = 10 over that at sigma = 4", where, growth,
                      hardly_bounded);
      claims.differs("control: without layer norms the largest answer is reached at sigma = 4", where, growth, 1);
      continue;
    }
    claims.differs("control: with layer norms the largest answer is proportional to sigma", where, growth,
                   proportional);
    for (std::size_t i = 0; i < tests.all.size(); ++i) {
      claims.at_most("with layer norms no answer leaves the bound of the weights",
                     where + ", " + shift_name_of(tests.all[i]), runs.answers[run][i].largest, runs.trained[run].bound);
    }
  }
}

/// The largest answers: those that occurred, the bound that the weights set, and the bound that the clip model fits.
Table bound_table(SequenceParts& parts, const AffineTests& tests, const std::vector<AffineRuns>& all) {
  Table table{.title =
                  "Boundary values: the largest answer, the bound of the weights, and the clip model fitted from "
                  "sigma = 4 on",
              .columns = {{"model"},
                          {"map"},
                          {.name = "largest_answer", .heading = "largest of all runs", .digits = 4, .decimals_as = 1},
                          {.name = "bound", .heading = "mean bound of the weights", .digits = 4, .decimals_as = 1},
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

Table weights_table(const std::vector<AffineRuns>& all) {
  Table table{.title = "Weights of queries and keys after training",
              .columns = {{"model"},
                          {"map"},
                          {"runs"},
                          {.name = "size", .heading = "of W_Q and W_K", .digits = 3, .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .digits = 2, .decimals_as = 1}},
              .notes = {"Root mean squares of the entries; means over seeds."},
              .key_columns = 2};
  for (const AffineRuns& runs : all) {
    const auto sizes = runs.each([&](std::size_t run) { return runs.trained[run].query_key_size; });
    const Estimate size = estimate_of_runs(sizes);
    table.add_row(
        {runs.model.name, runs.map, std::ssize(sizes), finite_cell(size.mean), finite_cell(size.standard_error)});
  }
  return table;
}

}  // namespace

std::vector<Table> affine_tables(SequenceParts& parts) {
  const AffineTests tests(parts.options.full);
  const auto all = affine_runs(parts, tests);
  std::vector<Table> tables;
  tables.push_back(zero_table(parts, tests, all));
  tables.push_back(affine_error_table(parts.options, tests, all));
  if (Table ratios = ratio_table(parts, tests, all); !ratios.rows.empty()) tables.push_back(std::move(ratios));
  tables.push_back(largest_table(tests, all));
  for (const AffineRuns& runs : all) {
    if (runs.model.input_stddev == 1) claim_bounds(parts.claims, tests, runs);
  }
  tables.push_back(bound_table(parts, tests, all));
  tables.push_back(weights_table(all));
  for (Table& table : tables) table.audit = &table != &tables[1];
  return tables;
}

}  // namespace incontext::examples::train
