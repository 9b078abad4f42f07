#include "incontext/apply/attention.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/scoring/scoring.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "scoring_maps.hpp"

/// Fused attention on batches of matrices. `incontext/apply.py` checks shapes and types and makes the arrays contiguous.
namespace incontext::python {

namespace {

using namespace nb::literals;

/// Batches of matrices: matrices x tokens x components.
template <class T>
using Batch = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T>
Batch<T> batch_of(const nb::object& array) {
  return nb::cast<Batch<T>>(array);
}

template <class T>
scoring::MatrixView<T> matrix(const Batch<T>& batch, std::size_t index) {
  const auto rows = static_cast<std::ptrdiff_t>(batch.shape(1)), columns = static_cast<std::ptrdiff_t>(batch.shape(2));
  return {batch.data() + static_cast<std::ptrdiff_t>(index) * rows * columns, rows, columns};
}

/// Calls `function` with the C++ map, if its attention is fused forward and backward.
template <class T, class Function>
void with_fused_map(const char* where, nb::handle map, const Function& function) {
  maps::visit(where, any_map<T>(map), [&]<apply::FusedGradient Map>(const Map& made) { function(made); });
}

/// Calls `one(map, index)` for every matrix, without the interpreter's lock. Ctrl-C ends it between two matrices.
template <class Map, class One>
void for_each_matrix(const Map& made, const ArrayParameters& parameters, std::size_t count, const One& one) {
  const nb::gil_scoped_release unlocked;
  for (std::size_t index = 0; index < count; ++index) {
    Map map = made;
    parameters.put(map, static_cast<std::int64_t>(index));
    one(map, index);
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

ArrayParameters parameters_of(nb::handle map, std::size_t count) { return {map, nb::make_tuple(count)}; }

template <class T>
void attend(nb::handle given, const nb::object& queries, const nb::object& keys, const nb::object& values,
            const nb::object& out, const apply::Options& options) {
  const auto q = batch_of<const T>(queries), k = batch_of<const T>(keys), v = batch_of<const T>(values);
  const auto o = batch_of<T>(out);
  const ArrayParameters parameters = parameters_of(given, q.shape(0));
  with_fused_map<T>("apply::attend", parameters.prototype(), [&](const auto& made) {
    for_each_matrix(made, parameters, q.shape(0), [&](const auto& map, std::size_t i) {
      apply::attend(map, matrix(q, i), matrix(k, i), matrix(v, i), matrix(o, i), options);
    });
  });
}

/// Where the derivatives by each parameter are written, one number per matrix.
using ParameterSums = std::vector<std::pair<std::string, double*>>;

template <class Map>
void write_parameters(Map found, const ParameterSums& sums, std::size_t matrix) {
  maps::for_each_parameter(found, [&](auto parameter, auto value) {
    for (const auto& [name, numbers] : sums) {
      if (name == parameter.name) numbers[matrix] = static_cast<double>(value);
    }
  });
}

/// The gradients by the parameters are written to the arrays of `by_parameter`, one number per matrix.
template <class T>
void gradient(nb::handle given, const nb::object& queries, const nb::object& keys, const nb::object& values,
              const nb::object& cotangent, const nb::tuple& out, const nb::dict& by_parameter,
              const apply::Options& options) {
  const auto q = batch_of<const T>(queries), k = batch_of<const T>(keys), v = batch_of<const T>(values);
  const auto g = batch_of<const T>(cotangent);
  const auto dq = batch_of<T>(out[0]), dk = batch_of<T>(out[1]), dv = batch_of<T>(out[2]);
  const ArrayParameters parameters = parameters_of(given, q.shape(0));
  ParameterSums sums;
  for (const auto& [name, array] : by_parameter) {
    sums.emplace_back(nb::cast<std::string>(name),
                      nb::cast<nb::ndarray<double, nb::ndim<1>, nb::c_contig>>(array).data());
  }
  with_fused_map<T>("apply::attention_gradient", parameters.prototype(), [&](const auto& made) {
    for_each_matrix(made, parameters, q.shape(0), [&](const auto& map, std::size_t i) {
      write_parameters(apply::attention_gradient(map, matrix(q, i), matrix(k, i), matrix(v, i), matrix(g, i),
                                                 {matrix(dq, i), matrix(dk, i), matrix(dv, i)}, options),
                       sums, i);
    });
  });
}

apply::Options options_of(scoring::Visibility visibility, nb::handle threads) {
  return {.visibility = visibility, .threads = whole_number<int>("apply::Options", "threads", threads)};
}

}  // namespace

void bind_attention(nb::module_& arrays) {
  nb::module_ m = arrays.def_submodule("apply");
  m.def(
      "attend",
      [](nb::handle map, const nb::object& queries, const nb::object& keys, const nb::object& values,
         const nb::object& out, scoring::Visibility visibility, nb::handle threads) {
        const auto options = options_of(visibility, threads);
        nb::cast<int>(out.attr("dtype").attr("itemsize")) == 4
            ? attend<float>(map, queries, keys, values, out, options)
            : attend<double>(map, queries, keys, values, out, options);
      },
      "map"_a, "queries"_a, "keys"_a, "values"_a, "out"_a, "visibility"_a, "threads"_a,
      "Fused attention of every matrix of a batch.");
  m.def(
      "attention_gradient",
      [](nb::handle map, const nb::object& queries, const nb::object& keys, const nb::object& values,
         const nb::object& cotangent, const nb::tuple& out, const nb::dict& by_parameter,
         scoring::Visibility visibility, nb::handle threads) {
        const auto options = options_of(visibility, threads);
        nb::cast<int>(out[0].attr("dtype").attr("itemsize")) == 4
            ? gradient<float>(map, queries, keys, values, cotangent, out, by_parameter, options)
            : gradient<double>(map, queries, keys, values, cotangent, out, by_parameter, options);
      },
      "map"_a, "queries"_a, "keys"_a, "values"_a, "cotangent"_a, "out"_a, "by_parameter"_a, "visibility"_a, "threads"_a,
      "The backward pass of every matrix of a batch.");
}

}  // namespace incontext::python
