#include <nanobind/stl/optional.h>

#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include "core.hpp"
#include "describe.hpp"
#include "diagonal_attention.hpp"
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
using DiagonalPlusLowRank = regression::DiagonalPlusLowRank<D>;
using DiagonalTask = regression::DiagonalTask<D>;
using DiagonalAttention = regression::DiagonalAttention<D>;

/// What a law's covariances are given as in Python and read as: a matrix, or the vector of a diagonal one's variances.
template <class M>
struct Given;
template <>
struct Given<regression::Matrix<D>> {
  using Type = DenseMatrix;
  static regression::Matrix<D> stored(DenseMatrix given) { return std::move(given.value); }
  static const regression::Matrix<D>& read(const regression::Matrix<D>& matrix) { return matrix; }
};
template <>
struct Given<DiagonalPlusLowRank> {
  using Type = DenseVector;
  static DiagonalPlusLowRank stored(const DenseVector& given) { return DiagonalPlusLowRank(given.value.asDiagonal()); }
  static const regression::Vector<D>& read(const DiagonalPlusLowRank& matrix) { return matrix.entries(); }
};

template <class M>
nb::class_<regression::LinearTask<D, M>> bind_task(Room& room, const char* name, const char* docs) {
  using Law = regression::LinearTask<D, M>;
  using Vector = regression::Vector<D>;
  using Covariance = Given<M>;
  using Argument = typename Covariance::Type;
  const std::string path = std::string("regression.") + name;
  nb::class_<Law> task(room.module(), name, docs);
  task.def(
          "__init__",
          [path](Law* self, std::optional<DenseVector> input_mean, std::optional<Argument> input_covariance,
                 std::optional<DenseVector> task_mean, std::optional<Argument> task_covariance, D noise_variance) {
            if (!input_covariance || !task_covariance) {
              throw nb::type_error(
                  ("incontext." + path + ": a covariance is missing (needs input_covariance and task_covariance)")
                      .c_str());
            }
            M inputs = Covariance::stored(std::move(*input_covariance));
            M tasks = Covariance::stored(std::move(*task_covariance));
            Vector x = input_mean ? std::move(input_mean->value) : Vector::Zero(inputs.rows());
            Vector w = task_mean ? std::move(task_mean->value) : Vector::Zero(tasks.rows());
            new (self) Law({std::move(x), std::move(inputs), std::move(w), std::move(tasks), noise_variance});
          },
          "input_mean"_a = nb::none(), "input_covariance"_a = nb::none(), "task_mean"_a = nb::none(),
          "task_covariance"_a = nb::none(), "noise_variance"_a = 0.0)
      .def_static(
          "isotropic",
          [](I dimension, D input_variance, D task_variance, D noise_variance) {
            return Law::isotropic({dimension, input_variance, task_variance, noise_variance});
          },
          "dimension"_a, nb::kw_only(), "input_variance"_a = 1.0, "task_variance"_a = 1.0, "noise_variance"_a = 0.0,
          "The task of an IsotropicTask's parameters.")
      .def_prop_ro("dimension", &Law::dimension)
      .def_prop_ro("input_mean", [](const Law& t) { return t.input_mean(); })
      .def_prop_ro("input_covariance", [](const Law& t) { return Covariance::read(t.input_covariance()); })
      .def_prop_ro("task_mean", [](const Law& t) { return t.task_mean(); })
      .def_prop_ro("task_covariance", [](const Law& t) { return Covariance::read(t.task_covariance()); })
      .def_prop_ro("noise_variance", [](const Law& t) { return t.noise_variance(); })
      .def(
          "with_input_mean", [](const Law& t, DenseVector mean) { return t.with_input_mean(std::move(mean)); },
          "mean"_a, "The same task with this mean of the inputs.")
      .def(
          "with_input_covariance",
          [](const Law& t, Argument covariance) {
            return t.with_input_covariance(Covariance::stored(std::move(covariance)));
          },
          "covariance"_a, "The same task with this covariance of the inputs.")
      .def("with_input_covariance_scaled", &Law::with_input_covariance_scaled, "factor"_a,
           "The same task with the inputs' covariance times a factor.")
      .def(
          "with_task_mean", [](const Law& t, DenseVector mean) { return t.with_task_mean(std::move(mean)); }, "mean"_a,
          "The same task with this mean of the task vectors.")
      .def(
          "with_task_covariance",
          [](const Law& t, Argument covariance) {
            return t.with_task_covariance(Covariance::stored(std::move(covariance)));
          },
          "covariance"_a, "The same task with this covariance of the task vectors.")
      .def("with_task_covariance_scaled", &Law::with_task_covariance_scaled, "factor"_a,
           "The same task with the task vectors' covariance times a factor.")
      .def("with_noise_variance", &Law::with_noise_variance, "variance"_a, "The same task with this noise variance.")
      .def("__reduce__", [path](const Law& t) {
        return nb::make_tuple(python_class(path.c_str()),
                              nb::make_tuple(t.input_mean(), Covariance::read(t.input_covariance()), t.task_mean(),
                                             Covariance::read(t.task_covariance()), t.noise_variance()));
      });
  return task;
}

