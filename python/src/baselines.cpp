#include "incontext/baselines.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"
#include "records.hpp"
#include "rooms.hpp"

INCONTEXT_CHOICE(incontext::baselines::PoolLaw, "baselines", "PoolLaw")
INCONTEXT_RECORD(incontext::baselines::DescentLayers<double>, "baselines", "DescentLayers", learning_rates, risk,
                 lower_bound)

namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using Task = baselines::TaskVariances<D>;
using Spectrum = baselines::WishartSpectrum<D>;
using Settings = baselines::CurveSettings<D>;

void bind_risks(Room& room) {
  const auto examples = number("examples"), dimension = number("dimension");
  const auto noise = number("noise_variance"), prior = number("task_variance");
  room.form("bayes_risk",
            [](I l, I d, D n, D t) {
              return baselines::bayes_risk(Spectrum(l, d), Task{n, t});
            },
            {examples, dimension, noise, prior});
  room.form("ridge_risk",
            [](I l, I d, D n, D t, D p) {
              return baselines::ridge_risk(Spectrum(l, d), Task{n, t}, p);
            },
            {examples, dimension, noise, prior, number("penalty")});
  room.form("least_squares_risk",
            [](I l, I d, D n, D t) {
              return baselines::least_squares_risk(l, d, Task{n, t});
            },
            {examples, dimension, noise, prior});
  room.form("mutual_information",
            [](I l, I d, D n, D t) {
              return baselines::mutual_information(Spectrum(l, d), Task{n, t});
            },
            {examples, dimension, noise, prior});
  room.form("layers_needed",
            [](I l, I d, D n, D t, D s) {
              return baselines::layers_needed(Spectrum(l, d), Task{n, t}, s);
            },
            {examples, dimension, noise, prior, number("share")});
  room.form("exponential_squared_correlation",
            [](I l, D neighbor) { return baselines::exponential_squared_correlation(l, neighbor); },
            {examples, number("neighbor_correlation")});
  room.form("correlated_layer_risk",
            [](I l, I d, D t, D n, D p, D gain) {
              return baselines::correlated_layer_risk(l, d, t, Task{n, p}, gain);
            },
            {examples, dimension, number("squared_correlation"), noise, prior, number("gain")});
  room.form(
      "optimal_correlated_layer",
      [](I l, I d, D t, D n, D p) {
        return baselines::optimal_correlated_layer(l, d, t, Task{n, p});
      },
      {examples, dimension, number("squared_correlation"), noise, prior}, "baselines.CorrelatedLayer");
  room.form("two_task_pool_risk",
            [](I l, I d, D n, D t) {
              return baselines::two_task_pool_risk(l, d, Task{n, t});
            },
            {examples, dimension, noise, prior});
  room.form("two_task_pool_weight",
            [](I l, I d, D n, D t) {
              return baselines::two_task_pool_weight(l, d, Task{n, t});
            },
            {examples, dimension, noise, prior});
}

