#pragma once

#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"

/// Closed forms of a context length, which may be an array, and records of one, which may be a list.
namespace incontext::python {

/// A record of type R, whose numbers may be arrays; or, of a number, a number or an array.
template <class R>
struct BroadcastOf {
  nb::object values;
};

/// Evaluates a function of a context length, by its name in a room, at each of an array's.
template <class Function>
auto at_lengths(const Axis& context_length, const Function& function, const char* room = "regression",
                const char* name = "context_length") {
  using R = decltype(function(std::int64_t{}));
  return BroadcastOf<R>{evaluate(result_of<R>(), {context_length.values}, [&](const double* in, double* out) {
    if (in[0] != std::floor(in[0])) {
      throw_invalid_argument(room, std::string(name) + " is not whole", in[0], "an integer");
    }
    write_numbers(function(static_cast<std::int64_t>(in[0])), out);
  })};
}

/// A list or an array of whole numbers: floats without a fraction are, True and False are not.
struct Counts : std::vector<std::int64_t> {};

/// The results of a function at each number of a list.
template <class Function>
auto each_of(const Counts& numbers, const Function& function) {
  std::vector<decltype(function(std::int64_t{}))> results;
  for (const std::int64_t number : numbers) results.push_back(function(number));
  return results;
}

}  // namespace incontext::python

template <>
struct nanobind::detail::type_caster<incontext::python::Counts> {
  NB_TYPE_CASTER(incontext::python::Counts, const_name("collections.abc.Sequence[int]"))
  bool from_python(handle given, std::uint8_t, cleanup_list*) noexcept {
    if (isinstance<str>(given) || isinstance<bytes>(given) || !PySequence_Check(given.ptr())) return false;
    try {
      for (handle one : list(given)) {
        if (PyBool_Check(one.ptr())) return false;
        value.push_back(incontext::python::whole_number<std::int64_t>("", "", one));
      }
      return true;
    } catch (const std::exception&) {  // the overloads' message says what is needed
      PyErr_Clear();
      return false;
    }
  }
  static handle from_cpp(const incontext::python::Counts& counts, rv_policy policy, cleanup_list* cleanup) noexcept {
    return list_caster<std::vector<std::int64_t>, std::int64_t>::from_cpp(counts, policy, cleanup);
  }
};

template <class R>
struct nanobind::detail::type_caster<incontext::python::BroadcastOf<R>> {
  static constexpr auto type() {
    if constexpr (incontext::python::InPython<R>) {
      return incontext::python::PythonClass<R>::name;
    } else {
      return const_name("incontext.statistics.Theory | numpy.typing.NDArray[numpy.float64]");
    }
  }
  NB_TYPE_CASTER(incontext::python::BroadcastOf<R>, type())
  bool from_python(handle, std::uint8_t, cleanup_list*) noexcept { return false; }
  static handle from_cpp(const incontext::python::BroadcastOf<R>& result, rv_policy, cleanup_list*) noexcept {
    return handle(result.values).inc_ref();
  }
};
