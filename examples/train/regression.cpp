#include "examples/train/regression.hpp"

#include <incontext/core/contracts.hpp>
#include <incontext/regression/error_gradient.hpp>
#include <incontext/regression/optimal_temperature.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_error_gradient.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/regression/trained_attention.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/statistics/estimate.hpp>
#include <incontext/training/gradient_flow.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "examples/support/text.hpp"

namespace incontext::examples::train {

namespace {

using regression::Attention, regression::ErrorGradient, regression::LinearTask, regression::Matrix, regression::Vector;
using statistics::Estimate;
using training::RegressionLayer, training::RegressionParameters;
using Parameters = std::vector<double>;

const char* name(RegressionMap map) {
  switch (map) {
    case RegressionMap::linear:
      return "linear";
    case RegressionMap::approximate:
      return "approximate softmax";
    default:
      return "softmax";
  }
}

constexpr RegressionMap maps[] = {RegressionMap::linear, RegressionMap::approximate, RegressionMap::softmax};

/// The sizes and the laws of a figure.
struct Setting {
  const RegressionOptions& options;
  std::int64_t dimension = options.dimension, context_length = options.context_length;
  double noise_variance = options.noise_variance;

  std::string words() const { return sizes_in_words(options); }
  LinearTask<double> even_law() const { return train::even_law(options); }

  /// Inputs whose variances fall from 2 to 1/2 in equal ratios.
  LinearTask<double> uneven_law() const {
    Matrix<double> inputs = Matrix<double>::Zero(dimension, dimension);
    for (Eigen::Index i = 0; i < dimension; ++i) {
      inputs(i, i) = 2 * std::pow(4.0, -static_cast<double>(i) / static_cast<double>(dimension - 1));
    }
    return even_law().with_input_covariance(inputs);
  }

  /// The values of arXiv 2511.01292's pretraining, v_x = 0 and v_y = 1.
  Attention<double> label_values() const {
    return {Matrix<double>::Zero(dimension, dimension), Vector<double>::Zero(dimension), 1.0};
  }

  ErrorGradient<double> exact_error(RegressionMap map, const LinearTask<double>& task, const Attention<double>& layer,
                                    double inverse_temperature = 1) const {
    if (map == RegressionMap::linear) {
      return regression::linear_attention_error_gradient(layer, task, context_length, inverse_temperature);
    }
    if (map == RegressionMap::approximate) {
      return regression::generalization_error_gradient(layer, task, context_length, inverse_temperature);
    }
    return regression::softmax_error_gradient(layer, task, context_length, scoring::Softmax<double>{1},
                                              inverse_temperature);
  }

  training::ExactLoss loss_of(RegressionMap map, const LinearTask<double>& task) const {
    return training::population_loss(
        RegressionParameters::layer, {}, dimension,
        [=, *this](const Attention<double>& layer, double b) { return exact_error(map, task, layer, b); });
  }

