#include "incontext/sampled_training/reasoning_training.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>

#include "arguments.hpp"
#include "core.hpp"
#include "device_records.hpp"
#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/softmax.hpp"
#include "transformer_training.hpp"

/// The transformer of the reasoning task, of incontext train reasoning, with its bits.
namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;

using Training = training::ReasoningTraining<maps::AnyMap<float>>;

Transformer reasoning_training(const training::ReasoningShape& shape, const Training::MapOfStep& map_of_step,
                               D initial_stddev, const training::ReasoningBatches& batches) {
  const Training training(shape, map_of_step, batches);
  Transformer result{
      {.initial = training.initial(initial_stddev), .gradient = training.gradient(), .decays = training.decays()}};
  result.parts = [training](Parameters at) { return parts_of(training.layout(), at); };
  result.measure = [training](Parameters at, I step) { return training.measure(at, step); };
  result.trained = training.trained();
  result.held_out = training.held_out();
  return result;
}

Transformer reasoning_of(const training::ReasoningShape& shape, nb::handle map, D initial_stddev,
                         const training::ReasoningBatches& batches) {
  if (is(map, "scoring.HeatSchedule")) {
    const auto number = [&](const char* name) { return number_of(map, name); };
    const scoring::HeatSchedule<float> heat{number("start_temperature"), number("end_temperature"),
                                            whole_field<int>(map, "epochs"),
                                            chosen_field<scoring::HeatShape>(map, "shape")};
    scoring::validate(heat);
    return reasoning_training(
        shape,
        [=](I step) {
          return scoring::Softmax<float>{heat.temperature(static_cast<int>(std::min<I>(step, heat.epochs - 1)))};
        },
        initial_stddev, batches);
  }
  const maps::AnyMap<float> fixed = any_map<float>(map);
  return reasoning_training(
      shape, [=](I) { return fixed; }, initial_stddev, batches);
}

}  // namespace

void bind_reasoning(Room& room) {
  nb::module_& m = room.module();
  m.def(
      "_reasoning_training",
      [](const training::ReasoningShape& shape, const nb::object& map, D initial_stddev, D training_share, I batch,
         training::ReasoningAnswers answers, training::GradientScaling scaling, std::uint64_t seed,
         const nb::object& device, int threads) {
        return reasoning_of(shape, map, initial_stddev,
                            {seed, training_share, batch, answers, scaling, device_of(device), threads});
      },
      "shape"_a, "map"_a, "initial_stddev"_a, "training_share"_a, "batch"_a, "answers"_a, "scaling"_a, "seed"_a,
      "device"_a, "threads"_a, "What incontext.training.ReasoningTraining is made of.");
  m.def("eureka_step", &training::eureka_step, "course"_a, room.docs("eureka_step"));
  m.def("plateau_loss", &training::plateau_loss, "course"_a, "largest_loss"_a, room.docs("plateau_loss"));
}

}  // namespace incontext::python
