#include "examples/classify/simulator.hpp"

#include <incontext/simulate/classification.hpp>
#include <incontext/simulate/classification_grid.hpp>
#include <incontext/simulate/classification_search.hpp>

#include <tuple>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples {

namespace {

simulate::ClassificationRule plain(Rule rule) {
  switch (rule) {
    case Rule::linear:
      return simulate::ClassificationRule::linear;
    case Rule::kernel:
      return simulate::ClassificationRule::kernel;
    case Rule::adaptive:
      return simulate::ClassificationRule::adaptive;
    case Rule::adaptive_with_query:
      break;
  }
  return simulate::ClassificationRule::adaptive_with_query;
}

simulate::Classifier plain(const Classifier& classifier) {
  return {plain(classifier.rule), classifier.kappa, classifier.gain};
}

simulate::SphereTask plain(const SphereTask& task) { return {task.dimension, task.classes, task.context_length}; }

simulate::ClassificationGrid plain(const Grid& grid) {
  return {plain(grid.rule), grid.kappas, grid.gains,
          grid.slope_chart ? simulate::GridChart::slope : simulate::GridChart::gain};
}

Place place_of(simulate::AxisPlace place) {
  switch (place) {
    case simulate::AxisPlace::inside:
      return Place::inside;
    case simulate::AxisPlace::lowest:
      return Place::lowest;
    case simulate::AxisPlace::highest:
      return Place::highest;
    case simulate::AxisPlace::fixed:
      break;
  }
  return Place::fixed;
}

}  // namespace

struct Simulator::State {
  SimulationRuns runs;
  std::uint64_t seed;
  std::int64_t search_trials;

  simulate::Options searching(simulate::Options options) const {
    options.trials = search_trials;
    options.relative_error = 0;
    return options;
  }
};

Simulator::Simulator(const SimulationOptions& options, std::int64_t search_trials, bool quiet)
    : state_(new State{SimulationRuns(options, quiet), options.seed, search_trials}) {}

Simulator::~Simulator() = default;

bool Simulator::stopped() const { return state_->runs.stopped(); }
const RunRecord& Simulator::record() const { return state_->runs.record(); }
void Simulator::count(std::int64_t trials, std::int64_t planned) { state_->runs.count(trials, planned); }

std::vector<Metrics> Simulator::metrics(const std::string& what, const SphereTask& task,
                                        const std::vector<Classifier>& classifiers, std::int64_t most_trials) {
  std::vector<simulate::Classifier> points;
  for (const Classifier& classifier : classifiers) points.push_back(plain(classifier));
  constexpr std::size_t each = std::tuple_size_v<decltype(Metrics::all)>;
  const auto estimates = state_->runs.run(what, points.size() * each, [&](simulate::Options options) {
    const bool is_more = options.trials == 0 || options.trials > most_trials;
    if (most_trials > 0 && is_more) options.trials = most_trials;
    return simulate::classification(plain(task), points, options).run;
  });
  std::vector<Metrics> result(points.size());
  for (std::size_t i = 0; i < estimates.size(); ++i) result[i / each].all[i % each] = estimates[i];
  return result;
}

std::vector<Alignment> Simulator::alignment(const std::string& what, const SphereTask& task,
                                            const std::vector<std::pair<Classifier, Classifier>>& pairs) {
  std::vector<simulate::ClassifierPair> points;
  for (const auto& [first, second] : pairs) points.push_back({plain(first), plain(second)});
  const auto estimates = state_->runs.run(what, points.size() * 3, [&](const simulate::Options& options) {
    return simulate::classification_alignment(plain(task), points, options).run;
  });
  std::vector<Alignment> result;
  for (std::size_t i = 0; i < points.size(); ++i) {
    result.push_back({estimates[3 * i], estimates[3 * i + 1], estimates[3 * i + 2]});
  }
  return result;
}

Optimum Simulator::search(const std::string& what, const SphereTask& task, const Grid& grid) {
  simulate::ClassificationOptimum found{};
  found.best = plain(grid).classifier(grid.kappas.front(), grid.gains.front());  // after Ctrl-C nothing is searched
  state_->runs.run(what, 0, [&](const simulate::Options& options) {
    found = simulate::classification_search(plain(task), plain(grid), state_->searching(options));
    return found.grid;
  });
  const auto& best = found.best;
  const double slope =
      grid.slope_chart || best.rule == simulate::ClassificationRule::linear ? found.chart_gain : best.kappa * best.gain;
  const Rule rule = best.rule == simulate::ClassificationRule::linear ? Rule::linear : grid.rule;
  return {{rule, best.kappa, best.gain}, slope, found.loss, place_of(found.kappa_place), place_of(found.gain_place),
          found.loss.count > 0 && !state_->runs.stopped()};
}

GridLosses Simulator::losses(const std::string& what, const SphereTask& task, const Grid& grid, int reference,
                             Effort effort) {
  const std::size_t size = grid.kappas.size() * grid.gains.size();
  const auto estimates = state_->runs.run(what, 2 * size + grid.kappas.size(), [&](const simulate::Options& options) {
    auto at = state_->searching(options);
    if (effort == Effort::twofold && options.trials > 0) at.trials = 2 * options.trials;
    return simulate::classification_grid(plain(task), plain(grid), at, reference).run;
  });
  const auto first = estimates.begin();
  GridLosses result{{first, first + static_cast<std::ptrdiff_t>(size)}, {}};
  if (reference >= 0) result.differences.assign(estimates.end() - static_cast<std::ptrdiff_t>(size), estimates.end());
  return result;
}

DrawnContext Simulator::context(const SphereTask& task, std::uint64_t number) const {
  const auto drawn = simulate::draw_sphere_context<double>(plain(task), state_->seed, number);
  return {drawn.inputs, drawn.labels, drawn.query, drawn.query_label, drawn.prototypes};
}

}  // namespace incontext::examples