void bind_tasks(Room& room) {
  auto task = bind_task<regression::Matrix<D>>(room, "LinearTask", room.docs("LinearTask"));
  task.def("input_second_moment", &Task::input_second_moment, "Lambda = Sigma + mu_x mu_x^T.")
      .def("task_second_moment", &Task::task_second_moment, "R = W + mu_w mu_w^T.");
  refuse_other_arguments(task);
  describe(task);
  auto diagonal = bind_task<DiagonalPlusLowRank>(room, "DiagonalTask",
                                                 "A LinearTask whose covariances are diagonal: vectors of variances. "
                                                 "The functions that take it cost O(d) time and memory.");
  diagonal.def(
      "dense",
      [](const DiagonalTask& t) {
        return Task({t.input_mean(), t.input_covariance().dense(), t.task_mean(), t.task_covariance().dense(),
                     t.noise_variance()});
      },
      "The same law as a LinearTask, for the functions that take no DiagonalTask.");
  refuse_other_arguments(diagonal);
  describe(diagonal);
}

/// The layers of a law and their errors, for dense laws and layers and for diagonal ones.
template <class Layer, class Law>
void bind_layers_and_errors(Room& room) {
  nb::module_& m = room.module();
  const auto docs = [&](const char* name) {
    return std::same_as<Law, Task> ? room.docs(name) : "";
  };  // one overload has the text
  const auto kept = "incontext.regression.Offset.kept", removed = "incontext.regression.Offset.removed";
  const auto layer = [&](const char* name, Layer (*of)(const Law&, I)) {
    m.def(name, of, "task"_a, "context_length"_a, docs(name));
    m.def(
        name,
        [of](const Law& task, const Counts& lengths) {
          return each_of(lengths, [&](I length) { return of(task, length); });
        },
        "task"_a, "context_length"_a);
  };
  layer("pretrained_attention", [](const Law& task, I l) { return regression::pretrained_attention(task, l); });
  layer("trained_attention", [](const Law& task, I l) { return regression::trained_attention(task, l); });
  layer("trained_linear_attention", [](const Law& task, I l) { return regression::trained_linear_attention(task, l); });
  m.def(
      "generalization_error",
      [](const Layer& attention, const Law& task, const Axis& length, QueryToken query, regression::Offset offset) {
        return at_lengths(length, [&](I l) {
          return regression::generalization_error(attention, task, l, {query, offset});
        });
      },
      "attention"_a, "task"_a, "context_length"_a, "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig(kept) = 0, docs("generalization_error"));
  m.def(
      "generalization_error_leading_order",
      [](const Layer& attention, const Law& task, const Axis& length, regression::Offset offset) {
        return at_lengths(
            length, [&](I l) { return regression::generalization_error_leading_order(attention, task, l, offset); });
      },
      "attention"_a, "task"_a, "context_length"_a, "offset"_a.sig(removed) = 1,
      docs("generalization_error_leading_order"));
  m.def(
      "linear_attention_error",
      [](const Layer& attention, const Law& task, const Axis& length) {
        return at_lengths(length, [&](I l) { return regression::linear_attention_error(attention, task, l); });
      },
      "attention"_a, "task"_a, "context_length"_a, docs("linear_attention_error"));
  m.def(
      "optimal_temperature",
      [](const Layer& attention, const Law& task, const Axis& length, QueryToken query, regression::Offset offset) {
        return at_lengths(length, [&](I l) {
          return regression::optimal_temperature(attention, task, l, {query, offset});
        });
      },
      "attention"_a, "task"_a, "context_length"_a, "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig(kept) = 0, docs("optimal_temperature"));
}

void bind_errors(Room& room) {
  nb::module_& m = room.module();
  const auto kept = "incontext.regression.Offset.kept";
  bind_layers_and_errors<DiagonalAttention, DiagonalTask>(room);  // first: dense arguments refuse a vector
  bind_layers_and_errors<Attention, Task>(room);
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
