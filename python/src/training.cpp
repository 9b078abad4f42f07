#include "incontext/training.hpp"

#include <nanobind/stl/pair.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "describe.hpp"
#include "incontext/scoring.hpp"
#include "interrupts.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "scoring_maps.hpp"
#include "trainer_records.hpp"

namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;

/// A Python function of parameters that returns a loss and its gradient.
using PythonLoss = nb::typed<nb::callable, std::pair<double, DenseVector>(Numbers)>;

training::ExactLoss exact_loss(const std::shared_ptr<nb::object>& function) {
  return [function](std::span<const double> parameters) {
    const nb::gil_scoped_acquire lock;
    const auto [value, gradient] = nb::cast<std::pair<double, DenseVector>>((*function)(array(parameters)));
    return training::LossAndGradient{value, plain(gradient)};
  };
}

/// Trains up to a step. A loss of Python's takes the interpreter's lock for its own time.
std::vector<training::StepRecord> train_to(training::Trainer& trainer, std::int64_t last, const nb::object& progress) {
  const nb::object report = nb::module_::import_("incontext._progress").attr("reporter")(progress);
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t first = trainer.steps();
  std::vector<training::StepRecord> records;
  const SharedInterruptGuard guard;
  {
    const nb::gil_scoped_release unlocked;
    training::StepRecord record;
    while (trainer.steps() < last && trainer.step(&record)) {
      records.push_back(record);
      if (simulate::InterruptGuard::requested()) break;
      if (report.is_none()) continue;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      const nb::gil_scoped_acquire lock;
      report(trainer.steps() - first, last - first, seconds.count());
    }
  }
  if (nb::hasattr(report, "close")) report.attr("close")();
  if (simulate::InterruptGuard::requested()) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return records;
}

void bind_flow(nb::module_& m, Room& room) {
  using Flow = WithSource<training::GradientFlow>;
  using Trainer = WithSource<training::Trainer>;
  nb::class_<Flow> flow(m, "GradientFlow", nb::type_slots(Flow::slots), room.docs("GradientFlow"));
  describe(flow);
  flow.def(
      "__init__",
      [](Flow* self, const PythonLoss& loss, const DenseVector& parameters, double tolerance) {
        const auto own = std::make_shared<nb::object>(loss);
        new (self) Flow{training::GradientFlow(exact_loss(own), plain(parameters), tolerance), own};
      },
      "loss"_a, "parameters"_a, "tolerance"_a = 1e-8);
  refuse_other_arguments(flow);
  flow.def_prop_ro("time", &training::GradientFlow::time)
      .def_prop_ro("parameters", [](const Flow& flow) { return array(flow.parameters()); })
      .def("loss", &training::GradientFlow::loss)
      .def("speed", &training::GradientFlow::speed)
      .def("advance_to", &training::GradientFlow::advance_to, "end"_a)
      .def("rest", &training::GradientFlow::rest, "slowest"_a, "latest"_a);
  nb::class_<Trainer> trainer(m, "Trainer", nb::type_slots(Trainer::slots), room.docs("Trainer"));
  describe(trainer);
  trainer.def(
      "__init__",
      [](Trainer* self, const DenseVector& parameters, const PythonLoss& loss,
         const training::TrainerOptions& options) {
        const auto own = std::make_shared<nb::object>(loss);
        new (self)
            Trainer{training::Trainer(plain(parameters), training::exact_batches(exact_loss(own)), options), own};
      },
      "parameters"_a, "loss"_a, "options"_a);
  refuse_other_arguments(trainer);
  trainer.def_prop_ro("steps", &training::Trainer::steps)
      .def_prop_ro("parameters", [](const Trainer& trainer) { return array(trainer.parameters()); })
      .def(
          "step", [](Trainer& trainer) { return train_to(trainer, trainer.steps() + 1, nb::none()).front(); },
          "One step, and what it did.")
      .def("__reduce__",
           [](const Trainer& trainer) {
             const training::TrainingState& state = trainer.state();
             const nb::tuple arguments =
                 nb::make_tuple(*trainer.source, trainer.options(), array(state.parameters), array(state.adam.first),
                                array(state.adam.second), state.adam.steps, state.first_loss);
             return nb::make_tuple(python_class("training._resumed"), arguments);
           })
      .def(
          "_resume",
          [](Trainer& trainer, const DenseVector& parameters, const DenseVector& first, const DenseVector& second,
             std::int64_t steps, double first_loss) {
            trainer.resume({plain(parameters), {plain(first), plain(second), steps}, first_loss});
          },
          "parameters"_a, "first"_a, "second"_a, "steps"_a, "first_loss"_a)
      .def(
          "save",
          [](const Trainer& trainer, const std::string& path, const std::string& settings) {
            training::save_checkpoint(path, settings, trainer.state());
          },
          "path"_a, "settings"_a, room.docs("save_checkpoint"))
      .def(
          "resume",
          [](Trainer& trainer, const std::string& path, const std::string& settings) {
            trainer.resume(training::load_checkpoint(path, settings));
          },
          "path"_a, "settings"_a, room.docs("load_checkpoint"))
      .def(
          "run",
          [](Trainer& trainer, std::int64_t steps, const nb::object& progress) {
            require_at_least("training::Trainer::run", "steps", steps, std::int64_t{0});
            return train_to(trainer, trainer.steps() + steps, progress);
          },
          "steps"_a, "progress"_a.none() = nb::none(),
          "Trains for so many steps, without the interpreter's lock, and returns what each did. Ctrl-C ends it with\n"
          "KeyboardInterrupt, and the trainer keeps the steps done. progress is True or a function of (done, planned,\n"
          "seconds).");
  m.def("gradient_descent", &training::gradient_descent, "rate"_a, room.docs("gradient_descent"));
}

}  // namespace

void bind_layer_gradients(Room& room);
void bind_sampled_training(Room& room);

void bind_training(nb::module_& core) {
  Room room(core, "training");
  using Task = training::AffineTask<D>;
  const auto task = record("task", "training.AffineTask");
  room.form("mean_inverse_one_plus_square", [](D s) { return training::mean_inverse_one_plus_square(s); },
            {number("input_stddev")});
  room.form("affine_risks", [](const Task& task) { return training::affine_risks(task); }, {task});
  room.form("clipped_affine_error",
            [](const Task& task, D bound) { return training::clipped_affine_error(task, bound); },
            {task, number("bound")});
  room.form("clipped_answer_bound",
            [](const Task& task, D error) { return training::clipped_answer_bound(task, error); },
            {task, number("error")});
  room.form("quantifier_task", [](I length) { return training::quantifier_task<D>(length); }, {number("length")});
  room.form("reasoning_task", [](I largest) { return training::reasoning_task<D>(largest); },
            {number("largest_value")});
  bind_flow(room.module(), room);
  bind_layer_gradients(room);
  bind_sampled_training(room);
}

/// The gradients of a layer under any map.
void bind_layer_gradients(Room& room) {
  room.module().def(
      "layer_gradients",
      [](nb::handle map, const DenseMatrix& tokens, const DenseMatrix& queries, const training::LayerWeights<D>& layer,
         const DenseMatrix& upstream) {
        const maps::AnyMap<D> by = any_map<D>(map);
        validate(by);
        return training::layer_gradients<maps::AnyMap<D>, D>(by, tokens, queries, layer, upstream);
      },
      "map"_a, "tokens"_a, "queries"_a, "layer"_a, "upstream"_a, room.docs("layer_gradients"));
}

}  // namespace incontext::python
