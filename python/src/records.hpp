#pragma once

#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "core.hpp"

/// Conversions between C++ structs and the records of the Python half, field by field: those of record_types.hpp, which
/// headers.py writes from the structs and enumerations that python/records.txt names.
namespace incontext::python {

/// A dense vector or matrix from anything that NumPy makes an array of.
template <class Base>
struct Dense {
  Base value;
  operator const Base&() const { return value; }
};
using DenseVector = Dense<Eigen::Matrix<double, Eigen::Dynamic, 1>>;
using DenseMatrix = Dense<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>>;

/// The object as an array of float64; an array of that type is not copied.
inline nb::object as_float64(nb::handle source) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("asarray")(source, numpy.attr("float64"));
}

/// Whether an argument may be one of these choices: itself, its name, or its number. Another enumeration's is not.
inline bool is_choice(nb::handle source, nb::handle choices) {
  return nb::isinstance<nb::str>(source) || PyLong_CheckExact(source.ptr()) || nb::isinstance(source, choices);
}

/// Reads one field of a record into a member, with a message that names it.
template <class Member>
void read_field(nb::handle record, const char* name, Member& member) {
  nb::object value = record.attr(name);
  if constexpr (std::is_base_of_v<Eigen::MatrixBase<Member>, Member>) value = as_float64(value);
  if (nb::try_cast<Member>(value, member)) return;
  throw nb::type_error((nb::cast<std::string>(nb::str(record.type().attr("__name__"))) + "." + name +
                        " has the wrong type: " + nb::cast<std::string>(nb::repr(value)).substr(0, 80))
                           .c_str());
}

}  // namespace incontext::python

template <class Base>
struct nanobind::detail::type_caster<incontext::python::Dense<Base>> {
  NB_TYPE_CASTER(incontext::python::Dense<Base>, const_name("numpy.typing.ArrayLike"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) {
    try {
      return try_cast<Base>(incontext::python::as_float64(source), value.value);
    } catch (const python_error& error) {  // no numbers: the caller says of which argument
      if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
      return false;
    }
  }
  static handle from_cpp(const incontext::python::Dense<Base>& from, rv_policy, cleanup_list*) {
    return cast(from.value).release();
  }
};

namespace nanobind::detail {

/// A record.
template <incontext::python::InPython T>
  requires(!std::is_enum_v<T>)
struct type_caster<T> {
  using Class = incontext::python::PythonClass<T>;
  NB_TYPE_CASTER(T, Class::name)
  bool from_python(handle source, std::uint8_t, cleanup_list*) {
    if (!isinstance(source, incontext::python::python_class(Class::path))) return false;
    Class::each_field(value,
                      [&](const char* name, auto& member) { incontext::python::read_field(source, name, member); });
    return true;
  }
  static handle from_cpp(const T& from, rv_policy, cleanup_list*) {
    list fields;
    Class::each_field(from, [&](const char*, const auto& member) { fields.append(cast(member)); });
    return incontext::python::python_class(Class::path)(*fields).release();
  }
};

/// A choice, in the place of nanobind's own enumerations.
template <incontext::python::InPython T>
struct type_caster<T, enable_if_t<std::is_enum_v<T>>> {
  using Class = incontext::python::PythonClass<T>;
  NB_TYPE_CASTER(T, Class::name)
  bool from_python(handle source, std::uint8_t, cleanup_list*) {
    const object choices = incontext::python::python_class(Class::path);
    if (!incontext::python::is_choice(source, choices)) return false;
    try {
      value = static_cast<T>(cast<int>(choices(source)));
    } catch (const python_error& error) {  // no such choice: the caller says of which argument
      if (!error.matches(PyExc_ValueError)) throw;
      return false;
    }
    return true;
  }
  static handle from_cpp(const T& from, rv_policy, cleanup_list*) {
    return incontext::python::python_class(Class::path)(static_cast<int>(from)).release();
  }
};

}  // namespace nanobind::detail