  RegressionRun run(const LinearTask<double>& task, RegressionMap map, const RegressionOptions& o,
                    std::int64_t steps) const {
    return {.task = task,
            .context_length = context_length,
            .map = map,
            .batch = o.batch,
            .steps = o.steps > 0 ? o.steps : steps};
  }
};

Attention<double> layer_of(const RegressionRun& run, const Parameters& parameters) {
  return training::regression_layer(run.parameters, run.fixed, run.task.dimension(), parameters).attention;
}

/// The states that every seed of a run reaches, one entry per step asked for. No two runs share their seeds.
std::vector<std::vector<Parameters>> all_seeds(RegressionParts& parts, const std::string& what, RegressionRun run,
                                               const std::vector<std::int64_t>& steps) {
  std::vector<std::vector<Parameters>> by_step(steps.size());
  for (std::int64_t i = 0; i < parts.options.seeds; ++i) {
    run.seed = parts.next_seed++;
    const auto states = parts.simulator.train_regression(what + ", run " + std::to_string(i + 1), run, steps);
    for (std::size_t k = 0; k < states.size(); ++k) by_step[k].push_back(states[k].parameters);
  }
  return by_step;
}

/// The contexts on which all seeds were trained up to a step.
std::int64_t contexts_of(const std::vector<Parameters>& seeds, const RegressionRun& run, std::int64_t steps) {
  return std::ssize(seeds) * steps * run.batch;
}

/// A number of every seed's layer.
Estimate over_seeds(const std::vector<Parameters>& seeds, const std::function<double(const Parameters&)>& number) {
  std::vector<double> values;
  std::transform(seeds.begin(), seeds.end(), std::back_inserter(values), number);
  return estimate_of_runs(values);
}

void add_row(Table& table, std::vector<Cell> keys, std::vector<Cell> comparison) {
  std::move(comparison.begin(), comparison.end(), std::back_inserter(keys));
  table.add_row(std::move(keys));
}

// ---- where training ends -------------------------------------------------------------------------------------

/// v_y M of least error under linear or approximate softmax attention.
Matrix<double> optimal_scores(const Setting& at, RegressionMap map, const LinearTask<double>& task) {
  return (map == RegressionMap::linear ? regression::trained_linear_attention(task, at.context_length)
                                       : regression::trained_attention(task, at.context_length))
      .key_query;
}

/// M = m I and v_y of least error under softmax on the isotropic law; v_y = 1 if it is given.
struct SoftmaxLayer {
  double scale, label_value, error;
};

SoftmaxLayer optimal_softmax(const Setting& at, bool values_given) {
  const regression::IsotropicTask<double> law{.dimension = at.dimension,
                                              .task_variance = 1.0 / static_cast<double>(at.dimension),
                                              .noise_variance = at.noise_variance};
  const auto error_at = [&](double temperature, double value) {
    return regression::softmax_error_isotropic<double>({1.0, value}, law, at.context_length,
                                                       scoring::Softmax<double>{temperature})
        .value;
  };
  // The error is a parabola in v_y, and three of its values give the vertex.
  const auto best_value = [&](double temperature) {
    if (values_given) return 1.0;
    const double middle = error_at(temperature, 0), above = error_at(temperature, 1), below = error_at(temperature, -1);
    return (below - above) / (2 * (above + below - 2 * middle));
  };
  const auto best = regression::minimize_softmax_error<double>(
      [&](double temperature) { return error_at(temperature, best_value(temperature)); }, {0.02, 1.0, 50.0});
  return {1 / best.parameter, best_value(best.parameter), best.error};
}

/// One number of a trained layer, and what it should be.
struct Quantity {
  std::string name;
  double theory;
  std::function<double(const Attention<double>&)> of;
};

Quantity entry_of_scores(Eigen::Index i, Eigen::Index j, double theory) {
  return {"v_y M_" + std::to_string(i + 1) + std::to_string(j + 1), theory,
          [=](const Attention<double>& layer) { return layer.label_value * layer.key_query(i, j); }};
}

Quantity mean_of_scores(double theory) {
  return {"v_y tr(M) / d", theory, [](const Attention<double>& layer) {
            return layer.label_value * layer.key_query.trace() / static_cast<double>(layer.key_query.rows());
          }};
}

/// A run, the numbers to judge, and the least error.
struct End {
  RegressionRun run;
  std::string trained;
  std::vector<Quantity> quantities;
  double least_loss = 0;
};

End affine_end(const Setting& at, RegressionMap map, const RegressionOptions& o) {
  End end{at.run(at.uneven_law(), map, o, 1000), "M, v_x, v_y", {}};
  if (map == RegressionMap::approximate) {
    end.run.parameters = RegressionParameters::scores;
    end.run.fixed = at.label_values();
    end.trained = "M beside v_y = 1";
  }
  const Matrix<double> optimum = optimal_scores(at, map, end.run.task);
  for (Eigen::Index i = 0; i < at.dimension; ++i) end.quantities.push_back(entry_of_scores(i, i, optimum(i, i)));
  end.quantities.push_back(entry_of_scores(0, 1, 0));
  auto best = at.label_values();
  best.key_query = optimum;
  end.least_loss = at.exact_error(map, end.run.task, best).error;
  return end;
}

End softmax_end(const Setting& at, bool values_given, const RegressionOptions& o) {
  End end{at.run(at.even_law(), RegressionMap::softmax, o, values_given ? 1000 : 3000), "M, v_x, v_y", {}};
  const SoftmaxLayer best = optimal_softmax(at, values_given);
  if (values_given) {
    end.run.parameters = RegressionParameters::scores;
    end.run.fixed = at.label_values();
    end.trained = "M beside v_y = 1";
  }
  end.quantities.push_back(mean_of_scores(best.scale * best.label_value));
  if (!values_given) {
    end.quantities.push_back(
        {"|v_y|", best.label_value, [](const Attention<double>& layer) { return std::abs(layer.label_value); }});
  }
  end.least_loss = best.error;
  return end;
}

/// Values that training should not reach: those of arXiv 2511.01292's pretraining, and of approximate softmax.
void add_end_controls(RegressionParts& parts, const Setting& at, const End& end, const std::vector<Parameters>& seeds) {
  const Quantity& first = end.quantities.front();
  const Estimate trained = over_seeds(seeds, [&](const Parameters& p) { return first.of(layer_of(end.run, p)); });
  const auto pretrained = regression::pretrained_attention(end.run.task, at.context_length);
  parts.controls.add({"M of Proposition 4.4", std::string(name(end.run.map)) + ": " + end.trained},
                     first.of(pretrained), first.theory, trained);
  const RegressionMap other =
      end.run.map == RegressionMap::approximate ? RegressionMap::linear : RegressionMap::approximate;
  auto layer = at.label_values();
  layer.key_query = optimal_scores(at, other, end.run.task);
  parts.controls.add({std::string("optimum of ") + name(other), std::string(name(end.run.map)) + ": " + end.trained},
                     first.of(layer), first.theory, trained);
}

// ---- temperatures --------------------------------------------------------------------------------------------

struct ShiftedLaw {
  std::string name;
  LinearTask<double> task;
};

std::vector<ShiftedLaw> shifted_laws(const LinearTask<double>& law) {
  const auto d = law.dimension();
  return {
      {"none", law},
      {"input covariance x 2", law.with_input_covariance_scaled(2.0)},
      {"task mean of length 1", law.with_task_mean(Vector<double>::Constant(d, 1 / std::sqrt(static_cast<double>(d))))},
      {"noise x 10", law.with_noise_variance(10 * law.noise_variance())}};
}

double optimal_temperature(const Setting& at, RegressionMap map, const Attention<double>& attention,
                           const LinearTask<double>& task) {
  const std::int64_t l = at.context_length;
  if (map == RegressionMap::linear) return regression::linear_attention_error(attention, task, l).optimal_temperature();
  const double approximate = regression::optimal_temperature(attention, task, l);
  if (map == RegressionMap::approximate) return approximate;
  return regression::minimize_softmax_error<double>(
             [&](double t) { return regression::softmax_error(attention, task, l, scoring::Softmax<double>{t}).value; },
             {approximate / 100, approximate, approximate * 100})
      .parameter;
}

// ---- curves --------------------------------------------------------------------------------------------------

constexpr double descent_rate = 0.02;

/// v_y tr(M S) / d, the slope with which the prediction follows the labels' mean.
double slope_of(const LinearTask<double>& task, const Parameters& parameters) {
  const auto layer =
      training::regression_layer(RegressionParameters::layer, {}, task.dimension(), parameters).attention;
  return layer.label_value * regression::trace_of_product<double>(layer.key_query, task.input_covariance()) /
         static_cast<double>(task.dimension());
}

/// A start that is neither symmetric nor a multiple of the identity.
Parameters start_of_curves(const Setting& at) {
  Attention<double> start = at.label_values();
  for (Eigen::Index i = 0; i < at.dimension; ++i) {
    for (Eigen::Index j = 0; j < at.dimension; ++j) {
      start.key_query(i, j) = i == j ? 0.3 : 0.1 * static_cast<double>((i + 2 * j) % 3 - 1);
    }
  }
  start.label_value = 0.4;
  return training::layer_parameters(start);
}

/// The flow and gradient descent on the exact loss, at every time.
struct ExactCurve {
  std::vector<Parameters> flow, descent;
};

ExactCurve exact_curve(const training::ExactLoss& loss, const Parameters& start, const std::vector<double>& times) {
  ExactCurve curve;
  training::GradientFlow flow(loss, start, 1e-6);
  training::Trainer descent(start, training::exact_batches(loss), training::gradient_descent(descent_rate));
  for (const double time : times) {
    flow.advance_to(time);
    while (static_cast<double>(descent.steps()) * descent_rate < time - descent_rate / 2) descent.step();
    curve.flow.push_back(flow.parameters());
    curve.descent.push_back(descent.parameters());
  }
  return curve;
}

void add_curve(RegressionParts& parts, Table& table, const Setting& at, RegressionMap map) {
  const auto task = at.even_law();
  const Parameters start = start_of_curves(at);
  RegressionRun run = at.run(task, map, parts.options, 200);
  run.initial = start;
  run.plain_descent = true;
  run.rate = descent_rate;
  run.batch *= 2;
  std::vector<std::int64_t> steps;
  std::vector<double> times;
  for (const std::int64_t share : {8, 4, 2, 1}) {
    steps.push_back(run.steps / share);
    times.push_back(static_cast<double>(steps.back()) * descent_rate);
  }
  const auto states = all_seeds(parts, std::string("descent, ") + name(map), run, steps);
  const auto loss = at.loss_of(map, task);
  const ExactCurve curve = exact_curve(loss, start, times);
  const RegressionMap other = map == RegressionMap::approximate ? RegressionMap::linear : RegressionMap::approximate;
  const ExactCurve wrong = exact_curve(at.loss_of(other, task), start, {times[1]});
  for (std::size_t k = 0; k < times.size(); ++k) {
    const Estimate slope = over_seeds(states[k], [&](const Parameters& p) { return slope_of(task, p); });
    const Estimate own_loss = over_seeds(states[k], [&](const Parameters& p) { return loss(p).loss; });
    const double flow = slope_of(task, curve.flow[k]), descent = slope_of(task, curve.descent[k]);
    add_row(table,
            {std::string(name(map)), times[k], steps[k], loss(curve.flow[k]).loss,
             states[k].empty() ? Cell() : Cell(own_loss.mean), flow},
            parts.judgment.judged(descent, slope, contexts_of(states[k], run, steps[k])));
    if (k == 1) {
      parts.controls.add(
          {std::string("flow of ") + name(other), std::string(name(map)) + ": time " + short_text(times[1], 3)},
          slope_of(task, wrong.flow[0]), flow, slope);
    }
  }
}

/// Approximate softmax with its values trained: the loss has an infimum and no minimum.
Table drift_table(const Setting& at) {
  const auto task = at.even_law();
  const auto loss = at.loss_of(RegressionMap::approximate, task);
  auto best = at.label_values();
  best.key_query = optimal_scores(at, RegressionMap::approximate, task);
  const double labels =
      regression::trace_of_product<double>(task.input_covariance(), task.task_covariance()) + task.noise_variance();
  const double ridge = labels / static_cast<double>(at.context_length);
  const double infimum =
      regression::generalization_error(best, task, at.context_length, {.offset = regression::Offset::removed})(1.0);
  const double slope = best.key_query(0, 0);
  Table table{.title = "Approximate softmax, values trained too: gradient flow never comes to rest",
              .columns = {{.name = "time", .style = Style::shortest},
                          {.name = "label_value", .heading = "v_y", .digits = 5},
                          {.name = "law", .digits = 5},
                          {.name = "slope", .heading = "v_y tr(M S) / d", .digits = 5},
                          {.name = "excess", .heading = "loss - infimum", .digits = 4},
                          {.name = "offset", .heading = "offset's variance", .digits = 4}}};
  training::GradientFlow flow(loss, start_of_curves(at), 1e-7);
  for (const double time : {10.0, 40.0, 160.0, 640.0, 2560.0}) {
    flow.advance_to(time);
    const double value = flow.parameters().back();
    table.add_row({time, value, std::pow(best.key_query.squaredNorm() / (8 * ridge * time), 0.25),
                   slope_of(task, flow.parameters()), flow.loss() - infimum, value * value * ridge});
  }
  table.notes = {
      "The offset v_y ybar has the variance v_y^2 (tr(S W) + s2) / l, and a larger M makes up for a smaller v_y: the "
      "infimum, " +
          short_text(infimum, 6) + " with slope " + short_text(slope, 5) + ", is that of v_y = 0.",
      "law: v_y = (|v_y M|^2 l / (8 t (tr(S W) + s2)))^(1/4)."};
  return table;
}

std::vector<Table> ends_tables(RegressionParts& parts, const Setting& at) {
  const RegressionOptions& o = parts.options;
  Table table{.title = "Attention trained from random weights beside the optimum of its exact error: " + at.words(),
              .columns = with_training({{.name = "map"},
                                        {.name = "what", .heading = "what is trained"},
                                        {.name = "quantity"},
                                        {.name = "least_loss", .heading = "least loss", .digits = 5, .decimals_as = 2},
                                        {.name = "loss", .digits = 5, .decimals_as = 2}}),
              .notes = {"Linear and approximate softmax: inputs of variances from 2 to 0.5; softmax: of variance 1.",
                        "loss: the mean of the exact losses at the trained parameters."},
              .key_columns = 3};
  for (End end : {affine_end(at, RegressionMap::linear, o), affine_end(at, RegressionMap::approximate, o),
                  softmax_end(at, true, o), softmax_end(at, false, o)}) {
    const std::string map = name(end.run.map);
    const auto seeds = all_seeds(parts, map, end.run, {end.run.steps}).front();
    const Estimate loss = over_seeds(seeds, [&](const Parameters& p) {
      return at.exact_error(end.run.map, end.run.task, layer_of(end.run, p)).error;
    });
    for (const Quantity& quantity : end.quantities) {
      const Estimate trained =
          over_seeds(seeds, [&](const Parameters& p) { return quantity.of(layer_of(end.run, p)); });
      add_row(table, {map, end.trained, quantity.name, end.least_loss, seeds.empty() ? Cell() : Cell(loss.mean)},
              parts.judgment.judged(quantity.theory, trained, contexts_of(seeds, end.run, end.run.steps)));
    }
    add_end_controls(parts, at, end, seeds);
  }
  return {table};
}

std::vector<Table> temperature_tables(RegressionParts& parts, const Setting& at) {
  const auto law = at.uneven_law();
  const auto attention = regression::pretrained_attention(law, at.context_length);
  Table table{.title = "The temperature of a pretrained layer, trained on shifted laws: " + at.words(),
              .columns = with_training({{.name = "shift"},
                                        {.name = "map"},
                                        {.name = "error_before", .heading = "error at 1", .digits = 4},
                                        {.name = "error_after", .heading = "error at best", .digits = 4}}),
              .notes = {"theory, trained: the temperature of least error, and where training of the temperature ends."},
              .key_columns = 2};
  for (const RegressionMap map : maps) {
    const double unshifted = optimal_temperature(at, map, attention, law);
    for (const ShiftedLaw& shift : shifted_laws(law)) {
      RegressionRun run = at.run(shift.task, map, parts.options, 400);
      run.parameters = RegressionParameters::temperature;
      run.fixed = attention;
      const auto seeds =
          all_seeds(parts, std::string("temperature, ") + name(map) + ", " + shift.name, run, {run.steps}).front();
      const Estimate trained = over_seeds(seeds, [](const Parameters& p) { return 1 / p.front(); });
      const double theory = optimal_temperature(at, map, attention, shift.task);
      add_row(table,
              {shift.name, std::string(name(map)), at.exact_error(map, shift.task, attention).error,
               at.exact_error(map, shift.task, attention, 1 / theory).error},
              parts.judgment.judged({theory, 1e-5 * theory}, trained, contexts_of(seeds, run, run.steps)));
      if (shift.name == "input covariance x 2") {
        parts.controls.add({"best temperature before the shift", std::string(name(map)) + ": " + shift.name}, unshifted,
                           theory, trained);
        if (map == RegressionMap::softmax) {
          parts.controls.add({"best temperature of approximate softmax", std::string(name(map)) + ": " + shift.name},
                             regression::optimal_temperature(attention, shift.task, at.context_length), theory,
                             trained);
        }
      }
    }
  }
  return {table};
}

std::vector<Table> curves_tables(RegressionParts& parts, const Setting& at) {
  Table table{
      .title = "Stochastic gradient descent beside gradient flow on the exact loss: " + at.words() +
               ", learning rate " + short_text(descent_rate, 3),
      .columns = with_training({{.name = "map"},
                                {.name = "time", .style = Style::shortest},
                                {.name = "step"},
                                {.name = "flow_loss", .heading = "flow's loss", .digits = 5, .decimals_as = 2},
                                {.name = "loss", .digits = 5, .decimals_as = 2},
                                {.name = "flow_slope", .heading = "flow's slope", .decimals_as = 1}}),
      .notes = {"The slope is v_y tr(M S) / d: on the flow; in theory, of gradient descent on the exact loss at "
                "the same rate; and trained, on contexts that are used once.",
                "loss: the mean of the exact losses at the trained parameters."},
      .key_columns = 2};
  for (const RegressionMap map : maps) add_curve(parts, table, at, map);
  return {table, drift_table(at)};
}

}  // namespace

void add_options(CLI::App& app, RegressionOptions& o) {
  add_choice<RegressionFigure>(app, "--figure", o.figure, "What to show, see above",
                               {{"ends", RegressionFigure::ends},
                                {"curves", RegressionFigure::curves},
                                {"temperature", RegressionFigure::temperature},
                                {"heads", RegressionFigure::heads}});
  add_count<std::int64_t>(app, "--dimension", o.dimension, "Dimension of the inputs", 2, 100);
  add_count<std::int64_t>(app, "--context-length", o.context_length, "Examples in a context", 2, 100000);
  add_number(
      app, "--noise-variance", o.noise_variance, "Variance of the labels' noise",
      [](double value) { return value >= 0 && value <= 1e3; }, "0 <= value <= 1000");
  add_count<std::int64_t>(app, "--heads", o.heads, "With --figure heads: the most softmax heads of a layer", 1, 8);
  head_options(app, "Task");
  add_count<std::int64_t>(app, "--seeds", o.seeds, "Runs of training per row", 1, 1000);
  show_no_default(add_count<std::int64_t>(app, "--steps", o.steps,
                                          "Steps per run; default: ends 1000, and 3000 for softmax with its values, "
                                          "curves 200, temperature 400, heads 2000",
                                          8, 100000000));
  add_count<std::int64_t>(app, "--batch", o.batch, "Contexts per step, each used once; curves: twice as many", 1,
                          1 << 24);
  head_options(app, "Training");
  add_device_options(app, o.simulation);
  add_record_options(app, o.simulation, false);
  add_run_output_options(app, o.output);
}

void complete(const CLI::App& app, RegressionOptions& o, UnusedOptions& unused) {
  if (o.figure != RegressionFigure::heads) unused.add("--figure " + text_of(app, "--figure"), {"--heads"});
}

LinearTask<double> even_law(const RegressionOptions& o) {
  return LinearTask<double>::isotropic({.dimension = o.dimension,
                                        .task_variance = 1.0 / static_cast<double>(o.dimension),
                                        .noise_variance = o.noise_variance});
}

std::string sizes_in_words(const RegressionOptions& o) {
  return "d = " + std::to_string(o.dimension) + ", l = " + std::to_string(o.context_length);
}

std::vector<Column> with_training(std::vector<Column> columns) {
  for (Column& column : comparison_columns()) {
    if (column.name == "simulation") column.heading = "trained";
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Table> regression_tables(RegressionParts& parts) {
  const Setting at{parts.options};
  if (parts.options.figure == RegressionFigure::heads) return heads_tables(parts);
  if (parts.options.figure == RegressionFigure::ends) return ends_tables(parts, at);
  return parts.options.figure == RegressionFigure::curves ? curves_tables(parts, at) : temperature_tables(parts, at);
}

}  // namespace incontext::examples::train
