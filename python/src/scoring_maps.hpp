#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "incontext/calibration/visible_scores.hpp"
#include "incontext/maps/any_map.hpp"
#include "incontext/scoring.hpp"

/// The maps of scoring as Python's classes, with parameters that may differ from row to row, and finite masks.
namespace incontext::python {

/// The parameters of a map that are given as arrays: one number per row, or per matrix. The others are those of the map.
class ArrayParameters {
 public:
  ArrayParameters() = default;

  /// Reads the fields of a map that are arrays with an axis. `shape` is the shape against which they broadcast, a tuple
  /// whose last number is 1.
  ArrayParameters(nb::handle map, const nb::object& shape) : prototype_(nb::borrow(map)) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    const auto read = [&](const char* name) {
      if (!nb::hasattr(map, name)) return;
      const nb::object given = map.attr(name);
      if (nb::isinstance<nb::float_>(given) || nb::isinstance<nb::int_>(given)) return;
      if (nb::cast<int>(numpy.attr("ndim")(given)) == 0) return;
      const nb::object array = numpy.attr("asarray")(given, numpy.attr("float64"));
      values_.emplace_back(name, broadcast(map, name, array, shape));
      const auto& numbers = values_.back().second;
      prototype_ =
          prototype_.attr("replace")(**named(name, numbers.empty() ? nb::float_(1.0) : nb::float_(numbers.front())));
    };
    std::apply([&](auto... parameter) { (read(parameter.name), ...); }, maps::Parameters());
  }

  /// The map with the first number of every array, from which the C++ map is made.
  [[nodiscard]] nb::handle prototype() const { return prototype_; }
  [[nodiscard]] bool empty() const { return values_.empty(); }

  /// Writes the numbers of a row into the map.
  template <class Map>
  void put(Map& map, std::int64_t row) const {
    if (values_.empty()) return;
    maps::for_each_parameter(map, [&](auto parameter, auto& number) {
      for (const auto& [is, numbers] : values_) {
        if (is == parameter.name) {
          number = static_cast<typename Map::value_type>(numbers[static_cast<std::size_t>(row)]);
        }
      }
    });
  }

 private:
  static nb::dict named(const char* name, const nb::object& value) {
    nb::dict field;
    field[name] = value;
    return field;
  }
  static std::vector<double> broadcast(nb::handle map, const char* name, const nb::object& array,
                                       const nb::object& shape) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    nb::object whole;
    try {
      whole = numpy.attr("ascontiguousarray")(numpy.attr("broadcast_to")(array, shape));
    } catch (nb::python_error&) {
      throw_invalid_argument(library_name(map), std::string("the shape of ") + name + " does not fit the scores",
                             text_of(array.attr("shape")), "a shape that broadcasts to " + text_of(shape));
    }
    const auto view = nb::cast<nb::ndarray<const double, nb::c_contig>>(whole);
    return {view.data(), view.data() + view.size()};
  }

  nb::object prototype_;
  std::vector<std::pair<std::string, std::vector<double>>> values_;
};

/// The C++ map that a Python map stands for.
template <class T>
maps::AnyMap<T> any_map(nb::handle given) {
  if (!nb::isinstance(given, python_class("scoring.Map")) || !nb::hasattr(given.type(), "_name")) {
    const bool is_own = nb::isinstance(given, python_class("scoring.Elementwise"));
    throw nb::type_error((std::string("incontext: this is ") +
                          (is_own ? "your own map" : "not a map of a row of scores") +
                          " (value = " + library_name(given) + "; needs " +
                          (is_own ? "its own call, jvp or vjp" : "a map of incontext.scoring") + ")")
                             .c_str());
  }
  auto map = maps::find_map<T>(nb::cast<std::string>(given.attr("_name")));
  maps::for_each_parameter(
      map, [&](auto parameter, T& number) { number = static_cast<T>(real_field(given, parameter.name)); });
  maps::for_each_choice(
      map, [&]<class Choice>(const char* name, Choice& choice) { choice = chosen_field<Choice>(given, name); });
  return map;
}

/// The C++ map that a Python map stands for, which must be of this type.
template <class Map>
Map map_as(nb::handle given) {
  return maps::visit(library_name(given), any_map<typename Map::value_type>(given), [](const Map& map) { return map; });
}

/// Refuses finite scores by the rule of calibration::keep_visible, in the words of Python.
[[noreturn]] inline void refuse_finite_masks(const char* problem, double score, const char* or_else = "") {
  throw_invalid_argument("scoring::Map", problem, score,
                         calibration::instead_of_finite_masks("finite_masks=False in the call") + or_else);
}

/// The row with -infinity for its finite masks, by the rule of calibration::keep_visible. A row without such scores is
/// returned as it is, else its copy in `copy`.
template <class T>
scoring::Row<const T> with_masks(scoring::Row<const T> scores, std::vector<T>& copy, bool finite_masks) {
  if (!finite_masks) return scores;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  constexpr T highest = static_cast<T>(calibration::highest_mask);
  T lowest_score = infinity, highest_masked = -infinity;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const bool is_score = !(z <= highest);
    lowest_score = is_score && z < lowest_score ? z : lowest_score;
    highest_masked = !is_score && highest_masked < z ? z : highest_masked;
  }
  if (highest_masked <= -infinity) return scores;
  if (!(lowest_score < infinity)) {
    refuse_finite_masks("every score of a row is low enough for a mask", highest_masked);
  }
  if (!calibration::is_mask_beside(highest_masked, lowest_score)) {
    refuse_finite_masks("a score is too low for a score and too near to the others for a mask", highest_masked);
  }
  copy.resize(static_cast<std::size_t>(scores.size));
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    copy[static_cast<std::size_t>(i)] = scores[i] <= highest ? -infinity : scores[i];
  }
  return {copy.data(), scores.size};
}

/// Whether finite masks would count in a map.
template <class T>
bool counts_keys(const maps::AnyMap<T>& map) {
  return std::visit([]<class Map>(const Map&) { return calibration::counts_keys<Map>; }, map.chosen);
}

/// The row as a map sees it: with -infinity for its finite masks, where those would count.
template <class T>
scoring::Row<const T> seen_by(const maps::AnyMap<T>& map, scoring::Row<const T> scores, std::vector<T>& copy,
                              bool finite_masks) {
  return with_masks(scores, copy, finite_masks && counts_keys(map));
}

}  // namespace incontext::python
