#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "describe.hpp"
#include "incontext/classification/context.hpp"
#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/simulate/classification/adaptive_onset.hpp"
#include "incontext/simulate/classification/classification_contrasts.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classification_search.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/classification/context_attention.hpp"
#include "incontext/simulate/classification/partition_function.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "simulate_runs.hpp"

namespace law = incontext::simulate;

namespace incontext::python {

namespace {

using namespace nb::literals;
using simulate::Options;
using simulate::SphereTask;

void bind_rules(nb::module_& m, Room& room) {
  nb::class_<simulate::ClassificationSimulation> rules(m, "ClassificationSimulation",
                                                       room.docs("ClassificationSimulation"));
  describe(rules);
  pickle_by(rules, &simulate::ClassificationSimulation::run);
  rules.def_ro("run", &simulate::ClassificationSimulation::run)
      .def(
          "at",
          [](const simulate::ClassificationSimulation& s, std::size_t point, simulate::ClassificationMetric metric) {
            return s.at(point, metric);
          },
          "point"_a, "metric"_a);
  m.def(
      "classification",
      [](const SphereTask& task, const std::vector<simulate::Classifier>& classifiers, const nb::kwargs& options) {
        return run_simulation(options,
                              [&](const Options& o) { return simulate::classification(task, classifiers, o); });
      },
      "task"_a, "classifiers"_a, "options"_a, with_options(room.docs("classification")));
  nb::class_<simulate::AlignmentSimulation> alignment(m, "AlignmentSimulation", room.docs("AlignmentSimulation"));
  describe(alignment);
  pickle_by(alignment, &simulate::AlignmentSimulation::run);
  alignment.def_ro("run", &simulate::AlignmentSimulation::run)
      .def(
          "at",
          [](const simulate::AlignmentSimulation& s, std::size_t pair, simulate::AlignmentMetric metric) {
            return s.at(pair, metric);
          },
          "pair"_a, "metric"_a);
  m.def(
      "classification_alignment",
      [](const SphereTask& task, const std::vector<std::pair<simulate::Classifier, simulate::Classifier>>& pairs,
         const nb::kwargs& options) {
        std::vector<simulate::ClassifierPair> both;
        for (const auto& [first, second] : pairs) both.push_back({first, second});
        return run_simulation(options,
                              [&](const Options& o) { return simulate::classification_alignment(task, both, o); });
      },
      "task"_a, "pairs"_a, "options"_a, with_options(room.docs("classification_alignment")));
  nb::class_<simulate::ClassificationContrasts> contrasts(m, "ClassificationContrasts",
                                                          room.docs("ClassificationContrasts"));
  describe(contrasts);
  pickle_by(contrasts, &simulate::ClassificationContrasts::run, &simulate::ClassificationContrasts::classifiers);
  contrasts.def_ro("run", &simulate::ClassificationContrasts::run)
      .def_ro("classifiers", &simulate::ClassificationContrasts::classifiers)
      .def(
          "at",
          [](const simulate::ClassificationContrasts& s, std::size_t point, simulate::ClassificationMetric metric) {
            return s.at(point, metric);
          },
          "point"_a, "metric"_a)
      .def(
          "loss_difference",
          [](const simulate::ClassificationContrasts& s, std::size_t pair) { return s.loss_difference(pair); },
          "pair"_a)
      .def(
          "accuracy_difference",
          [](const simulate::ClassificationContrasts& s, std::size_t pair) { return s.accuracy_difference(pair); },
          "pair"_a);
  m.def(
      "classification_contrasts",
      [](const SphereTask& task, const std::vector<simulate::Classifier>& classifiers,
         const std::vector<std::pair<std::int32_t, std::int32_t>>& pairs, const nb::kwargs& options) {
        std::vector<simulate::IndexPair> both;
        for (const auto& [first, second] : pairs) both.push_back({first, second});
        return run_simulation(
            options, [&](const Options& o) { return simulate::classification_contrasts(task, classifiers, both, o); });
      },
      "task"_a, "classifiers"_a, "pairs"_a, "options"_a, with_options(room.docs("classification_contrasts")));
}

void bind_grids(nb::module_& m, Room& room) {
  m.def("log_grid", &simulate::log_grid, "low"_a, "high"_a, "count"_a, room.docs("log_grid"));
  nb::class_<simulate::ClassificationGridSimulation> points(m, "ClassificationGridSimulation",
                                                            room.docs("ClassificationGridSimulation"));
  describe(points);
  pickle_by(points, &simulate::ClassificationGridSimulation::run, &simulate::ClassificationGridSimulation::kappas,
            &simulate::ClassificationGridSimulation::gains);
  points.def_ro("run", &simulate::ClassificationGridSimulation::run)
      .def_ro("kappas", &simulate::ClassificationGridSimulation::kappas)
      .def_ro("gains", &simulate::ClassificationGridSimulation::gains)
      .def(
          "loss",
          [](const simulate::ClassificationGridSimulation& s, std::size_t kappa, std::size_t gain) {
            return s.loss(kappa, gain);
          },
          "kappa"_a, "gain"_a)
      .def(
          "accuracy",
          [](const simulate::ClassificationGridSimulation& s, std::size_t kappa) { return s.accuracy(kappa); },
          "kappa"_a)
      .def(
          "loss_difference",
          [](const simulate::ClassificationGridSimulation& s, std::size_t kappa, std::size_t gain) {
            return s.loss_difference(kappa, gain);
          },
          "kappa"_a, "gain"_a);
  m.def(
      "classification_grid",
      [](const SphereTask& task, const simulate::ClassificationGrid& grid, std::int64_t reference,
         const nb::kwargs& options) {
        return run_simulation(
            options, [&](const Options& o) { return simulate::classification_grid(task, grid, o, reference); });
      },
      "task"_a, "grid"_a, "reference"_a = simulate::no_reference, "options"_a,
      with_options(room.docs("classification_grid")));
  nb::class_<simulate::ClassificationOptimum> optimum(m, "ClassificationOptimum", room.docs("ClassificationOptimum"));
  describe(optimum);
  pickle_by(optimum, &simulate::ClassificationOptimum::best, &simulate::ClassificationOptimum::chart_gain,
            &simulate::ClassificationOptimum::loss, &simulate::ClassificationOptimum::accuracy,
            &simulate::ClassificationOptimum::kappa_place, &simulate::ClassificationOptimum::gain_place,
            &simulate::ClassificationOptimum::kappa_step, &simulate::ClassificationOptimum::gain_step,
            &simulate::ClassificationOptimum::end, &simulate::ClassificationOptimum::zooms,
            &simulate::ClassificationOptimum::grid);
  optimum.def_ro("best", &simulate::ClassificationOptimum::best)
      .def_ro("chart_gain", &simulate::ClassificationOptimum::chart_gain)
      .def_ro("loss", &simulate::ClassificationOptimum::loss)
      .def_ro("accuracy", &simulate::ClassificationOptimum::accuracy)
      .def_ro("kappa_place", &simulate::ClassificationOptimum::kappa_place)
      .def_ro("gain_place", &simulate::ClassificationOptimum::gain_place)
      .def_ro("kappa_step", &simulate::ClassificationOptimum::kappa_step)
      .def_ro("gain_step", &simulate::ClassificationOptimum::gain_step)
      .def_ro("end", &simulate::ClassificationOptimum::end)
      .def_ro("zooms", &simulate::ClassificationOptimum::zooms)
      .def_ro("grid", &simulate::ClassificationOptimum::grid)
      .def("is_inside", &simulate::ClassificationOptimum::is_inside);
  m.def(
      "classification_search",
      [](const SphereTask& task, const simulate::ClassificationGrid& grid,
         const std::optional<simulate::SearchOptions>& search, const nb::kwargs& options) {
        return run_simulation(options, [&](const Options& o) {
          return simulate::classification_search(task, grid, o, search.value_or(simulate::SearchOptions{}));
        });
      },
      "task"_a, "grid"_a, "search"_a = nb::none(), "options"_a, with_options(room.docs("classification_search")));
}

void bind_layers(nb::module_& m, Room& room) {
  nb::class_<simulate::ContextAttentionSimulation> layer(m, "ContextAttentionSimulation",
                                                         room.docs("ContextAttentionSimulation"));
  describe(layer);
  pickle_by(layer, &simulate::ContextAttentionSimulation::run);
  layer.def_ro("run", &simulate::ContextAttentionSimulation::run)
      .def(
          "at",
          [](const simulate::ContextAttentionSimulation& s, simulate::ContextAttentionMetric metric) {
            return s.at(metric);
          },
          "metric"_a);
  m.def(
      "context_attention",
      [](const SphereTask& task, const classification::ContextWeights<double>& weights, const std::string& activation,
         double scale, QueryToken query, const nb::kwargs& options) {
        using Dot = simulate::DotActivation<float>;
        return run_simulation(options, [&](const Options& o) {
          if (activation == "radial") {
            return simulate::context_attention(task, weights, simulate::RadialActivation<float>{}, query, o);
          }
          Dot dot{Dot::Kind::softmax, static_cast<float>(scale)};
          if (activation == "identity") {
            dot.kind = Dot::Kind::identity;
          } else if (activation == "exponential") {
            dot.kind = Dot::Kind::exponential;
          } else if (activation != "softmax") {
            throw_invalid_argument("simulate::context_attention", "activation is unknown", activation,
                                   "identity, exponential, softmax or radial");
          }
          return simulate::context_attention(task, weights, dot, query, o);
        });
      },
      "task"_a, "weights"_a, "activation"_a = "softmax", "scale"_a = 1.0,
      "query"_a.sig("incontext.regression.QueryToken.included") = 1, "options"_a,
      with_options(room.docs("context_attention")));
  nb::class_<simulate::PartitionFunctionSimulation> partition(m, "PartitionFunctionSimulation",
                                                              room.docs("PartitionFunctionSimulation"));
  describe(partition);
  pickle_by(partition, &simulate::PartitionFunctionSimulation::run, &simulate::PartitionFunctionSimulation::kernels,
            &simulate::PartitionFunctionSimulation::independent_variance);
  partition.def_ro("run", &simulate::PartitionFunctionSimulation::run)
      .def_ro("kernels", &simulate::PartitionFunctionSimulation::kernels)
      .def_ro("independent_variance", &simulate::PartitionFunctionSimulation::independent_variance)
      .def(
          "at",
          [](const simulate::PartitionFunctionSimulation& s, std::size_t kernel,
             simulate::PartitionFunctionMetric metric) { return s.at(kernel, metric); },
          "kernel"_a, "metric"_a)
      .def(
          "at",
          [](const simulate::PartitionFunctionSimulation& s, simulate::BalanceMetric metric) { return s.at(metric); },
          "metric"_a)
      .def("variance_ratio", &simulate::PartitionFunctionSimulation::variance_ratio, "kernel"_a)
      .def("variation", &simulate::PartitionFunctionSimulation::variation, "kernel"_a);
  m.def(
      "partition_function",
      [](const SphereTask& task, const std::vector<double>& kappas, const nb::kwargs& options) {
        return run_simulation(options, [&](const Options& o) { return simulate::partition_function(task, kappas, o); });
      },
      "task"_a, "kappas"_a, "options"_a, with_options(room.docs("partition_function")));
  nb::class_<simulate::AdaptiveOnsetSimulation> onset(m, "AdaptiveOnsetSimulation",
                                                      room.docs("AdaptiveOnsetSimulation"));
  describe(onset);
  pickle_by(onset, &simulate::AdaptiveOnsetSimulation::run);
  onset.def_ro("run", &simulate::AdaptiveOnsetSimulation::run)
      .def(
          "at",
          [](const simulate::AdaptiveOnsetSimulation& s, std::size_t rate, simulate::AdaptiveOnsetMetric metric) {
            return s.at(rate, metric);
          },
          "rate"_a, "metric"_a);
  m.def(
      "adaptive_onset",
      [](const SphereTask& task, const std::vector<double>& rates, double tilt, const nb::kwargs& options) {
        return run_simulation(options,
                              [&](const Options& o) { return simulate::adaptive_onset(task, rates, o, tilt); });
      },
      "task"_a, "rates"_a, "tilt"_a = 0.0, "options"_a, with_options(room.docs("adaptive_onset")));
  m.def(
      "draw_sphere_context",
      [](const SphereTask& task, std::uint64_t seed, std::uint64_t trial) {
        return simulate::draw_sphere_context<double>(task, seed, trial);
      },
      "task"_a, "seed"_a, "trial"_a, room.docs("draw_sphere_context"));
}

}  // namespace

void bind_simulate_classification(Room& room) {
  bind_rules(room.module(), room);
  bind_grids(room.module(), room);
  bind_layers(room.module(), room);
}

}  // namespace incontext::python
