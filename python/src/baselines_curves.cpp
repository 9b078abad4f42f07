#include "incontext/baselines/reference_curves.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"
#include "incontext/baselines/descent_layers.hpp"
#include "incontext/baselines/pool_averages.hpp"
#include "incontext/baselines/task_pool.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "lengths.hpp"
#include "records.hpp"

/// The reference curves, and what they alone are made of: layers of descent and pools of tasks.
namespace incontext::python {

namespace {

using namespace nb::literals;
using D = double;
using I = std::int64_t;
using Task = baselines::TaskVariances<D>;
using Spectrum = baselines::WishartSpectrum<D>;
using Settings = baselines::CurveSettings<D>;

void bind_layers(Room& room) {
  nb::module_& m = room.module();
  m.def(
      "descent_risk",
      [](const Axis& examples, I dimension, D noise, D prior, const std::vector<D>& rates) {
        return at_lengths(
            examples,
            [&](I l) {
              return baselines::descent_risk(Spectrum(l, dimension), Task{noise, prior}, rates);
            },
            "baselines", "examples");
      },
      "examples"_a, "dimension"_a, "noise_variance"_a, "task_variance"_a, "learning_rates"_a,
      room.docs("descent_risk"));
  using Layers = baselines::DescentLayers<D>;
  const auto layers = [&](const char* name, Layers (*of)(const Spectrum&, const Task&, I)) {
    m.def(
        name,
        [of](I examples, I dimension, D noise, D prior, I count) {
          return of(Spectrum(examples, dimension), Task{noise, prior}, count);
        },
        "examples"_a, "dimension"_a, "noise_variance"_a, "task_variance"_a, "layers"_a, room.docs(name));
    m.def(
        name,
        [of](const Counts& examples, I dimension, D noise, D prior, I count) {
          return each_of(examples, [&](I l) { return of(Spectrum(l, dimension), Task{noise, prior}, count); });
        },
        "examples"_a, "dimension"_a, "noise_variance"_a, "task_variance"_a, "layers"_a);
  };
  layers("optimal_layers",
         [](const Spectrum& s, const Task& t, I count) { return baselines::optimal_layers(s, t, count); });
  layers("looped_layers",
         [](const Spectrum& s, const Task& t, I count) { return baselines::looped_layers(s, t, count); });
  room.form(
      "layers_needed", [](I l, I d, const Task& t, D s) { return baselines::layers_needed(Spectrum(l, d), t, s); },
      {number("examples"), number("dimension"), number("noise_variance"), number("task_variance"), number("share")});
}

void bind_pools(Room& room) {
  nb::module_& m = room.module();
  const auto noise = number("noise_variance"), prior = number("task_variance");
  room.form("pool_limit", [](I d, I k, I l, const Task& t) { return baselines::pool_limit(d, k, l, t); },
            {number("dimension"), number("tasks"), number("examples"), noise, prior});
  m.def(
      "pool_errors",
      [](const DenseMatrix& tasks, D noise_variance, D task_variance, I examples) {
        return baselines::TaskPool<D>(tasks.value, {noise_variance, task_variance}).errors(examples);
      },
      "tasks"_a, "noise_variance"_a, "task_variance"_a, "examples"_a, room.docs("pool_errors"));
  m.def(
      "drawn_pool",
      [](I tasks, I dimension, D task_variance, std::uint64_t seed, I pool, baselines::PoolLaw law) {
        return baselines::drawn_pool<D>(tasks, dimension, task_variance, {.seed = seed, .law = law}, pool);
      },
      "tasks"_a, "dimension"_a, "task_variance"_a, "seed"_a = 1, "pool"_a = 0,
      "law"_a.sig("incontext.baselines.PoolLaw.normal") = 0, room.docs("drawn_pool"));
  m.def(
      "mean_pool_errors",
      [](I dimension, I tasks, const Counts& lengths, D noise_variance, D task_variance, I pools, std::uint64_t seed,
         baselines::PoolLaw law) {
        const auto count = static_cast<Eigen::Index>(lengths.size());
        Eigen::VectorXd seen(count), seen_error(count), fresh(count), fresh_error(count);
        {
          const nb::gil_scoped_release released;
          const auto means = baselines::mean_pool_errors<D>(dimension, tasks, lengths, {noise_variance, task_variance},
                                                            {pools, seed, law});
          for (Eigen::Index k = 0; k < count; ++k) {
            const auto& mean = means[static_cast<std::size_t>(k)];
            seen(k) = mean.seen.mean;
            seen_error(k) = mean.seen.standard_error;
            fresh(k) = mean.fresh.mean;
            fresh_error(k) = mean.fresh.standard_error;
          }
        }
        return python_class("baselines.MeanPoolErrors")(seen, seen_error, fresh, fresh_error);
      },
      "dimension"_a, "tasks"_a, "lengths"_a, "noise_variance"_a, "task_variance"_a, "pools"_a = 100, "seed"_a = 1,
      "law"_a.sig("incontext.baselines.PoolLaw.normal") = 0, room.docs("mean_pool_errors"));
  m.def(
      "tasks_to_generalize",
      [](I dimension, I examples, D noise_variance, D task_variance, D share, I pools, std::uint64_t seed,
         baselines::PoolLaw law) {
        const nb::gil_scoped_release released;
        return baselines::tasks_to_generalize<D>(dimension, examples, {noise_variance, task_variance}, share,
                                                 {pools, seed, law});
      },
      "dimension"_a, "examples"_a, "noise_variance"_a, "task_variance"_a, "share"_a, "pools"_a = 100, "seed"_a = 1,
      "law"_a.sig("incontext.baselines.PoolLaw.normal") = 0, room.docs("tasks_to_generalize"));
}

}  // namespace

void bind_reference_curves(Room& room) {
  bind_layers(room);
  bind_pools(room);
  room.module().def(
      "reference_curves",
      [](I dimension, const Counts& lengths, D noise, D prior, D input, const Counts& layers, const Counts& looped,
         bool query_noise, bool per_dimension, const Counts& pretraining_tasks, const Counts& sgd_tasks, I pools,
         std::uint64_t pool_seed, bool averaging, const Counts& neighbors,
         const std::vector<baselines::MixerKind>& mixers) {
        const nb::gil_scoped_release released;
        const Settings settings{dimension,
                                noise,
                                prior,
                                input,
                                layers,
                                looped,
                                query_noise,
                                per_dimension,
                                pretraining_tasks,
                                sgd_tasks,
                                {pools, pool_seed},
                                averaging,
                                neighbors,
                                mixers};
        std::vector<std::pair<std::string, std::pair<std::vector<D>, std::vector<D>>>> curves;
        for (auto& curve : baselines::reference_curves(settings, lengths)) {
          curves.emplace_back(std::move(curve.name),
                              std::pair(std::move(curve.values), std::move(curve.standard_errors)));
        }
        return curves;
      },
      "dimension"_a, "lengths"_a, "noise_variance"_a, "task_variance"_a, "input_variance"_a = 1.0,
      "layers"_a = Counts(), "looped"_a = Counts(), "query_noise"_a = true, "per_dimension"_a = false,
      "pretraining_tasks"_a = Counts(), "sgd_tasks"_a = Counts(), "pools"_a = 100, "pool_seed"_a = 1,
      "averaging"_a = false, "neighbors"_a = Counts(), "mixers"_a = std::vector<baselines::MixerKind>(),
      room.docs("reference_curves"));
}

}  // namespace incontext::python
