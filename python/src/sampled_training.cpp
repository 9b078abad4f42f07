#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "device_records.hpp"
#include "incontext/classification/context.hpp"
#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/sampled_training/context_training.hpp"
#include "incontext/sampled_training/needle_training.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "lengths.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "sampled_training.hpp"
#include "scoring_maps.hpp"

/// Training on contexts that are drawn as they are needed: the layers of incontext train, with its bits.
namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;

Sampled sampled_contexts(const training::ContextLayer& layer, const maps::AnyMap<float>& map,
                         const training::ContextBatches& batches, D initial_scale) {
  const training::ContextTraining training(layer, map, batches);
  return {.initial = training.initial(initial_scale),
          .gradient = training.gradient(),
          .evaluate =
              [training](Parameters at, I contexts) {
                const auto [loss, accuracy] = training.evaluate(at, contexts);
                return std::vector<statistics::Estimate>{loss, accuracy};
              },
          .layer = [training](Parameters at) { return nb::cast(training.heads(at)); }};
}

void bind_factories(nb::module_& m) {
  m.def(
      "_context_training",
      [](const simulate::SphereTask& task, nb::handle map, D scale, int heads, QueryToken query,
         training::ContextParameters parameters, D initial_scale, I batch, std::uint64_t seed, const nb::object& device,
         int threads) {
        const training::ContextLayer layer{task, scale, heads, query, parameters};
        const training::ContextBatches batches{batch, seed, device_of(device), threads};
        return sampled_contexts(layer, any_map<float>(map), batches, initial_scale);
      },
      "task"_a, "map"_a, "scale"_a, "heads"_a, "query"_a, "parameters"_a, "initial_scale"_a, "batch"_a, "seed"_a,
      "device"_a, "threads"_a, "What incontext.training.ContextTraining is made of.");
  m.def(
      "_needle_training",
      [](const Counts& lengths, training::NeedleRule rule, simulate::ScoreLaw law, D needle_mean, D needle_stddev,
         I batch, std::uint64_t seed, const nb::object& device, int threads) {
        const training::NeedleTraining training(
            lengths, rule, {seed, law, needle_mean, needle_stddev, batch, device_of(device), threads});
        return Sampled{.initial = training.initial(),
                       .gradient = training.gradient(),
                       .layer = [training, lengths](Parameters at) -> nb::object {
                         Numbers betas(static_cast<Eigen::Index>(lengths.size()));
                         for (std::size_t k = 0; k < lengths.size(); ++k) {
                           betas(static_cast<Eigen::Index>(k)) = training.inverse_temperature(at, lengths[k]);
                         }
                         return nb::cast(betas);
                       }};
      },
      "lengths"_a, "rule"_a, "law"_a, "needle_mean"_a, "needle_stddev"_a, "batch"_a, "seed"_a, "device"_a, "threads"_a,
      "What incontext.training.NeedleTraining is made of.");
}

}  // namespace

void bind_sampled_regression(Room& room);
void bind_transformers(Room& room);

void bind_sampled_training(Room& room) {
  nb::module_& m = room.module();
  nb::class_<Sampled>(m, "SampledTraining", "A layer, its map and its batches.")
      .def_prop_ro("initial", [](const Sampled& self) { return array(self.initial); })
      .def(
          "gradient",
          [](const Sampled& self, const DenseVector& parameters, I step) {
            const std::vector<double> at = plain(parameters);
            const auto batch = interruptible([&] { return self.gradient(at, step); });
            return python_class("training.BatchGradient")(batch.loss, batch.loss_standard_error, batch.accuracy,
                                                          array(batch.gradient));
          },
          "parameters"_a, "step"_a)
      .def(
          "evaluate",
          [](const Sampled& self, const DenseVector& parameters, I contexts) {
            const std::vector<double> at = plain(parameters);
            return interruptible([&] { return self.evaluate(at, contexts); });
          },
          "parameters"_a, "contexts"_a)
      .def(
          "layer", [](const Sampled& self, const DenseVector& parameters) { return self.layer(plain(parameters)); },
          "parameters"_a)
      .def(
          "trainer",
          [](const Sampled& self, const nb::object& source, const training::TrainerOptions& options,
             const std::optional<DenseVector>& start) {
            return WithSource<training::Trainer>{
                training::Trainer(start ? plain(*start) : self.initial, self.gradient, options, self.decays),
                std::make_shared<nb::object>(source)};
          },
          "source"_a, "options"_a, "start"_a.none());
  bind_factories(m);
  bind_sampled_regression(room);
  bind_transformers(room);
}

}  // namespace incontext::python
