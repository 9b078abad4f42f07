#include "incontext/sampled_training/regression_training.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core.hpp"
#include "device_records.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/linear_task.hpp"
#include "records.hpp"
#include "sampled_training.hpp"
#include "scoring_maps.hpp"

/// Training of a layer of regression on drawn contexts: incontext train regression, with its bits.
namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;

Sampled sampled_regression(const training::RegressionSetting& setting, const maps::AnyMap<float>& map,
                           const training::ContextBatches& batches, D deviation) {
  const training::RegressionTraining training(setting, map, batches);
  return {.initial = training.initial(deviation),
          .gradient = training.gradient(),
          .evaluate = [training](Parameters at, I contexts) { return training.evaluate(at, contexts); },
          .layer =
              [training](Parameters at) {
                nb::list heads;
                for (int head = 0; head < training.heads(); ++head) heads.append(training.layer(at, head));
                return nb::object(heads);
              }};
}

}  // namespace

void bind_sampled_regression(Room& room) {
  using namespace nb::literals;
  nb::module_& m = room.module();
  m.def(
      "_regression_training",
      [](const regression::LinearTask<D>& task, I context_length, nb::handle map,
         training::RegressionParameters parameters, const std::optional<regression::Attention<D>>& fixed, int heads,
         D initial_deviation, I batch, std::uint64_t seed, const nb::object& device, int threads) {
        const training::RegressionSetting setting{task, context_length, parameters,
                                                  fixed.value_or(regression::Attention<D>{}), heads};
        const training::ContextBatches batches{batch, seed, device_of(device), threads};
        return sampled_regression(setting, any_map<float>(map), batches, initial_deviation);
      },
      "task"_a, "context_length"_a, "map"_a, "parameters"_a, "fixed"_a.none(), "heads"_a, "initial_deviation"_a,
      "batch"_a, "seed"_a, "device"_a, "threads"_a, "What incontext.training.RegressionTraining is made of.");
  m.def(
      "layer_parameters",
      [](const regression::Attention<D>& attention) { return array(training::layer_parameters(attention)); },
      "attention"_a, room.docs("layer_parameters"));
  m.def(
      "regression_layer",
      [](training::RegressionParameters parameters, const std::optional<regression::Attention<D>>& fixed, I dimension,
         const DenseVector& numbers) {
        return training::regression_layer(parameters, fixed.value_or(regression::Attention<D>{}), dimension,
                                          plain(numbers));
      },
      "parameters"_a, "fixed"_a.none(), "dimension"_a, "numbers"_a, room.docs("regression_layer"));
  m.def(
      "gradient_numbers",
      [](training::RegressionParameters parameters, const regression::ErrorGradient<D>& gradient) {
        return array(training::gradient_numbers(parameters, gradient));
      },
      "parameters"_a, "gradient"_a, room.docs("gradient_numbers"));
}

}  // namespace incontext::python
