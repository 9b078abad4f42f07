#pragma once

#include <cstdint>

#include "incontext/maps/any_map.hpp"
#include "incontext/regression/softmax_error.hpp"

namespace incontext::regression {

/// softmax_error of a map that is chosen at run time.
///
/// Source    softmax_error.
/// Shapes    (attention: d, task: d, context_length l, map) -> scalar
/// Errors    maps::MapTypeError for a map that is not softmax after an elementwise one; as softmax_error.
template <Real T>
numerics::Quadrature<T> softmax_error(const Attention<T>& attention, const LinearTask<T>& task,
                                      std::int64_t context_length, const maps::AnyMap<T>& map,
                                      QueryToken query = QueryToken::excluded,
                                      const T& tolerance = numerics::quadrature_tolerance<T>()) {
  return maps::visit("regression::softmax_error", map, [&]<scoring::SoftmaxLike Map>(const Map& chosen) {
    return softmax_error(attention, task, context_length, chosen, query, tolerance);
  });
}

INCONTEXT_COMPILED_DECLARATION(regression_softmax_error_any_map,
                               numerics::Quadrature<double> softmax_error(const Attention<double>&,
                                                                          const LinearTask<double>&, std::int64_t,
                                                                          const maps::AnyMap<double>&, QueryToken,
                                                                          const double&));

}  // namespace incontext::regression
