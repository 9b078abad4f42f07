#include <cmath>
#include <concepts>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "diagonal_attention.hpp"
#include "incontext/laws/fading_by_map.hpp"
#include "incontext/laws/row_moments.hpp"
#include "incontext/laws/simplex_layer.hpp"
#include "incontext/laws/single_location.hpp"
#include "incontext/regression.hpp"
#include "lengths.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "softmax_maps.hpp"

/// What the theory says of a map that is softmax after an elementwise one, the user's own included.
namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;
using Task = regression::LinearTask<D>;
using Attention = regression::Attention<D>;
using DiagonalTask = regression::DiagonalTask<D>;
using DiagonalAttention = regression::DiagonalAttention<D>;

/// The numbers of a map: its kind and three parameters, which may be arrays.
std::vector<nb::object> map_numbers(nb::handle map) {
  static const Parameter parameter = softmax_map();
  for (std::size_t kind = 0; kind < parameter.records.size(); ++kind) {
    const nb::object type = python_class(parameter.records[kind].c_str());
    if (!nb::isinstance(map, type)) continue;
    std::vector<nb::object> numbers{nb::int_(kind)};
    for (nb::handle field : nb::tuple(type.attr("_numbers"))) numbers.push_back(map.attr(field));
    while (numbers.size() < 4) numbers.push_back(nb::float_(0.0));
    return numbers;
  }
  throw nb::type_error("incontext: the map must be scoring.Softmax, SSMax, SSA or Elementwise");
}

/// Evaluates a function of a context length and a map at each of their arrays' elements.
template <class Function>
BroadcastOf<numerics::Quadrature<D>> over_maps(const Axis& context_length, nb::handle map, const Function& function) {
  std::vector<nb::object> inputs = map_numbers(map);
  inputs.push_back(context_length.values);
  const auto at = [&](const double* in, double* out) {
    if (in[4] != std::floor(in[4])) {
      throw_invalid_argument("regression", "context_length is not whole", in[4], "an integer");
    }
    write_numbers(
        with_softmax_map(in[0], in[1], in[2], in[3], [&](const auto& m) { return function(static_cast<I>(in[4]), m); }),
        out);
  };
  return {evaluate(result_of<numerics::Quadrature<D>>(), inputs, at, !calls_python(map))};
}

/// Calls a function of the room with one map.
template <class Function>
auto with_map(const char* name, nb::handle map, const Function& function) {
  const std::vector<nb::object> numbers = map_numbers(map);
  D in[4];
  for (std::size_t k = 0; k < 4; ++k) {
    in[k] = real_number((std::string("regression::") + name).c_str(), "a parameter of map", numbers[k]);
  }
  const nb::gil_scoped_release released;
  return with_softmax_map(in[0], in[1], in[2], in[3], function);
}

/// The errors of softmax for dense laws and layers and for diagonal ones.
template <class Layer, class Law>
void bind_softmax_errors_of(Room& room) {
  nb::module_& m = room.module();
  const auto docs = [&](const char* name) {
    return std::same_as<Law, Task> ? room.docs(name) : "";
  };  // one overload has the text
  const auto excluded = "incontext.regression.QueryToken.excluded";
  m.def(
      "softmax_error",
      [](const Layer& attention, const Law& task, const Axis& length, nb::handle map, QueryToken query) {
        return over_maps(length, map,
                         [&](I l, const auto& by) { return regression::softmax_error(attention, task, l, by, query); });
      },
      "attention"_a, "task"_a, "context_length"_a, "map"_a, "query"_a.sig(excluded) = 0, docs("softmax_error"));
  m.def(
      "optimal_value_scale",
      [](const Layer& attention, const Law& task, I length, nb::handle map, QueryToken query) {
        return with_map("optimal_value_scale", map, [&](const auto& by) {
          return regression::optimal_value_scale(attention, task, length, by, query);
        });
      },
      "attention"_a, "task"_a, "context_length"_a, "map"_a, "query"_a.sig(excluded) = 0, docs("optimal_value_scale"));
}

