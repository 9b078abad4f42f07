#pragma once

#include <concepts>
#include <cstdint>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// A factor of a layer's values, and the error of the layer with it.
///
/// Units     scale dimensionless; error: label units squared.
template <Real T>
struct ValueScale {
  T scale;
  T error;
};

/// The factor of a layer's values with which it errs least. The error is a parabola in it, because no weight depends on
/// the values: \f$ E(s) = E_0 - 2 b s + a s^2 \f$, with E_0 the answer 0's.
///
///     const auto layer = regression::optimal_value_scale(attention, task, 200, scoring::Softmax{2.8});
///     regression::minimize_softmax_error<double>([&](double t) {
///       return regression::optimal_value_scale(attention, task, 200, scoring::Softmax{t}).error;
///     }, {0.1, 2.8, 100.0});                                              // temperature and values together
///
/// Source    derived: the parabola through softmax_error at the factors 1 and -1, and E_0 = sigma^2 + E (w . x_q)^2.
/// Shapes    as softmax_error; the factor multiplies input_value and label_value.
/// Domain    as softmax_error, values not all 0.
/// Limits    values 0: 0 and the error E_0.
/// Errors    as softmax_error.
/// Accuracy  that of softmax_error times E_0 over the error; the factor to that of E_0 over b
///           (tests/regression/multihead_error.cpp).
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
ValueScale<T> optimal_value_scale(const Attention<T>& attention, const LinearTask<T>& task, std::int64_t context_length,
                                  const Map& map, QueryToken query = QueryToken::excluded) {
  Attention<T> reversed = attention;
  reversed.input_value = -attention.input_value;
  reversed.label_value = -attention.label_value;
  const T with = softmax_error(attention, task, context_length, map, query).value;
  const T against = softmax_error(reversed, task, context_length, map, query).value;
  const T nothing = task.noise_variance() + trace_of_product<T>(task.task_second_moment(), task.input_second_moment());
  const T linear = (against - with) / T(4), square = (with + against) / T(2) - nothing;
  if (!(T(0) < square)) return {T(0), nothing};
  return {T(linear / square), T(nothing - linear * linear / square)};
}

INCONTEXT_COMPILED_OF_MAPS(regression_value_scale, optimal_value_scale, double);

}  // namespace incontext::regression
