#include <incontext/numerics/minimum.hpp>

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// How many crowded contexts are kept. Each gives one query in a dense and one in a sparse neighborhood.
std::int64_t kept_contexts(const ClassifyOptions& o) { return std::max<std::int64_t>(512, o.simulation.trials / 4); }
/// How many contexts are drawn at most to find them.
std::int64_t most_tried(const ClassifyOptions& o) { return 16 * kept_contexts(o); }
constexpr int vertices = 100;

/// A query somewhere on the circle: the votes and the partition function that its context gives it, and its class.
struct Query {
  std::vector<double> votes;  ///< kernel sums per class
  double partition_function;  ///< their sum
  std::int64_t label;
  std::int64_t near;  ///< points near it
  std::vector<double> at;
};

double cosine(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1]; }

std::int64_t points_near(const SphereContext<double>& context, const std::vector<double>& at, double least_cosine) {
  std::int64_t count = 0;
  for (std::size_t j = 0; j < context.inputs.size(); j += 2) {
    count += cosine(&context.inputs[j], at.data()) > least_cosine ? 1 : 0;
  }
  return count;
}

std::int64_t nearest_prototype(const SphereContext<double>& context, const std::vector<double>& at) {
  std::size_t best = 0;
  for (std::size_t c = 0; c < context.prototypes.size(); c += 2) {
    best = cosine(&context.prototypes[c], at.data()) > cosine(&context.prototypes[best], at.data()) ? c : best;
  }
  return static_cast<std::int64_t>(best / 2);
}

/// The queries on the circle with the most points near them, and those with the fewest.
struct Ends {
  std::vector<double> dense, sparse;
};

Ends ends_of(const SphereContext<double>& context, double least_cosine) {
  Ends ends;
  std::int64_t most = -1, fewest = std::int64_t{1} << 60;
  for (int i = 0; i < vertices; ++i) {
    const double angle = boost::math::constants::two_pi<double>() * i / vertices;
    const std::vector<double> at{std::cos(angle), std::sin(angle)};
    const std::int64_t near = points_near(context, at, least_cosine);
    if (near > most) ends.dense = at;
    if (near < fewest) ends.sparse = at;
    most = std::max(most, near);
    fewest = std::min(fewest, near);
  }
  return ends;
}

struct Halves {
  std::vector<Query> dense, sparse;
  std::vector<SphereContext<double>> contexts = {};  ///< one for each dense query, and for each sparse one
  std::int64_t tried = 0;

  bool reached() const { return dense.size() >= 2; }
  std::vector<Query> both() const {
    std::vector<Query> all = dense;
    all.insert(all.end(), sparse.begin(), sparse.end());
    return all;
  }
};

/// The contexts from the number `first` on that are crowded enough.
Halves draw_halves(ClassifyRun& run, const SphereTask& task, double kappa, std::int64_t first = 0) {
  const ClassifyOptions& o = run.options;
  Halves halves;
  const auto is_enough = [&halves, &o] {
    return halves.tried >= most_tried(o) || static_cast<std::int64_t>(halves.dense.size()) >= kept_contexts(o);
  };
  for (; !is_enough() && !run.simulator.stopped(); ++halves.tried) {
    const SphereContext<double> context = run.simulator.context(task, static_cast<std::uint64_t>(first + halves.tried));
    if (mean_point_length(context) < o.crowding) continue;
    const Ends ends = ends_of(context, o.near_cosine);
    for (const auto& [at, half] : {std::pair{&ends.dense, &halves.dense}, {&ends.sparse, &halves.sparse}}) {
      auto [votes, partition_function] = kernel_votes(context, task, *at, kappa);
      half->push_back({std::move(votes), partition_function, nearest_prototype(context, *at),
                       points_near(context, *at, o.near_cosine), *at});
    }
    halves.contexts.push_back(context);
  }
  run.simulator.count(halves.tried, is_enough() ? halves.tried : most_tried(o));
  if (halves.dense.size() < 2 && is_enough()) {
    throw_input_error("--crowding", "is reached by no context", o.crowding, "a value that some contexts reach");
  }
  return halves;
}

/// Losses at a gain that may depend on the query's mass.
template <class Gain>
statistics::Estimate loss(const std::vector<Query>& queries, const Gain& gain) {
  std::vector<double> values;
  for (const Query& one : queries) values.push_back(loss_of(one.votes, gain(one.partition_function), one.label));
  return estimate_of(values);
}

