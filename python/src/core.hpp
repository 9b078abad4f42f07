#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "record_types.hpp"

/// What every room's bindings share: closed forms of numbers, which broadcast over arrays as NumPy's own functions do.
///
/// A form reads and broadcasts its arguments itself, because neither nanobind nor a ufunc of NumPy takes a record whose
/// numbers are arrays, one of several records, or a choice by its name; returns a record of arrays, or a Theory; or
/// computes the elements in threads, without the interpreter's lock, until Ctrl-C.
namespace incontext::python {

namespace nb = nanobind;

/// What is a record or a choice in Python.
template <class T>
concept InPython = requires { PythonClass<T>::path; };

/// The text of a C++ name's documentation, taken from the headers when the package is built; "" where there is none.
const char* docstring(std::string_view name);

/// A class of the Python half of the package, as "statistics.Estimate"; imported at its first use.
nb::object python_class(const char* path);

/// Whether an object is of that class.
inline bool is(nb::handle object, const char* path) { return nb::isinstance(object, python_class(path)); }

/// Whether NumPy would turn this object into a number, or refuse it without the argument's name.
inline bool is_no_number(nb::handle object) {
  return object.is_none() || nb::isinstance<nb::str>(object) || nb::isinstance<nb::bytes>(object) ||
         PyBool_Check(object.ptr()) || PyComplex_Check(object.ptr());
}

/// An argument that may be a number or an array.
struct Axis {
  nb::object values;
};

/// A result that is a number where every argument is one, and an array or a record of arrays elsewhere.
struct Broadcast {
  nb::object values;
};

/// A parameter of a closed form: a number, a record of numbers, or one of several records. Of several, the function
/// gets the record's place in the list, and then as many numbers as the largest has, zeros in place of those missing.
struct Parameter {
  const char* name;
  std::optional<double> fallback = std::nullopt;
  const char* fallback_text = nullptr;    ///< where the number is not how the default is written
  std::vector<std::string> records = {};  ///< as "laws.FrozenLayer"
  std::size_t width = 0;                  ///< of several records: the numbers of the largest
  const char* choices = nullptr;          ///< an enumeration, as "regression.QueryToken", whose names are accepted
};

/// A parameter that is a number.
inline Parameter number(const char* name, std::optional<double> fallback = std::nullopt, const char* text = nullptr) {
  return {name, fallback, text};
}

/// A parameter that is one of an enumeration, or its name.
inline Parameter choice(const char* name, const char* choices, std::optional<double> fallback = std::nullopt,
                        const char* text = nullptr) {
  return {name, fallback, text, {}, 0, choices};
}

/// A parameter that is a record.
inline Parameter record(const char* name, const char* type) { return {name, std::nullopt, nullptr, {type}}; }

/// What a closed form writes: a number (no record), one of an enumeration, or a record of so many numbers.
struct Result {
  const char* record = nullptr;
  std::size_t size = 1;
  std::uint32_t whole = 0;  ///< bit k: number k is an integer
  std::uint32_t truth = 0;  ///< bit k: number k is true or false
  bool is_choice = false;
};

/// Writes a result's numbers for one set of arguments.
using Evaluate = std::function<void(const double* in, double* out)>;

/// Whether a record holds functions of Python, which are called in the caller's thread alone: those of its NumPy error
/// state and of its context.
bool calls_python(nb::handle record);

/// Evaluates at every element of the arguments, broadcast together, without the interpreter's lock and, unless
/// `in_threads` is false, in threads. Ctrl-C ends it between two elements.
nb::object evaluate(const Result& result, const std::vector<nb::object>& inputs, const Evaluate& function,
                    bool in_threads = true);

namespace detail {

/// The numbers of an argument or a result, in order: itself, or those of a record's fields or of an array.
template <class R, class Visit>
void for_each_number(R& r, const Visit& visit) {
  if constexpr (std::is_arithmetic_v<R> || std::is_enum_v<R>) {
    visit(r);
  } else if constexpr (InPython<std::remove_const_t<R>>) {
    PythonClass<std::remove_const_t<R>>::each_field(r,
                                                    [&](const char*, auto& member) { for_each_number(member, visit); });
  } else {
    for (auto& one : r) for_each_number(one, visit);
  }
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class F, class R, class... A>
struct Signature<R (F::*)(A...) const> {
  using result = R;

  static R call([[maybe_unused]] const char* where, const F& function, [[maybe_unused]] const double* in) {
    // braces: from the left to the right
    return std::apply(function, std::tuple<std::decay_t<A>...>{argument<std::decay_t<A>>(where, in)...});
  }

 private:
  /// The next argument: a number, or a record of as many numbers as it has.
  template <class To>
  static To argument(const char* where, const double*& in) {
    To made{};
    for_each_number(made, [&]<class Number>(Number& one) { one = number<Number>(where, *in++); });
    return made;
  }
  template <class To>
  static To number(const char* where, double value) {
    if constexpr (std::is_integral_v<To>) {
      if (value != std::floor(value) || !(std::abs(value) < 0x1p63)) {
        throw_invalid_argument(where, "an argument that counts is not whole", value, "an integer");
      }
    }
    if constexpr (std::is_enum_v<To>) {
      return static_cast<To>(static_cast<int>(value));
    } else {
      return static_cast<To>(value);
    }
  }
};

}  // namespace detail

/// The kind of result that a C++ type is.
template <class R>
Result result_of() {
  Result result{nullptr, 0, 0, 0, std::is_enum_v<R>};
  if constexpr (InPython<R>) result.record = PythonClass<R>::path;
  const R none{};
  detail::for_each_number(none, [&]<class M>(const M&) {
    if (std::is_same_v<M, bool>) {
      result.truth |= 1U << result.size;
    } else if (std::is_integral_v<M> || std::is_enum_v<M>) {
      result.whole |= 1U << result.size;
    }
    ++result.size;
  });
  return result;
}

/// Writes the numbers of a result one after the other.
template <class R>
void write_numbers(const R& result, double* out) {
  detail::for_each_number(result, [&](const auto& number) { *out++ = static_cast<double>(number); });
}

/// A room of the library as a submodule of the extension.
class Room {
 public:
  Room(nb::module_& core, const char* name) : name_(name), module_(core.def_submodule(name)) {}

