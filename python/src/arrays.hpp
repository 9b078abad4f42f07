#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"
#include "incontext/scoring/row.hpp"

/// Rows of NumPy arrays: the last axis, at any stride, without a copy of float32 and float64.
namespace incontext::python {

/// A result that is an array of NumPy.
struct ArrayResult {
  nb::object values;
};

/// The array, or a copy where its numbers begin anywhere in memory, as those of a field of packed records do.
inline nb::object aligned(const nb::object& array) {
  return nb::cast<bool>(array.attr("flags").attr("aligned")) ? array : nb::object(array.attr("copy")());
}

/// The array as float32 if it is that or narrower, else as float64; whole numbers become float64. The masked elements of
/// a masked array (numpy.ma) are those that a function of scores does not see: they become -infinity.
inline nb::object as_real_array(const nb::object& values, double hidden = -std::numeric_limits<double>::infinity()) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object masked = numpy.attr("ma");
  nb::object array = numpy.attr("asarray")(values);
  if (nb::isinstance(values, masked.attr("MaskedArray"))) {
    const nb::object mask = masked.attr("getmaskarray")(values);
    array = numpy.attr("where")(mask, numpy.attr("float32")(hidden), array);
  }
  const auto kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  const auto bytes = nb::cast<int>(array.attr("dtype").attr("itemsize"));
  if (std::string("fiub").find(kind) == std::string::npos) throw nb::type_error("incontext: the array is not real");
  const bool narrow = kind == "f" && bytes <= 4;
  return aligned(numpy.attr("asarray")(array, narrow ? numpy.attr("float32") : numpy.attr("float64")));
}

inline bool is_float32(const nb::object& array) { return nb::cast<int>(array.attr("dtype").attr("itemsize")) == 4; }

inline nb::object zeros_like(const nb::object& array) {
  return nb::module_::import_("numpy").attr("zeros")(array.attr("shape"), array.attr("dtype"));
}

/// The rows of an array of any number of axes.
template <class T>
class RowsOf {
 public:
  explicit RowsOf(const nb::object& array) : array_(nb::cast<nb::ndarray<T>>(array)) { check(); }
  explicit RowsOf(const nb::ndarray<T>& array) : array_(array) { check(); }

  std::int64_t count() const {
    std::int64_t rows = 1;
    for (std::size_t k = 0; k + 1 < array_.ndim(); ++k) rows *= static_cast<std::int64_t>(array_.shape(k));
    return rows;
  }
  /// The place of a row in its matrix, the last axis but one: the query's index.
  std::int64_t query_index(std::int64_t row) const {
    return array_.ndim() < 2 ? 0 : row % static_cast<std::int64_t>(array_.shape(array_.ndim() - 2));
  }
  /// The number of queries of a matrix.
  std::int64_t query_count() const {
    return array_.ndim() < 2 ? 1 : static_cast<std::int64_t>(array_.shape(array_.ndim() - 2));
  }
  std::int64_t length() const { return static_cast<std::int64_t>(array_.shape(array_.ndim() - 1)); }
  scoring::Row<T> row(std::int64_t index) const {
    std::int64_t offset = 0;
    for (std::size_t k = array_.ndim() - 1; k-- > 0;) {
      const auto size = static_cast<std::int64_t>(array_.shape(k));
      offset += index % size * array_.stride(k);
      index /= size;
    }
    return {array_.data() + offset, length(), array_.stride(array_.ndim() - 1)};
  }
  /// The row's index in words, to follow a message: empty for an array of one axis.
  std::string place(std::int64_t index) const {
    std::string words;
    for (std::size_t k = array_.ndim() - 1; k-- > 0;) {
      const auto size = static_cast<std::int64_t>(array_.shape(k));
      words = std::to_string(index % size) + (words.empty() ? "" : ", ") + words;
      index /= size;
    }
    return words.empty() ? words : " in row [" + words + "]";
  }
  bool same_shape(const RowsOf<std::remove_const_t<T>>& other) const {
    return count() == other.count() && length() == other.length();
  }

 private:
  void check() const {
    if (array_.ndim() == 0) throw_invalid_argument("scoring", "scores have no axis", 0, "at least one axis");
  }
  nb::ndarray<T> array_;
};

}  // namespace incontext::python

template <>
struct nanobind::detail::type_caster<incontext::python::ArrayResult> {
  NB_TYPE_CASTER(incontext::python::ArrayResult, const_name("numpy.typing.NDArray[typing.Any]"))
  bool from_python(handle, std::uint8_t, cleanup_list*) noexcept { return false; }
  static handle from_cpp(const incontext::python::ArrayResult& result, rv_policy, cleanup_list*) noexcept {
    return handle(result.values).inc_ref();
  }
};