/// The layers of SGD; their functions take numbers in the place of the C++ classes.
void bind_sgd(Room& room) {
  const auto dimension = number("dimension"), length = number("context_length");
  const auto noise = number("noise_variance"), prior = number("task_variance"), batch = number("batch", 1);
  using Sgd = baselines::OnePassSgd<D>;
  room.form(
      "one_pass_sgd",
      [](I d, I l, D n, D t, I steps, D rate, I b) {
        const Sgd sgd({d, l, Task{n, t}, b});
        return sgd.risk(sgd.after(steps, rate));
      },
      {dimension, length, noise, prior, number("steps"), number("learning_rate"), batch}, nullptr, "OnePassSgd");
  room.form(
      "largest_stable_rate",
      [](I d, I l, D n, D t, I b) {
        return Sgd({d, l, Task{n, t}, b}).largest_stable_rate();
      },
      {dimension, length, noise, prior, batch}, nullptr, "OnePassSgd");
  room.form(
      "tail_average_risk",
      [](I d, I l, D n, D t, I steps, I tail, D rate, I b) {
        return Sgd({d, l, Task{n, t}, b}).tail_average_risk(steps, tail, rate);
      },
      {dimension, length, noise, prior, number("steps"), number("tail"), number("learning_rate"), batch}, nullptr,
      "OnePassSgd");
  room.form(
      "best_constant_rate",
      [](I d, I l, D n, D t, I steps, I b) {
        return baselines::best_constant_rate(Sgd({d, l, Task{n, t}, b}), steps);
      },
      {dimension, length, noise, prior, number("steps"), batch}, "baselines.LearningRateChoice");
  room.form("tasks_needed",
            [](I d, I l, D n, D t, D share, I b) {
              return baselines::tasks_needed(Sgd({d, l, Task{n, t}, b}), share);
            },
            {dimension, length, noise, prior, number("share"), batch});
  room.module().def(
      "diagonal_sgd",
      [](const DenseVector& inputs, const DenseVector& tasks, D noise_variance, I context_length, I steps, D rate,
         I of_batch) {
        const nb::gil_scoped_release released;
        const baselines::DiagonalSgd<D> sgd({inputs.value, tasks.value, noise_variance, context_length, of_batch});
        return sgd.risk(sgd.after(steps, rate));
      },
      nb::arg("input_variances"), nb::arg("task_variances"), nb::arg("noise_variance"), nb::arg("context_length"),
      nb::arg("steps"), nb::arg("learning_rate"), nb::arg("batch") = 1, room.docs("DiagonalSgd"));
}

void bind_flow(Room& room) {
  const auto dimension = number("dimension"), length = number("context_length");
  const auto noise = number("noise_variance"), prior = number("task_variance"), start = number("start");
  using Course = baselines::FlowCourse<D>;
  room.form(
      "flow_risk",
      [](I d, I l, D n, D t, D s, D time) {
        return Course({d, l, Task{n, t}, s}).risk(time);
      },
      {dimension, length, noise, prior, start, number("time")}, nullptr, "FlowCourse");
  room.form(
      "flow_gain",
      [](I d, I l, D n, D t, D s, D time) {
        return Course({d, l, Task{n, t}, s}).gain(time);
      },
      {dimension, length, noise, prior, start, number("time")}, nullptr, "FlowCourse");
  room.form(
      "flow_half_time",
      [](I d, I l, D n, D t, D s) {
        return Course({d, l, Task{n, t}, s}).half_time();
      },
      {dimension, length, noise, prior, start}, nullptr, "FlowCourse");
}