  nb::module_& module() { return module_; }

  /// Documentation of one of the room's names.
  const char* docs(const char* name) const { return docstring(name_ + "::" + name); }

  /// Binds a function of numbers and records, whose numbers may be arrays in Python. A record of Python gives its numbers
  /// one after the other, to a parameter of C++ that is the record or to as many that are numbers. A record that is a
  /// parameter of C++ needs a constructor without arguments.
  template <class Function>
  void form(const char* name, const Function& function, const std::vector<Parameter>& parameters) {
    using Signature = detail::Signature<Function>;
    const std::string where = name_ + "::" + name;
    add(name, parameters, result_of<typename Signature::result>(), [where, function](const double* in, double* out) {
      write_numbers(Signature::call(where.c_str(), function, in), out);
    });
  }

 private:
  void add(const char* name, const std::vector<Parameter>& parameters, const Result& result, Evaluate function);

  std::string name_;
  nb::module_ module_;
};

}  // namespace incontext::python

namespace nanobind::detail {

template <>
struct type_caster<incontext::python::Axis> {
  NB_TYPE_CASTER(incontext::python::Axis, const_name("numpy.typing.ArrayLike"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    value.values = borrow(source);
    return !incontext::python::is_no_number(source);
  }
  static handle from_cpp(const incontext::python::Axis& axis, rv_policy, cleanup_list*) noexcept {
    return axis.values.inc_ref();
  }
};

template <>
struct type_caster<incontext::python::Broadcast> {
  NB_TYPE_CASTER(incontext::python::Broadcast, const_name("typing.Any"))
  bool from_python(handle, std::uint8_t, cleanup_list*) noexcept { return false; }
  static handle from_cpp(const incontext::python::Broadcast& result, rv_policy, cleanup_list*) noexcept {
    return handle(result.values).inc_ref();
  }
};

}  // namespace nanobind::detail
