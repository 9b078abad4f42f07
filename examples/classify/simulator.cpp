#include "examples/classify/simulator.hpp"

#include <incontext/classification/context_constructions.hpp>
#include <incontext/simulate/classification/adaptive_onset.hpp>
#include <incontext/simulate/classification/classification_contrasts.hpp>
#include <incontext/simulate/classification/classification_grid.hpp>
#include <incontext/simulate/classification/classification_search.hpp>
#include <incontext/simulate/classification/classifiers.hpp>
#include <incontext/simulate/classification/context_attention.hpp>
#include <incontext/simulate/classification/partition_function.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::classify {

namespace {

/// Trials of Effort::manifold to one of the options.
constexpr std::int64_t many = 16;

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
const RunSummary& Simulator::summary() const { return state_->runs.summary(); }
void Simulator::count(std::int64_t trials, std::int64_t planned) { state_->runs.count(trials, planned); }

ClassificationSimulation Simulator::metrics(const std::string& what, const SphereTask& task,
                                            const std::vector<Classifier>& classifiers, Effort effort) {
  constexpr std::size_t metrics = 1 + static_cast<std::size_t>(ClassificationMetric::confident_error);
  return {state_->runs.run(what, classifiers.size() * metrics, [&](simulate::Options options) {
    if (effort == Effort::manifold) options.trials *= many;
    return simulate::classification(task, classifiers, options).run;
  })};
}

ClassificationContrasts Simulator::contrasts(const std::string& what, const SphereTask& task,
                                             const std::vector<Classifier>& classifiers,
                                             const std::vector<IndexPair>& pairs) {
  constexpr std::size_t metrics = 1 + static_cast<std::size_t>(ClassificationMetric::confident_error);
  const auto simulation = [&](simulate::Options options) {
    // a difference may be 0, and has no relative error to aim at
    if (options.relative_error > 0) options = state_->searching(options);
    return simulate::classification_contrasts(task, classifiers, pairs, options).run;
  };
  return {state_->runs.run(what, classifiers.size() * metrics + 2 * pairs.size(), simulation), classifiers.size()};
}

ContextAttentionSimulation Simulator::attention(const std::string& what, const SphereTask& task, const Classifier& by,
                                                Effort effort) {
  namespace law = classification;
  const auto [d, k, n] = std::tuple{task.dimension, task.classes, task.context_length};
  constexpr std::size_t metrics = 1 + static_cast<std::size_t>(ContextAttentionMetric::squared_margin);
  using Dot = simulate::DotActivation<float>;
  return {state_->runs.run(what, metrics, [&, d = d, k = k, n = n](simulate::Options options) {
    if (effort == Effort::manifold) options.trials *= many;
    if (by.rule == ClassificationRule::linear) {
      const auto weights = law::linear_construction(d, k, n, by.gain);
      return simulate::context_attention(task, weights, Dot{Dot::Kind::identity, 1}, QueryToken::included, options).run;
    }
    if (by.rule == ClassificationRule::kernel) {
      const auto weights = law::rbf_construction(d, k, n, by.kappa, by.gain);
      return simulate::context_attention(task, weights, simulate::RadialActivation<float>{}, QueryToken::included,
                                         options)
          .run;
    }
    const bool is_key = by.rule == ClassificationRule::adaptive_with_query;
    const float scale = 1 / std::sqrt(static_cast<float>(d + k));
    return simulate::context_attention(task, law::softmax_construction(d, k, by.kappa, by.gain),
                                       Dot{Dot::Kind::softmax, scale},
                                       is_key ? QueryToken::included : QueryToken::excluded, options)
        .run;
  })};
}

PartitionFunctionSimulation Simulator::partition_function(const std::string& what, const SphereTask& task,
                                                          const std::vector<double>& kappas) {
  const std::size_t size = 7 * kappas.size() + 4;
  auto [run, result] = state_->runs.run(what, size, [&](const simulate::Options& options) {
    auto found = simulate::partition_function(task, kappas, options);
    return std::pair(found.run, std::move(found));
  });
  result.run = run;
  result.kernels = kappas.size();
  result.independent_variance.resize(kappas.size());
  return result;
}

AdaptiveOnsetSimulation Simulator::onset(const std::string& what, const SphereTask& task,
                                         const std::vector<double>& rates, Effort effort, double tilt) {
  const auto simulation = [&](simulate::Options options) {
    // a derivative may be 0, and has no relative error to aim at
    if (effort == Effort::search || options.relative_error > 0) options = state_->searching(options);
    if (effort == Effort::manifold) options.trials *= many;
    return simulate::adaptive_onset(task, rates, options, tilt).run;
  };
  return {state_->runs.run(what, 3 * rates.size(), simulation)};
}

AlignmentSimulation Simulator::alignment(const std::string& what, const SphereTask& task,
                                         const std::vector<ClassifierPair>& pairs) {
  constexpr std::size_t metrics = 1 + static_cast<std::size_t>(AlignmentMetric::sensitivity_difference);
  return {state_->runs.run(what, pairs.size() * metrics, [&](const simulate::Options& options) {
    return simulate::classification_alignment(task, pairs, options).run;
  })};
}

std::optional<ClassificationOptimum> Simulator::search(const std::string& what, const SphereTask& task,
                                                       const ClassificationGrid& grid) {
  return search_part(what, task, grid, 1);
}

std::optional<ClassificationOptimum> Simulator::search_part(const std::string& what, const SphereTask& task,
                                                            const ClassificationGrid& grid, std::int64_t parts) {
  const auto search = [&](const simulate::Options& options) {
    auto at = state_->searching(options);
    at.trials = std::max<std::int64_t>(2, at.trials / parts);
    auto one = simulate::classification_search(task, grid, at);
    return std::pair(one.grid, std::move(one));
  };
  ClassificationOptimum found = state_->runs.run(what, 0, search).second;
  if (found.loss.count == 0 || state_->runs.stopped()) return {};
  return found;
}

ClassificationGridSimulation Simulator::losses(const std::string& what, const SphereTask& task,
                                               const ClassificationGrid& grid, std::int64_t reference, Effort effort) {
  const std::size_t kappas = grid.kappas.size(), gains = grid.gains.size();
  const auto simulation = [&](const simulate::Options& options) {
    auto at = state_->searching(options);
    if (effort == Effort::twofold && options.trials > 0) at.trials = 2 * options.trials;
    return simulate::classification_grid(task, grid, at, reference).run;
  };
  return {state_->runs.run(what, 2 * kappas * gains + kappas, simulation), kappas, gains};
}

SphereContext<double> Simulator::context(const SphereTask& task, std::uint64_t number) const {
  return simulate::draw_sphere_context<double>(task, state_->seed, number);
}

}  // namespace incontext::examples::classify
