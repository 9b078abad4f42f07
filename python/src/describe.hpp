#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <new>
#include <string>
#include <tuple>

/// What classes of C++ say of themselves in Python.
namespace incontext::python {

namespace nb = nanobind;

/// Gives a class .to_dict(), a repr and a table for notebooks, from what the Python half says of it.
template <class Class>
void describe(Class& bound) {
  const auto by = [](const char* function) {
    return [function](nb::handle self) { return nb::module_::import_("incontext._describe").attr(function)(self); };
  };
  bound.def("to_dict", by("to_dict"), nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
            "What it holds, by name: numbers, records as dictionaries, and lists of them.");
  bound.def("__repr__", by("to_text"), nb::sig("def __repr__(self) -> str"));
  bound.def("_repr_html_", by("to_html"), nb::sig("def _repr_html_(self) -> str"));
}

/// Adds a constructor for the arguments that no other takes: it says why in the package's own words.
template <class Class>
void refuse_other_arguments(Class& bound) {
  bound.def(
      "__init__",
      [](typename Class::Type*, const nb::args& arguments, const nb::kwargs& named) {
        nb::module_::import_("incontext._signatures")
            .attr("refuse_constructor")(nb::type<typename Class::Type>(), arguments, named);
      },
      nb::sig("def __init__(self, *arguments: typing.Never, **named: typing.Never) -> None"));
}

/// Gives a struct its pickle: the members that hold all of it.
template <class Class, class... Members>
void pickle_by(nb::class_<Class>& bound, Members Class::*... members) {
  using State = std::tuple<Members...>;
  bound.def("__getstate__", [members...](const Class& self) { return State(self.*members...); });
  bound.def("__setstate__", [members...](Class& self, const State& state) {
    new (&self) Class();
    std::tie(self.*members...) = state;
  });
}

}  // namespace incontext::python
