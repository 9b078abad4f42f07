#include "incontext/training.hpp"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core.hpp"
#include "incontext/scoring.hpp"
#include "records.hpp"
#include "rooms.hpp"

INCONTEXT_RECORD(incontext::training::LayerWeights<double>, "training", "LayerWeights", query, key, value)
INCONTEXT_RECORD(incontext::training::LayerGradients<double>, "training", "LayerGradients", attention, output, gradient)
INCONTEXT_RECORD(incontext::training::AdamOptions, "training", "AdamOptions", beta1, beta2, epsilon, weight_decay)
INCONTEXT_CHOICE(incontext::training::RateDecay, "training", "RateDecay")
INCONTEXT_RECORD(incontext::training::LearningRate, "training", "LearningRate", peak, warmup_steps, decay, steps,
                 final_share)
INCONTEXT_RECORD(incontext::training::TrainerOptions, "training", "TrainerOptions", adam, rate, largest_gradient_norm)
INCONTEXT_RECORD(incontext::training::StepRecord, "training", "StepRecord", step, loss, loss_standard_error, accuracy,
                 gradient_norm, rate)

namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;

using Numbers = Eigen::VectorXd;

std::vector<double> plain(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

Numbers array(std::span<const double> numbers) {
  return Eigen::Map<const Numbers>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

/// A Python function of parameters that returns a loss and its gradient.
using PythonLoss = std::function<std::pair<double, DenseVector>(const Numbers&)>;

training::ExactLoss exact_loss(PythonLoss loss) {
  return [loss = std::move(loss)](std::span<const double> parameters) {
    const auto [value, gradient] = loss(array(parameters));
    return training::LossAndGradient{value, plain(gradient)};
  };
}

void bind_flow(nb::module_& m, Room& room) {
  using training::GradientFlow;
  nb::class_<GradientFlow>(m, "GradientFlow", room.docs("GradientFlow"))
      .def(
          "__init__",
          [](GradientFlow* self, PythonLoss loss, const DenseVector& parameters, double tolerance) {
            new (self) GradientFlow(exact_loss(std::move(loss)), plain(parameters), tolerance);
          },
          "loss"_a, "parameters"_a, "tolerance"_a = 1e-8)
      .def_prop_ro("time", &GradientFlow::time)
      .def_prop_ro("parameters", [](const GradientFlow& flow) { return array(flow.parameters()); })
      .def("loss", &GradientFlow::loss)
      .def("speed", &GradientFlow::speed)
      .def("advance_to", &GradientFlow::advance_to, "end"_a)
      .def("rest", &GradientFlow::rest, "slowest"_a, "latest"_a);
  nb::class_<training::Trainer>(m, "Trainer", room.docs("Trainer"))
      .def(
          "__init__",
          [](training::Trainer* self, const DenseVector& parameters, PythonLoss loss,
             const training::TrainerOptions& options) {
            new (self)
                training::Trainer(plain(parameters), training::exact_batches(exact_loss(std::move(loss))), options);
          },
          "parameters"_a, "loss"_a, "options"_a)
      .def_prop_ro("steps", &training::Trainer::steps)
      .def_prop_ro("parameters", [](const training::Trainer& trainer) { return array(trainer.parameters()); })
      .def("step", [](training::Trainer& trainer) -> std::optional<training::StepRecord> {
        training::StepRecord record;
        if (!trainer.step(&record)) return std::nullopt;
        return record;
      });
  m.def("gradient_descent", &training::gradient_descent, "rate"_a, room.docs("gradient_descent"));
}

}  // namespace

void bind_layer_gradients(Room& room);

void bind_training(nb::module_& core) {
  Room room(core, "training");
  const auto task = record("task", "training.AffineTask");
  room.form("mean_inverse_one_plus_square", [](D s) { return training::mean_inverse_one_plus_square(s); },
            {number("input_stddev")});
  room.form(
      "affine_risks",
      [](D a, D b) {
        return training::affine_risks(training::AffineTask<D>{a, b});
      },
      {task}, "training.AffineRisks");
  room.form(
      "clipped_affine_error",
      [](D a, D b, D bound) {
        return training::clipped_affine_error(training::AffineTask<D>{a, b}, bound);
      },
      {task, number("bound")}, "laws.Quadrature");
  room.form("clipped_answer_bound",
            [](D a, D b, D error) {
              return training::clipped_answer_bound(training::AffineTask<D>{a, b}, error);
            },
            {task, number("error")});
  room.form(
      "quantifier_task", [](I length) { return training::quantifier_task<D>(length); }, {number("length")},
      "training.QuantifierTask");
  room.form(
      "reasoning_task", [](I largest) { return training::reasoning_task<D>(largest); }, {number("largest_value")},
      "training.ReasoningTask");
  bind_flow(room.module(), room);
  bind_layer_gradients(room);
}

/// The gradients of a layer under softmax, SSMax and SSA, and the approximate map.
void bind_layer_gradients(Room& room) {
  room.module().def(
      "layer_gradients",
      [](nb::handle map, const DenseMatrix& tokens, const DenseMatrix& queries, const training::LayerWeights<D>& layer,
         const DenseMatrix& upstream) {
        const auto by = [&](const auto& m) {
          scoring::require_valid(m);
          return training::layer_gradients<std::remove_cvref_t<decltype(m)>, D>(m, tokens, queries, layer, upstream);
        };
        const auto get = [&](const char* name) { return nb::cast<D>(map.attr(name)); };
        const auto is = [&](const char* path) { return nb::isinstance(map, python_class(path)); };
        if (is("scoring.Softmax")) return by(scoring::Softmax<D>{get("temperature")});
        if (is("scoring.SSMax")) return by(scoring::SSMax<D>{get("scale"), get("bias")});
        if (is("scoring.SSA")) return by(scoring::SSA<D>{get("base"), get("exponent"), get("temperature")});
        if (is("scoring.NormSoftmax")) {
          return by(scoring::NormSoftmax<D>{get("temperature"),
                                            static_cast<scoring::ScoreScale>(nb::cast<int>(map.attr("scale")))});
        }
        throw nb::type_error("incontext.training.layer_gradients: the map must be Softmax, SSMax, SSA or NormSoftmax");
      },
      "map"_a, "tokens"_a, "queries"_a, "layer"_a, "upstream"_a, room.docs("layer_gradients"));
}

}  // namespace incontext::python
