#include <incontext/core/count.hpp>
#include <incontext/laws/needle_cross_entropy.hpp>
#include <incontext/numerics/minimum.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

#include "examples/support/text.hpp"
#include "examples/train/sequences.hpp"

namespace incontext::examples::train {

namespace {

using statistics::Estimate;

/// Competitors and needle of one part.
struct NeedleSetting {
  std::string words;
  bool normal;
  laws::NormalNeedle<double> needle;
};

const std::vector<NeedleSetting>& needle_settings() {
  static const std::vector<NeedleSetting> all{{"U(0, 1), needle N(1.5, 0.5^2)", false, {1.5, 0.5}},
                                              {"N(0, 1), needle N(3, 1)", true, {3, 1}}};
  return all;
}

template <class Function>
auto with_needle_law(const NeedleSetting& at, const Function& function) {
  return at.normal ? function(laws::NormalLaw<double>{1}) : function(laws::UniformLaw<double>{0, 1});
}

double needle_optimum(const NeedleSetting& at, std::int64_t length) {
  return with_needle_law(at, [&](const auto& law) {
    return laws::optimal_needle_temperature(law, Count<double>(length - 1), at.needle).inverse_temperature;
  });
}

/// The s at which the mean cross entropy over the lengths is least, NaN where it is not between 0.05 and 20.
double best_scale(const NeedleSetting& at, const std::vector<std::int64_t>& lengths) {
  return with_needle_law(at, [&](const auto& law) {
    const auto loss = [&](double log_scale) {
      double sum = 0;
      for (const std::int64_t n : lengths) {
        const double beta = std::exp(log_scale) * std::log(static_cast<double>(n));
        sum += laws::needle_cross_entropy(law, Count<double>(n - 1), at.needle, beta).value;
      }
      return sum;
    };
    return std::exp(numerics::minimum_between<double>(loss, std::log(0.05), std::log(20.0), 20).inside());
  });
}

/// Relative: what single precision and Brent's minimization leave uncertain of an optimum.
constexpr double optimum_accuracy = 1e-3;

/// The mean over seeds of the number that a run learns.
Estimate learned_over_seeds(NeedleParts& parts, const std::string& what, NeedleRun run) {
  std::vector<double> values;
  for (std::int64_t seed = 0; seed < parts.options.seeds && !parts.simulator.stopped(); ++seed) {
    run.seed = parts.options.simulation.seed + static_cast<std::uint64_t>(seed);
    const double value = parts.simulator.needle(what, run);
    if (std::isfinite(value)) values.push_back(value);
  }
  return estimate_of_runs(values);
}

/// The rows on which all seeds were trained.
std::int64_t rows_of(const NeedleOptions& o, const Estimate& seeds) { return seeds.count * o.steps * o.batch; }

NeedleRun needle_run(const NeedleOptions& o, const NeedleSetting& at, std::vector<std::int64_t> lengths) {
  return {.lengths = std::move(lengths),
          .normal_competitors = at.normal,
          .needle_mean = at.needle.mean,
          .needle_stddev = at.needle.stddev,
          .steps = o.steps,
          .batch = o.batch};
}

/// A row for a learned number beside its optimum.
void add_learned(NeedleParts& parts, Table& table, std::vector<Cell> cells, double optimum, const Estimate& learned) {
  const auto comparison =
      parts.judgment.judged({optimum, optimum_accuracy * optimum}, learned, rows_of(parts.options, learned));
  table.add_row(std::move(cells), comparison);
}

/// Inverse temperatures that training should not reach.
void add_needle_controls(NeedleParts& parts, const NeedleSetting& at, std::int64_t n, bool is_shortest, double optimum,
                         const Estimate& learned) {
  const std::string place = at.words + ", n = " + std::to_string(n);
  if (at.normal) {
    parts.controls.add({"half of Bayes' m/v", place}, at.needle.mean / 2, optimum, learned);
    return;
  }
  parts.controls.add({"p_n = 1, softmax as it is", place}, 1, optimum, learned);
  if (!is_shortest) {
    parts.controls.add({"p_n of a row a quarter as long", place}, needle_optimum(at, n / 4), optimum, learned);
  }
}

/// Fig. 2's law, slope log n + constant.
struct LogLaw {
  double slope, constant;
};

/// The law of least squares through what was learned at each length.
LogLaw log_law_through(const std::vector<std::int64_t>& lengths, const std::vector<double>& learned) {
  std::vector<double> logs;
  for (const std::int64_t n : lengths) logs.push_back(std::log(static_cast<double>(n)));
  const double mean_log = estimate_of_runs(logs).mean, mean_learned = estimate_of_runs(learned).mean;
  double products = 0, squares = 0;
  for (std::size_t k = 0; k < logs.size(); ++k) {
    products += (logs[k] - mean_log) * (learned[k] - mean_learned);
    squares += (logs[k] - mean_log) * (logs[k] - mean_log);
  }
  const double slope = products / squares;
  return {slope, mean_learned - slope * mean_log};
}

Table needle_table(NeedleParts& parts, const NeedleSetting& at, const std::vector<std::int64_t>& lengths) {
  const NeedleOptions& o = parts.options;
  Table table{.title = "The inverse temperature learned at each length: competitors " + at.words,
              .columns = {{"parameter"}, {.name = "n", .style = Style::shortest}},
              .key_columns = 2};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  std::vector<double> ends;
  for (const std::int64_t n : lengths) {
    const double optimum = needle_optimum(at, n);
    const Estimate end = learned_over_seeds(parts, "needle, n = " + std::to_string(n), needle_run(o, at, {n}));
    add_learned(parts, table, {std::string("p_n"), n}, optimum, end);
    add_needle_controls(parts, at, n, n == lengths.front(), optimum, end);
    ends.push_back(end.mean);
  }
  NeedleRun joint = needle_run(o, at, lengths);
  joint.by_log_length = true;
  joint.rate = 0.3;
  const double scale = best_scale(at, lengths);
  add_learned(parts, table, {std::string("s, all n"), Cell()}, scale, learned_over_seeds(parts, "needle, s", joint));
  const LogLaw law = log_law_through(lengths, ends);
  table.notes = {"theory: the least of the cross entropy's mean over all rows; simulation: after " +
                     std::to_string(o.steps) + " steps of Adam, " + std::to_string(o.batch) + " rows each, mean over " +
                     std::to_string(o.seeds) + " seeds.",
                 "z leaves aside 0.1% of the theory, which is how exactly its optimum is found.",
                 "Fig. 2's law a1 log n + a2 through what was learned: a1 = " + short_text(law.slope, 3) +
                     ", a2 = " + short_text(law.constant, 3) +
                     (at.normal ? ". Theory: a1 = 0, as Bayes' m/v holds at every length."
                                : ". The rows are too short for the slope of long ones, which theory gives as " +
                                      short_text(laws::bounded_log_slope(at.needle, 1.0), 3) + ".")};
  return table;
}

}  // namespace

void add_options(CLI::App& app, NeedleOptions& o) {
  add_full_flag(app, o);
  head_options(app, "Task");
  add_edition_count(app, o, "--seeds", o.seeds, "Runs of training, with the seeds --seed, --seed + 1, ...", 8, 16,
                    1000);
  add_edition_count(app, o, "--steps", o.steps, "Steps of Adam per run", 300, 1000, 100000000);
  add_edition_count(app, o, "--batch", o.batch, "Rows per step and length, each used once", 64, 64, 1 << 24);
  head_options(app, "Training");
  add_device_options(app, o.simulation);
  add_record_options(app, o.simulation, false);
  add_run_output_options(app, o.output);
}

std::vector<Table> needle_tables(NeedleParts& parts) {
  std::vector<std::int64_t> lengths{16, 64, 256};
  if (parts.options.full) lengths.insert(lengths.end(), {1024, 4096});
  std::vector<Table> tables;
  for (const NeedleSetting& at : needle_settings()) tables.push_back(needle_table(parts, at, lengths));
  return tables;
}

}  // namespace incontext::examples::train
