#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "incontext/apply/detail/gradient_readers.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/shared_softmax.hpp"

/// The derivative of one row's weighted sum of weights, and a functor for all rows.
namespace incontext::apply::detail {

/// What one row adds to a derivative, in double where that holds the scalar.
template <class T>
using RowTerm = std::conditional_t<std::is_same_v<T, float>, double, T>;

/// g . d a / d parameter of one row: by the map's own sum, or by the whole derivative in `scratch`.
template <class Map, class Parameter, class T>
INCONTEXT_HD RowTerm<T> derivative_of_row(const Map& map, Parameter parameter, Row<const T> scores,
                                          Row<const T> cotangent, Row<T> scratch) {
  if constexpr (requires { derivative_along(map, parameter, scores, cotangent, scratch); }) {
    return derivative_along(map, parameter, scores, cotangent, scratch);
  } else {
    derivative(map, parameter, scores, scratch);
    RowTerm<T> total = 0;
    for (std::int64_t j = 0; j < scores.size; ++j) {
      const bool masked = scores[j] <= -math::infinity<T>();
      const RowTerm<T> term = RowTerm<T>(scratch[j]) * (masked ? RowTerm<T>(0) : RowTerm<T>(cotangent[j]));
      total = total + term;
    }
    return total;
  }
}

/// Whether sixteen threads of a GPU find the derivative of a row together.
template <class System, class Map, class Parameter>
inline constexpr bool shares_derivatives = false;
template <class System, scoring::SharedSoftmax Map, class Parameter>
  requires(System::lanes == 1)
inline constexpr bool shares_derivatives<System, Map, Parameter> =
    requires(const Map& map, Parameter parameter, Row<const typename Map::value_type> in,
             Row<typename Map::value_type> out) { derivative_along(map, parameter, in, in, out); };

/// One slot takes every slots-th row, with scratch memory of its own.
template <class Map, class Parameter>
struct DifferentiateRows {
  using T = typename Map::value_type;
  static constexpr std::string_view task = "derivatives by a parameter";
  Map map;
  Parameter parameter;
  MatrixView<const T> scores;
  MatrixView<const T> cotangent;
  VisibleKeys visible;
  std::int64_t slot_count;
  T* scratch;
  bool is_transposed;  // the scratch memories of a GPU's threads: element j of all, side by side
  RowTerm<T>* terms;
  std::uint8_t* is_left = nullptr;  // which rows sixteen threads leave to one; null: all are

  INCONTEXT_HD Row<T> own_scratch(std::int64_t slot, std::int64_t size) const {
    return is_transposed ? Row<T>(scratch + slot, size, slot_count) : Row<T>(scratch + slot * scores.columns, size);
  }

  INCONTEXT_HD void operator()(std::int64_t slot) const {
    for (std::int64_t i = slot; i < scores.rows; i += slot_count) {
      if (is_left != nullptr && is_left[i] == 0) continue;
      const std::int64_t seen = visible(i);
      terms[i] = seen == 0 ? RowTerm<T>(0)
                           : derivative_of_row(map, parameter, scores.row(i).first(seen), cotangent.row(i).first(seen),
                                               own_scratch(slot, seen));
    }
  }

  /// By sixteen threads of a GPU.
  template <class Threads>
  INCONTEXT_HD void operator()(std::int64_t slot, const Threads& threads) const {
    for (std::int64_t i = slot; i < scores.rows; i += slot_count) {
      const std::int64_t seen = visible(i);
      T term = T(0);
      const bool is_found = seen == 0 || scoring::derivative_along_by_threads(
                                             map, parameter, threads, scores.row(i).first(seen),
                                             cotangent.row(i).first(seen), own_scratch(slot, seen), term);
      if (threads.lane() == 0) {
        terms[i] = term;
        is_left[i] = is_found ? 0 : 1;
      }
    }
  }
};

}  // namespace incontext::apply::detail