void bind_softmax_errors(Room& room) {
  nb::module_& m = room.module();
  bind_softmax_errors_of<DiagonalAttention, DiagonalTask>(room);  // first: dense arguments refuse a vector
  bind_softmax_errors_of<Attention, Task>(room);
  m.def(
      "multihead_error",
      [](const DenseMatrix& key_query, const Task& task, I length, const DenseVector& scales, const nb::object& map) {
        const nb::object chosen = map.is_none() ? python_class("scoring.Softmax")() : map;
        return with_map("multihead_error", chosen, [&]<class Map>(const Map& by) {
          std::vector<regression::Head<Map>> heads;
          for (const D scale : scales.value) heads.push_back({scale, by});
          return regression::multihead_error<D>(key_query.value, task, length, heads);
        });
      },
      "key_query"_a, "task"_a, "context_length"_a, "key_query_scales"_a, "map"_a = nb::none(),
      room.docs("multihead_error"));
  m.def(
      "best_softmax_heads",
      [](const DenseMatrix& key_query, const Task& task, I length, I count) {
        const nb::gil_scoped_release released;
        return regression::best_softmax_heads<D>(key_query.value, task, length, count);
      },
      "key_query"_a, "task"_a, "context_length"_a, "count"_a, room.docs("best_softmax_heads"));
  using HeadsError = regression::HeadsError<D>;
  m.def(
      "_heads_error", [](const HeadsError& self, const DenseVector& values) { return self(values.value); }, "heads"_a,
      "values"_a);
  m.def(
      "_heads_best_values", [](const HeadsError& self) { return self.best_values(); }, "heads"_a);
  m.def(
      "_heads_least", [](const HeadsError& self) { return self.least(); }, "heads"_a);
  m.def(
      "softmax_any_law_error",
      [](const Attention& attention, const DenseMatrix& rows, const DenseVector& task_mean,
         const DenseMatrix& task_covariance, D noise_variance, const Axis& length, nb::handle map) {
        return over_maps(length, map, [&](I l, const auto& by) {
          return regression::softmax_any_law_error<D>(attention, rows, task_mean, task_covariance, noise_variance, l,
                                                      by);
        });
      },
      "attention"_a, "rows"_a, "task_mean"_a, "task_covariance"_a, "noise_variance"_a, "context_length"_a, "map"_a,
      room.docs("softmax_any_law_error"));
  m.def(
      "softmax_labeled_rows_error",
      [](const Attention& attention, const DenseMatrix& rows, const DenseVector& labels, const Axis& length,
         nb::handle map) {
        return over_maps(length, map, [&](I l, const auto& by) {
          return regression::softmax_labeled_rows_error<D>(attention, rows, labels, l, by);
        });
      },
      "attention"_a, "rows"_a, "labels"_a, "context_length"_a, "map"_a, room.docs("softmax_labeled_rows_error"));
  m.def(
      "softmax_error_gradient",
      [](const Attention& attention, const Task& task, I length, nb::handle map, D beta) {
        return with_map("softmax_error_gradient", map, [&](const auto& by) {
          return regression::softmax_error_gradient(attention, task, length, by, beta);
        });
      },
      "attention"_a, "task"_a, "context_length"_a, "map"_a, "inverse_temperature"_a = 1.0,
      room.docs("softmax_error_gradient"));
  m.def(
      "second_order_lowest_temperature",
      [](const Attention& attention, const Task& task) {
        return regression::second_order_lowest_temperature(attention, task);
      },
      "attention"_a, "task"_a, room.docs("second_order_lowest_temperature"));
  m.def(
      "softmax_error_second_order",
      [](const Attention& attention, const Task& task, const Axis& temperature, const Axis& length) {
        return BroadcastOf<D>{
            evaluate(result_of<D>(), {temperature.values, length.values}, [&](const double* in, double* out) {
              out[0] = regression::softmax_error_second_order(attention, task, in[0], static_cast<I>(in[1]));
            })};
      },
      "attention"_a, "task"_a, "temperature"_a, "context_length"_a, room.docs("softmax_error_second_order"));
}

