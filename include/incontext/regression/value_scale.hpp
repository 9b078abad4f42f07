#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/white_attention.hpp"
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
/// Source    derived: the parabola through softmax_error at two opposite factors, and E_0 = sigma^2 + E (w . x_q)^2.
/// Shapes    as softmax_error; the factor multiplies input_value and label_value.
/// Domain    as softmax_error.
/// Limits    values 0: 0 and the error E_0.
/// Errors    as softmax_error.
/// Accuracy  that of softmax_error times E_0 over the error; the factor to that of E_0 over b
///           (tests/regression/multihead_error.cpp).
template <Real T, scoring::SoftmaxLike Map, class M = Matrix<T>>
  requires std::same_as<T, scoring::Value<Map>>
ValueScale<T> optimal_value_scale(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                  std::int64_t context_length, const Map& map,
                                  QueryToken query = QueryToken::excluded) {
  using std::sqrt;
  const T nothing = task.noise_variance() + trace_of_product<T>(task.task_second_moment(), task.input_second_moment());
  validate(attention, task.dimension(), "optimal_value_scale");
  const T size = detail::white_attention(attention, task).value_variance();
  if (!(T(0) < size)) return {T(0), nothing};
  const T unit = sqrt(T(nothing / size));  // values of the size of the labels, so that no digits are lost
  const auto error_at = [&](const T& factor) {
    const Attention<T, M> scaled{attention.key_query, factor * attention.input_value,
                                 T(factor * attention.label_value)};
    return softmax_error(scaled, task, context_length, map, query).value;
  };
  const T with = error_at(unit), against = error_at(T(-unit));
  const T linear = (against - with) / T(4), square = (with + against) / T(2) - nothing;
  return {T(unit * linear / square), T(nothing - linear * linear / square)};
}

INCONTEXT_COMPILED_OF_MAPS(regression_value_scale, optimal_value_scale, double);

}  // namespace incontext::regression