/// The argument of `gain` at which the mean loss is least, NaN where that is an end of the search. Brent's method finds
/// it, because the loss is convex in this number.
template <class Gain>
double best_number(const std::vector<Query>& queries, const Gain& gain, double low, double high) {
  const auto at = [&](double log_number) {
    const double number = std::exp(log_number);
    return loss(queries, [&](double sum) { return gain(number, sum); }).mean;
  };
  return std::exp(numerics::minimum_between<double>(at, std::log(low), std::log(high), 20).inside());
}

double mean_of(const std::vector<Query>& queries, double (*number)(const Query&)) {
  double sum = 0;
  for (const Query& one : queries) sum += number(one);
  return sum / static_cast<double>(queries.size());
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// The learning rates n c / (partition function) that the adaptive rule uses for the queries of one half.
void add_rates(Table& table, const std::string& name, const std::vector<Query>& queries, double scale, double self,
               double own_best) {
  if (queries.size() < 2) {  // the run was stopped earlier
    std::vector<Cell> cells(table.columns.size());
    cells.front() = name;
    return table.add_row(std::move(cells));
  }
  std::vector<double> rates;
  for (const Query& one : queries) rates.push_back(scale / (one.partition_function + self));
  const auto mean = estimate_of(rates);
  table.add_row({name, mean_of(queries, [](const Query& q) { return static_cast<double>(q.near); }),
                 mean_of(queries, [](const Query& q) { return q.partition_function; }), own_best, mean.mean,
                 median_of(rates)});
}

/// The factors on the votes: of kernel descent at a learning rate, and of softmax, which depends on the query's
/// partition function and on whether the query is a key itself.
auto kernel_gain(double n) {
  return [n](double rate, double) { return rate / n; };
}
auto softmax_gain(double self) {
  return [self](double c, double sum) { return c / (sum + self); };
}

/// The best parameters: the kernel rule's rates on each half and on both together, and the gain c of softmax with the
/// query among the keys and without.
struct BestNumbers {
  double dense_rate, sparse_rate, common_rate, gain, gain_without_key;
};

BestNumbers best_numbers(const Halves& halves, double n) {
  if (!halves.reached()) return {};
  const std::vector<Query> both = halves.both();
  const auto rate = [n](const std::vector<Query>& queries) { return best_number(queries, kernel_gain(n), 0.1, 1e7); };
  const auto gain = [&both](double self) { return best_number(both, softmax_gain(self), 0.01, 1e5); };
  return {rate(halves.dense), rate(halves.sparse), rate(both), gain(1), gain(0)};
}

Table neighborhood_losses(const ClassifyOptions& o, double kappa, const Halves& halves, const BestNumbers& best) {
  Table table{.title = "Loss of kernel GD and softmax at queries in dense and in sparse neighborhoods: " +
                       in_words(o.task()) + ", kappa = " + in_words(kappa),
              .columns = {{"rule"},
                          parameter_column("number", "rate or c"),
                          {.name = "dense", .digits = 4, .decimals_as = 1},
                          {.name = "dense_error", .heading = "± error", .decimals_as = 1},
                          {.name = "sparse", .digits = 4, .decimals_as = 1},
                          {.name = "sparse_error", .heading = "± error", .decimals_as = 1},
                          {.name = "both", .digits = 4, .decimals_as = 1},
                          trials_column()}};
  const std::vector<Query> both = halves.both();
  const auto add = [&](const std::string& rule, double number, const auto& gain) {
    const auto at = [&](double sum) { return gain(number, sum); };
    const auto dense = loss(halves.dense, at), sparse = loss(halves.sparse, at);
    const Cell used = halves.reached() ? Cell(number) : Cell();
    table.add_row({rule, used, mean_cell(dense), error_cell(dense), mean_cell(sparse), error_cell(sparse),
                   mean_cell(loss(both, at)), dense.count});
  };
  const auto by_rate = kernel_gain(static_cast<double>(o.simulation.context_length));
  for (const double rate : log_spaced(best.common_rate / 30, best.common_rate * 30, 7)) add("kernel", rate, by_rate);
  add("kernel, best on dense", best.dense_rate, by_rate);
  add("kernel, best on sparse", best.sparse_rate, by_rate);
  add("kernel, best on both", best.common_rate, by_rate);
  add("softmax, best on both", best.gain, softmax_gain(1));
  add("softmax, no key", best.gain_without_key, softmax_gain(0));
  table.notes = {std::to_string(halves.dense.size()) + " contexts of " + std::to_string(halves.tried) +
                     " drawn whose points' mean is at least " + in_words(o.crowding) +
                     " long; of 100 even directions, the one with the most and with the fewest points of cosine > " +
                     in_words(o.near_cosine) +
                     ". The paper's text leaves these numbers open; kappa is the best of the kernel rule on all "
                     "contexts, unless it was given.",
                 "One rate for all is too small where points are few, or too large where they are many."};
  return table;
}

Table neighborhood_rates(double n, const Halves& halves, const BestNumbers& best) {
  Table table{
      .title = "Rates that softmax takes by itself, n c / (partition function + its own), where one rate would be best",
      .columns = {{"neighborhood"},
                  parameter_column("near", "points near"),
                  parameter_column("partition_function", "partition function"),
                  parameter_column("best_rate", "best rate"),
                  parameter_column("mean", "mean rate"),
                  parameter_column("median", "median rate")}};
  for (const auto& [key, c, self] : {std::tuple{"", best.gain, 1.0}, {", no key", best.gain_without_key, 0.0}}) {
    add_rates(table, std::string("dense") + key, halves.dense, n * c, self, best.dense_rate);
    add_rates(table, std::string("sparse") + key, halves.sparse, n * c, self, best.sparse_rate);
  }
  table.notes = {"Without the query's key a few empty neighborhoods carry the mean; the median does not see them."};
  return table;
}

/// The probability of the right class at dense and at sparse queries by sums of votes, and by attention over tokens in
/// further contexts.
Table attention_at_ends(ClassifyRun& run, double kappa, const BestNumbers& best) {
  const ClassifyOptions& o = run.options;
  const SphereTask task = o.task();
  const double n = static_cast<double>(task.context_length);
  Table table = comparison_table("The probability of the right class there, in contexts of their own",
                                 {{"neighborhood"}, {"rule"}, parameter_column("number", "rate or c")});
  table.columns[3].heading = "votes";
  table.columns[5].heading = "attention";
  const Halves by_votes = draw_halves(run, task, kappa, most_tried(o));
  const Halves by_tokens = draw_halves(run, task, kappa, 2 * most_tried(o));
  const auto votes_at = [](const std::vector<Query>& queries, double number, const auto& gain) {
    std::vector<double> values;
    for (const Query& one : queries) {
      values.push_back(std::exp(-loss_of(one.votes, gain(number, one.partition_function), one.label)));
    }
    return estimate_of(values);
  };
  const auto tokens_at = [&](const std::vector<Query>& queries, const Classifier& by) {
    std::vector<double> values;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      values.push_back(attention_probability(by_tokens.contexts[i], task, by, queries[i].at, queries[i].label));
    }
    return estimate_of(values);
  };
  const bool is_reached = by_votes.reached() && by_tokens.reached();
  for (const auto& [neighborhood, half] : {std::pair{"dense", &Halves::dense}, {"sparse", &Halves::sparse}}) {
    const auto add = [&, name = neighborhood, part = half](const std::string& rule, const Classifier& by,
                                                           const auto& gain, const auto& wrong_gain) {
      std::vector<Cell> cells{name, rule, by.gain};
      std::vector<Cell> comparison = unreached_comparison();
      if (is_reached) {
        const auto votes = votes_at(by_votes.*part, by.gain, gain), tokens = tokens_at(by_tokens.*part, by);
        statistics::Estimate both = tokens;
        both.standard_error = std::hypot(votes.standard_error, tokens.standard_error);
        comparison = run.judgment.judged({votes.mean, 1e-9}, both);
        const auto wrong = votes_at(by_votes.*part, by.gain, wrong_gain);
        both.standard_error = std::hypot(wrong.standard_error, tokens.standard_error);
        run.controls.add("probability, " + rule + (rule == "softmax" ? " without its key" : " at half the rate"), name,
                         wrong.mean, votes.mean, both);
      }
      table.add_row(std::move(cells), comparison);
    };
    const auto half_rate = [n](double rate, double) { return rate / n / 2; };
    add("kernel", {ClassificationRule::kernel, kappa, best.common_rate}, kernel_gain(n), half_rate);
    add("softmax", {ClassificationRule::adaptive_with_query, kappa, best.gain}, softmax_gain(1), softmax_gain(0));
  }
  table.notes = {"Rate and gain are the best on both of the tables above; ± error of the difference."};
  return table;
}

}  // namespace

std::vector<Table> neighborhoods_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const double n = static_cast<double>(o.simulation.context_length);
  const Chosen best_kernel = best_of(run.simulator, o.task(), RuleChoice::kernel, o.kappa);
  const double kappa = best_kernel.classifier.kappa;
  const Halves halves = draw_halves(run, o.task(), kappa);
  const BestNumbers best = best_numbers(halves, n);
  return {neighborhood_losses(o, kappa, halves, best), neighborhood_rates(n, halves, best),
          attention_at_ends(run, kappa, best), circle_table(run, kappa, CircleRows::votes), referee_table(run, {2})};
}

}  // namespace incontext::examples::classify
