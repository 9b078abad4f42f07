#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"

/// Numbers that a binding reads from an object by itself: a keyword, a field of a record, the result of a function. One
/// of the wrong type is refused in the library's words, with the parameter's name and its value.
namespace incontext::python {

namespace nb = nanobind;

/// A value as a message shows it: the beginning of its repr, in one line.
inline std::string text_of(nb::handle value) {
  const nb::object line = nb::repr(value).attr("replace")("\n", " ");
  return nb::cast<std::string>(line.attr("__getitem__")(nb::slice(80)));
}

/// The type of an object as the library names it: scoring::Softmax.
inline std::string library_name(nb::handle object) {
  const nb::handle type = object.type();
  const auto module = nb::cast<std::string>(nb::str(type.attr("__module__")));
  return module.substr(module.rfind('.') + 1) + "::" + nb::cast<std::string>(nb::str(type.attr("__name__")));
}

namespace detail {

inline std::string refusal(std::string_view where, std::string_view name, const char* problem, nb::handle value,
                           const std::string& needs) {
  return incontext::detail::contract_message(where, std::string(name) + problem, text_of(value), needs);
}

}  // namespace detail

/// A number as a double.
inline double real_number(std::string_view where, std::string_view name, nb::handle value) {
  double number = 0;
  if (nb::try_cast<double>(value, number)) return number;
  throw nb::type_error(detail::refusal(where, name, " is not a number", value, "a number").c_str());
}

/// An integer of a type of C++. A float without a fraction, such as 1e4, is one.
template <class Integer>
Integer whole_number(std::string_view where, std::string_view name, nb::handle value) {
  const bool is_float = PyFloat_Check(value.ptr());
  if (is_float) {
    const double real = PyFloat_AsDouble(value.ptr());
    if (!std::isfinite(real) || real != std::floor(real)) {
      throw nb::value_error(detail::refusal(where, name, " is not whole", value, "an integer").c_str());
    }
  }
  const nb::object whole = nb::steal(is_float ? PyNumber_Long(value.ptr()) : PyNumber_Index(value.ptr()));
  if (!whole.is_valid()) {
    PyErr_Clear();
    throw nb::type_error(detail::refusal(where, name, " is not an integer", value, "an integer").c_str());
  }
  Integer number{};
  if (nb::try_cast<Integer>(whole, number)) return number;
  using Limits = std::numeric_limits<Integer>;
  const std::string range = std::to_string((Limits::min)()) + " to " + std::to_string((Limits::max)());
  throw nb::value_error(detail::refusal(where, name, " is out of range", value, "an integer from " + range).c_str());
}

/// A field of a record as a double.
inline double real_field(nb::handle record, const char* name) {
  return real_number(library_name(record), name, record.attr(name));
}

/// A field of a record as a float.
inline float number_of(nb::handle record, const char* name) { return static_cast<float>(real_field(record, name)); }

/// A field of a record as an integer of a type of C++.
template <class Integer>
Integer whole_field(nb::handle record, const char* name) {
  return whole_number<Integer>(library_name(record), name, record.attr(name));
}

/// A field of a record as one of an enumeration.
template <class Choice>
Choice chosen_field(nb::handle record, const char* name) {
  return static_cast<Choice>(whole_field<int>(record, name));
}

}  // namespace incontext::python