void bind_isotropic(Room& room) {
  using IsoTask = regression::IsotropicTask<D>;
  using IsoAttention = regression::IsotropicAttention<D>;
  const auto task = record("task", "regression.IsotropicTask"), length = number("context_length");
  const auto attention = record("attention", "regression.IsotropicAttention");
  room.form("softmax_error_isotropic",
            [](const IsoAttention& a, const IsoTask& t, I l, D kind, D x, D y, D z, QueryToken query) {
              return with_softmax_map(kind, x, y, z, [&](const auto& map) {
                return regression::softmax_error_isotropic(a, t, l, map, query);
              });
            },
            {attention, task, length, softmax_map(),
             choice("query", "regression.QueryToken", 0, "incontext.regression.QueryToken.excluded")});
  room.form("softmax_optimal_temperature_isotropic",
            [](const IsoAttention& a, const IsoTask& t, I l) {
              return regression::softmax_optimal_temperature_isotropic(a, t, l);
            },
            {attention, task, length});
  room.form(
      "ssmax_optimal_scale_isotropic",
      [](const IsoAttention& a, const IsoTask& t, I l) { return regression::ssmax_optimal_scale_isotropic(a, t, l); },
      {attention, task, length});
  room.form("ssa_optimal_base_isotropic",
            [](const IsoAttention& a, const IsoTask& t, I l, D exponent) {
              return regression::ssa_optimal_base_isotropic(a, t, l, exponent);
            },
            {attention, task, length, number("exponent")});
  room.form("ssa_optimal_exponent_isotropic",
            [](const IsoAttention& a, const IsoTask& t, I l, D base) {
              return regression::ssa_optimal_exponent_isotropic(a, t, l, base);
            },
            {attention, task, length, number("base")});
  room.module().def(
      "minimize_softmax_error",
      [](const nb::callable& error, const regression::SearchRange<D>& range) {
        return regression::minimize_softmax_error(
            [&](D x) { return real_number("regression::minimize_softmax_error", "the value of error", error(x)); },
            range);
      },
      "error"_a, "range"_a, room.docs("minimize_softmax_error"));
}

}  // namespace

void bind_regression_maps(Room& room) {
  bind_softmax_errors(room);
  bind_isotropic(room);
}

/// The laws of a row under any map.
void bind_laws_of_maps(Room& room) {
  room.form("row_moments",
            [](D kind, D a, D b, D c, I n, D variance) {
              return with_softmax_map(kind, a, b, c,
                                      [&](const auto& map) { return laws::row_moments(map, n, variance); });
            },
            {softmax_map(), number("row_length"), number("score_variance")});
  room.form("single_location_error",
            [](D kind, D a, D b, D c, I n, D separation) {
              return with_softmax_map(kind, a, b, c,
                                      [&](const auto& map) { return laws::single_location_error(map, n, separation); });
            },
            {softmax_map(), number("row_length"), number("separation")});
  room.form("simplex_disagreement",
            [](D kind, D a, D b, D c, I n, D disagreement, D residual) {
              return with_softmax_map(kind, a, b, c, [&](const auto& map) {
                return laws::simplex_disagreement(map, n, disagreement, residual);
              });
            },
            {softmax_map(), number("tokens"), number("disagreement"), number("residual", 0.0)});
  room.form("single_location_bayes_error",
            [](I n, D separation) { return laws::single_location_bayes_error(n, separation); },
            {number("row_length"), number("separation")});
  room.form("single_location_linear_error",
            [](I n, D separation) { return laws::single_location_linear_error(n, separation); },
            {number("row_length"), number("separation")});
  room.form("single_location_affine_error",
            [](I n, D separation) { return laws::single_location_affine_error(n, separation); },
            {number("row_length"), number("separation")});
}

}  // namespace incontext::python
