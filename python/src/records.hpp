#pragma once

#include <nanobind/eigen/dense.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "core.hpp"

/// Conversions between C++ structs and the records of the Python half, field by field.
///
///     INCONTEXT_RECORD(numerics::Quadrature<double>, "laws", "Quadrature", value, error_estimate)
///     INCONTEXT_CHOICE(QueryToken, "regression", "QueryToken")
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
    return try_cast<Base>(incontext::python::as_float64(source), value.value);
  }
  static handle from_cpp(const incontext::python::Dense<Base>& from, rv_policy, cleanup_list*) {
    return cast(from.value).release();
  }
};

#define INCONTEXT_EXPAND(...) INCONTEXT_EXPAND1(INCONTEXT_EXPAND1(INCONTEXT_EXPAND1(__VA_ARGS__)))
#define INCONTEXT_EXPAND1(...) INCONTEXT_EXPAND2(INCONTEXT_EXPAND2(INCONTEXT_EXPAND2(__VA_ARGS__)))
#define INCONTEXT_EXPAND2(...) INCONTEXT_EXPAND3(INCONTEXT_EXPAND3(INCONTEXT_EXPAND3(__VA_ARGS__)))
#define INCONTEXT_EXPAND3(...) __VA_ARGS__
#define INCONTEXT_PARENTHESES ()
#define INCONTEXT_AGAIN() INCONTEXT_READ
#define INCONTEXT_READ(member, ...)                             \
  incontext::python::read_field(source, #member, value.member); \
  __VA_OPT__(INCONTEXT_AGAIN INCONTEXT_PARENTHESES(__VA_ARGS__))
#define INCONTEXT_AGAIN_CAST() INCONTEXT_CAST
#define INCONTEXT_CAST(member, ...)     \
  fields.append(nb::cast(from.member)); \
  __VA_OPT__(INCONTEXT_AGAIN_CAST INCONTEXT_PARENTHESES(__VA_ARGS__))

#define INCONTEXT_RECORD(type, room, name, ...)                                              \
  template <>                                                                                \
  struct nanobind::detail::type_caster<type> {                                               \
    NB_TYPE_CASTER(type, const_name("incontext." room "." name))                             \
    bool from_python(handle source, std::uint8_t, cleanup_list*) {                           \
      if (!isinstance(source, incontext::python::python_class(room "." name))) return false; \
      INCONTEXT_EXPAND(INCONTEXT_READ(__VA_ARGS__))                                          \
      return true;                                                                           \
    }                                                                                        \
    static handle from_cpp(const type& from, rv_policy, cleanup_list*) {                     \
      namespace nb = nanobind;                                                               \
      nb::list fields;                                                                       \
      INCONTEXT_EXPAND(INCONTEXT_CAST(__VA_ARGS__))                                          \
      return incontext::python::python_class(room "." name)(*fields).release();              \
    }                                                                                        \
  };

#define INCONTEXT_CHOICE(type, room, name)                                                         \
  template <>                                                                                      \
  struct nanobind::detail::type_caster<type> {                                                     \
    NB_TYPE_CASTER(type, io_name("incontext." room "." name " | str", "incontext." room "." name)) \
    bool from_python(handle source, std::uint8_t, cleanup_list*) {                                 \
      const object choices = incontext::python::python_class(room "." name);                       \
      if (!incontext::python::is_choice(source, choices)) return false;                            \
      value = static_cast<type>(cast<int>(choices(source)));                                       \
      return true;                                                                                 \
    }                                                                                              \
    static handle from_cpp(const type& from, rv_policy, cleanup_list*) {                           \
      return incontext::python::python_class(room "." name)(static_cast<int>(from)).release();     \
    }                                                                                              \
  };