void bind_pools(Room& room) {
  using namespace nb::literals;
  nb::module_& m = room.module();
  const auto noise = number("noise_variance"), prior = number("task_variance");
  room.form(
      "pool_limit",
      [](I d, I k, I l, D n, D t) {
        return baselines::pool_limit(d, k, l, Task{n, t});
      },
      {number("dimension"), number("tasks"), number("examples"), noise, prior}, "baselines.PoolErrors");
  m.def(
      "pool_errors",
      [](const DenseMatrix& tasks, D noise_variance, D task_variance, I examples) {
        const auto errors = baselines::TaskPool<D>(tasks.value, {noise_variance, task_variance}).errors(examples);
        return python_class("baselines.PoolErrors")(errors.seen, errors.fresh);
      },
      "tasks"_a, "noise_variance"_a, "task_variance"_a, "examples"_a, room.docs("TaskPool"));
  m.def(
      "drawn_pool",
      [](I tasks, I dimension, D task_variance, std::uint64_t seed, I pool, baselines::PoolLaw law) {
        return baselines::drawn_pool<D>(tasks, dimension, task_variance, {.seed = seed, .law = law}, pool);
      },
      "tasks"_a, "dimension"_a, "task_variance"_a, "seed"_a = 1, "pool"_a = 0,
      "law"_a.sig("incontext.baselines.PoolLaw.normal") = 0, room.docs("drawn_pool"));
  m.def(
      "mean_pool_errors",
      [](I dimension, I tasks, const std::vector<I>& lengths, D noise_variance, D task_variance, I pools,
         std::uint64_t seed, baselines::PoolLaw law) {
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

void bind_baselines(nb::module_& core) {
  Room room(core, "baselines");
  nb::module_& m = room.module();
  using namespace nb::literals;
  bind_risks(room);
  bind_sgd(room);
  bind_flow(room);
  bind_pools(room);
  m.def(
      "descent_risk",
      [](I examples, I dimension, D noise, D prior, const std::vector<D>& rates) {
        return baselines::descent_risk(Spectrum(examples, dimension), Task{noise, prior}, rates);
      },
      "examples"_a, "dimension"_a, "noise_variance"_a, "task_variance"_a, "learning_rates"_a,
      room.docs("descent_risk"));
  m.def(
      "optimal_layers",
      [](I examples, I dimension, D noise, D prior, I layers) {
        return baselines::optimal_layers(Spectrum(examples, dimension), Task{noise, prior}, layers);
      },
      "examples"_a, "dimension"_a, "noise_variance"_a, "task_variance"_a, "layers"_a, room.docs("optimal_layers"));
  m.def(
      "looped_layers",
      [](I examples, I dimension, D noise, D prior, I layers) {
        return baselines::looped_layers(Spectrum(examples, dimension), Task{noise, prior}, layers);
      },
      "examples"_a, "dimension"_a, "noise_variance"_a, "task_variance"_a, "layers"_a, room.docs("looped_layers"));
  m.def(
      "corrected_bayes_risk",
      [](const DenseVector& eigenvalues, D noise, I examples) {
        const auto risk = baselines::corrected_bayes_risk<D>(eigenvalues, noise, examples);
        return python_class("baselines.CorrectedBayesRisk")(risk.limit, risk.risk, risk.error_bound);
      },
      "eigenvalues"_a, "noise_variance"_a, "examples"_a, room.docs("corrected_bayes_risk"));
  m.def(
      "squared_correlation",
      [](const DenseMatrix& correlations) { return baselines::squared_correlation(correlations); }, "correlations"_a,
      room.docs("squared_correlation"));
  m.def(
      "right_task_weight",
      [](const DenseMatrix& inputs, const DenseVector& labels, const DenseVector& right_task, D noise, D prior,
         D pool_size) {
        return baselines::right_task_weight(inputs, labels, right_task, Task{noise, prior}, pool_size).value;
      },
      "inputs"_a, "labels"_a, "right_task"_a, "noise_variance"_a, "task_variance"_a, "pool_size"_a,
      room.docs("right_task_weight"));
  m.def(
      "wishart_spectrum",
      [](I examples, I dimension) {
        const Spectrum spectrum(examples, dimension);
        return std::pair(spectrum.nodes(), spectrum.weights());
      },
      "examples"_a, "dimension"_a, room.docs("WishartSpectrum"));
  m.def(
      "reference_curves",
      [](I dimension, const std::vector<I>& lengths, D noise, D prior, D input, const std::vector<I>& layers,
         const std::vector<I>& looped, bool query_noise, bool per_dimension, const std::vector<I>& pretraining_tasks,
         const std::vector<I>& sgd_tasks, I pools, std::uint64_t pool_seed) {
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
                                {pools, pool_seed}};
        std::vector<std::pair<std::string, std::pair<std::vector<D>, std::vector<D>>>> curves;
        for (auto& curve : baselines::reference_curves(settings, lengths)) {
          curves.emplace_back(std::move(curve.name),
                              std::pair(std::move(curve.values), std::move(curve.standard_errors)));
        }
        return curves;
      },
      "dimension"_a, "lengths"_a, "noise_variance"_a, "task_variance"_a, "input_variance"_a = 1.0,
      "layers"_a = std::vector<I>(), "looped"_a = std::vector<I>(), "query_noise"_a = true, "per_dimension"_a = false,
      "pretraining_tasks"_a = std::vector<I>(), "sgd_tasks"_a = std::vector<I>(), "pools"_a = 100, "pool_seed"_a = 1,
      room.docs("reference_curves"));
}

}  // namespace incontext::python
