#include <nanobind/stl/optional.h>

#include <optional>
#include <utility>

#include "core.hpp"
#include "describe.hpp"
#include "incontext/regression.hpp"
#include "lengths.hpp"
#include "records.hpp"
#include "rooms.hpp"

namespace incontext::python {

void bind_ridge(Room& room);
void bind_regression_maps(Room& room);

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;
using Task = regression::LinearTask<D>;
using Attention = regression::Attention<D>;

void bind_tasks(Room& room) {
  nb::module_& m = room.module();
  nb::class_<Task> task(m, "LinearTask", room.docs("LinearTask"));
  task.def(
          "__init__",
          [](Task* self, std::optional<DenseVector> input_mean, std::optional<DenseMatrix> input_covariance,
             std::optional<DenseVector> task_mean, std::optional<DenseMatrix> task_covariance, D noise_variance) {
            if (!input_covariance || !task_covariance) {
              throw nb::type_error(
                  "incontext.regression.LinearTask: a covariance is missing (needs input_covariance and "
                  "task_covariance)");
            }
            using Vector = regression::Vector<D>;
            using Matrix = regression::Matrix<D>;
            Matrix inputs = std::move(*input_covariance), tasks = std::move(*task_covariance);
            Vector x = input_mean ? Vector(std::move(*input_mean)) : Vector(Vector::Zero(inputs.rows()));
            Vector w = task_mean ? Vector(std::move(*task_mean)) : Vector(Vector::Zero(tasks.rows()));
            new (self) Task({std::move(x), std::move(inputs), std::move(w), std::move(tasks), noise_variance});
          },
          "input_mean"_a = nb::none(), "input_covariance"_a = nb::none(), "task_mean"_a = nb::none(),
          "task_covariance"_a = nb::none(), "noise_variance"_a = 0.0)
      .def_static(
          "isotropic",
          [](I dimension, D input_variance, D task_variance, D noise_variance) {
            return Task::isotropic({dimension, input_variance, task_variance, noise_variance});
          },
          "dimension"_a, nb::kw_only(), "input_variance"_a = 1.0, "task_variance"_a = 1.0, "noise_variance"_a = 0.0,
          "The task of an IsotropicTask's parameters.")
      .def_prop_ro("dimension", &Task::dimension)
      .def_prop_ro("input_mean", [](const Task& t) { return t.input_mean(); })
      .def_prop_ro("input_covariance", [](const Task& t) { return t.input_covariance(); })
      .def_prop_ro("task_mean", [](const Task& t) { return t.task_mean(); })
      .def_prop_ro("task_covariance", [](const Task& t) { return t.task_covariance(); })
      .def_prop_ro("noise_variance", [](const Task& t) { return t.noise_variance(); })
      .def("input_second_moment", &Task::input_second_moment, "Lambda = Sigma + mu_x mu_x^T.")
      .def("task_second_moment", &Task::task_second_moment, "R = W + mu_w mu_w^T.")
      .def(
          "with_input_mean", [](const Task& t, DenseVector mean) { return t.with_input_mean(std::move(mean)); },
          "mean"_a, "The same task with this mean of the inputs.")
      .def(
          "with_input_covariance",
          [](const Task& t, DenseMatrix covariance) { return t.with_input_covariance(std::move(covariance)); },
          "covariance"_a, "The same task with this covariance of the inputs.")
      .def("with_input_covariance_scaled", &Task::with_input_covariance_scaled, "factor"_a,
           "The same task with the inputs' covariance times a factor.")
      .def(
          "with_task_mean", [](const Task& t, DenseVector mean) { return t.with_task_mean(std::move(mean)); }, "mean"_a,
          "The same task with this mean of the task vectors.")
      .def(
          "with_task_covariance",
          [](const Task& t, DenseMatrix covariance) { return t.with_task_covariance(std::move(covariance)); },
          "covariance"_a, "The same task with this covariance of the task vectors.")
      .def("with_task_covariance_scaled", &Task::with_task_covariance_scaled, "factor"_a,
           "The same task with the task vectors' covariance times a factor.")
      .def("with_noise_variance", &Task::with_noise_variance, "variance"_a, "The same task with this noise variance.")
      .def("__reduce__", [](const Task& t) {
        return nb::make_tuple(python_class("regression.LinearTask"),
                              nb::make_tuple(t.input_mean(), t.input_covariance(), t.task_mean(), t.task_covariance(),
                                             t.noise_variance()));
      });
  refuse_other_arguments(task);
  describe(task);
}

void bind_errors(Room& room) {
  nb::module_& m = room.module();
  const auto kept = "incontext.regression.Offset.kept", removed = "incontext.regression.Offset.removed";
  const auto layer = [&](const char* name, Attention (*of)(const Task&, I)) {
    m.def(name, of, "task"_a, "context_length"_a, room.docs(name));
    m.def(
        name,
        [of](const Task& task, const Counts& lengths) {
          return each_of(lengths, [&](I length) { return of(task, length); });
        },
        "task"_a, "context_length"_a);
  };
  layer("pretrained_attention", [](const Task& task, I l) { return regression::pretrained_attention(task, l); });
  layer("trained_attention", [](const Task& task, I l) { return regression::trained_attention(task, l); });
  layer("trained_linear_attention",
        [](const Task& task, I l) { return regression::trained_linear_attention(task, l); });
  m.def(
      "pretrained_attention_from_data",
      [](const DenseMatrix& inputs, const DenseVector& task_mean, const DenseMatrix& task_covariance, D noise_variance,
         I length) {
        return regression::pretrained_attention_from_data<D>(inputs, task_mean, task_covariance, noise_variance,
                                                             length);
      },
      "inputs"_a, "task_mean"_a, "task_covariance"_a, "noise_variance"_a, "context_length"_a,
      room.docs("pretrained_attention_from_data"));
  m.def(
      "generalization_error",
      [](const Attention& attention, const Task& task, const Axis& length, QueryToken query,
         regression::Offset offset) {
        return at_lengths(length, [&](I l) {
          return regression::generalization_error(attention, task, l, {query, offset});
        });
      },
      "attention"_a, "task"_a, "context_length"_a, "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig(kept) = 0, room.docs("generalization_error"));
  m.def(
      "generalization_error_leading_order",
      [](const Attention& attention, const Task& task, const Axis& length, regression::Offset offset) {
        return at_lengths(
            length, [&](I l) { return regression::generalization_error_leading_order(attention, task, l, offset); });
      },
      "attention"_a, "task"_a, "context_length"_a, "offset"_a.sig(removed) = 1,
      room.docs("generalization_error_leading_order"));
  m.def(
      "linear_attention_error",
      [](const Attention& attention, const Task& task, const Axis& length) {
        return at_lengths(length, [&](I l) { return regression::linear_attention_error(attention, task, l); });
      },
      "attention"_a, "task"_a, "context_length"_a, room.docs("linear_attention_error"));
  m.def(
      "optimal_temperature",
      [](const Attention& attention, const Task& task, const Axis& length, QueryToken query,
         regression::Offset offset) {
        return at_lengths(length, [&](I l) {
          return regression::optimal_temperature(attention, task, l, {query, offset});
        });
      },
      "attention"_a, "task"_a, "context_length"_a, "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig(kept) = 0, room.docs("optimal_temperature"));
  m.def(
      "any_law_error",
      [](const Attention& attention, const DenseMatrix& rows, const DenseVector& task_mean,
         const DenseMatrix& task_covariance, D noise_variance, const Axis& length, regression::Offset offset) {
        const regression::InputRows<D> law(rows);
        return at_lengths(length, [&](I l) {
          return regression::any_law_error<D>(attention, law, task_mean, task_covariance, noise_variance, l, offset);
        });
      },
      "attention"_a, "rows"_a, "task_mean"_a, "task_covariance"_a, "noise_variance"_a, "context_length"_a,
      "offset"_a.sig(kept) = 0, room.docs("any_law_error"));
  m.def(
      "labeled_rows_error",
      [](const Attention& attention, const DenseMatrix& rows, const DenseVector& labels, const Axis& length,
         regression::Offset offset) {
        const regression::InputRows<D> law(rows);
        return at_lengths(length,
                          [&](I l) { return regression::labeled_rows_error<D>(attention, law, labels, l, offset); });
      },
      "attention"_a, "rows"_a, "labels"_a, "context_length"_a, "offset"_a.sig(kept) = 0,
      room.docs("labeled_rows_error"));
  m.def(
      "generalization_error_gradient",
      [](const Attention& attention, const Task& task, I length, D beta, regression::Offset offset) {
        return regression::generalization_error_gradient(attention, task, length, beta, offset);
      },
      "attention"_a, "task"_a, "context_length"_a, "inverse_temperature"_a = 1.0, "offset"_a.sig(kept) = 0,
      room.docs("generalization_error_gradient"));
  m.def(
      "linear_attention_error_gradient",
      [](const Attention& attention, const Task& task, I length, D beta) {
        return regression::linear_attention_error_gradient(attention, task, length, beta);
      },
      "attention"_a, "task"_a, "context_length"_a, "inverse_temperature"_a = 1.0,
      room.docs("linear_attention_error_gradient"));
}

void bind_parabola(Room& room) {
  using P = regression::InverseTemperatureParabola<D>;
  const auto self = record("parabola", "regression.InverseTemperatureParabola");
  const auto temperature = number("temperature");
  room.form("_parabola_error", [](const P& self, D t) { return self(t); }, {self, temperature});
  room.form("_parabola_excess", [](const P& self, D t) { return self.excess(t); }, {self, temperature});
  room.form("_parabola_minimum", [](const P& self) { return self.minimum(); }, {self});
  room.form("_parabola_optimal_temperature", [](const P& self) { return self.optimal_temperature(); }, {self});
  room.form("_parabola_has_optimal_temperature",
            [](const P& self) { return static_cast<int>(self.has_optimal_temperature()); }, {self});
}

}  // namespace

void bind_regression(nb::module_& core) {
  Room room(core, "regression");
  bind_tasks(room);
  bind_errors(room);
  bind_parabola(room);
  bind_ridge(room);
  bind_regression_maps(room);
}

}  // namespace incontext::python
