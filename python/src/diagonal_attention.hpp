#pragma once

#include "incontext/regression/attention.hpp"
#include "records.hpp"

/// A layer whose scores' matrix is diagonal: the record Attention with a vector for key_query.
template <>
struct nanobind::detail::type_caster<incontext::regression::DiagonalAttention<double>> {
  using Layer = incontext::regression::DiagonalAttention<double>;
  using Class = incontext::python::PythonClass<incontext::regression::Attention<double>>;
  NB_TYPE_CASTER(Layer, Class::name)
  bool from_python(handle source, std::uint8_t, cleanup_list*) {
    if (!isinstance(source, incontext::python::python_class(Class::path))) return false;
    const object given = incontext::python::as_float64(source.attr("key_query"));
    if (cast<int>(given.attr("ndim")) != 1) return false;
    incontext::regression::Vector<double> diagonal;
    incontext::python::read_field(source, "key_query", diagonal);
    value.key_query = incontext::regression::DiagonalPlusLowRank<double>(diagonal.asDiagonal());
    incontext::python::read_field(source, "input_value", value.input_value);
    incontext::python::read_field(source, "label_value", value.label_value);
    return true;
  }
  static handle from_cpp(const Layer& from, rv_policy, cleanup_list*) {
    return incontext::python::python_class(Class::path)(from.key_query.entries(), from.input_value, from.label_value)
        .release();
  }
};
