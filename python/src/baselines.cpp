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

}  // namespace

void bind_baselines(nb::module_& core) {
  Room room(core, "baselines");
  nb::module_& m = room.module();
  using namespace nb::literals;
  bind_risks(room);
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
         const std::vector<I>& looped, bool query_noise, bool per_dimension) {
        const nb::gil_scoped_release released;
        const Settings settings{dimension, noise, prior, input, layers, looped, query_noise, per_dimension};
        std::vector<std::pair<std::string, std::vector<D>>> curves;
        for (auto& curve : baselines::reference_curves(settings, lengths)) {
          curves.emplace_back(std::move(curve.name), std::move(curve.values));
        }
        return curves;
      },
      "dimension"_a, "lengths"_a, "noise_variance"_a, "task_variance"_a, "input_variance"_a = 1.0,
      "layers"_a = std::vector<I>(), "looped"_a = std::vector<I>(), "query_noise"_a = true, "per_dimension"_a = false,
      room.docs("reference_curves"));
}

}  // namespace incontext::python
