#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, on the
/// isotropic family: exact at every context length, every dimension and every temperature.
///
/// \f[ x \sim N(0, a I),\quad w \sim N(0, b I),\quad z_j = m\,x_j^T x_q,\quad \hat y = v \textstyle\sum_j p_j y_j \f]
/// \f[ G = \sigma^2 (1 + v^2 E p_2) + a b\, E\left[ r^2 - 2 v\,\mathrm{sgn}(m)\, r Z_1
///     + v^2 (Z_2 + (d - 1) p_2) \right],\quad r \sim \chi_d \f]
/// Here p_2, Z_1 and Z_2 are the row moments of laws/row_moments.hpp for scores of standard deviation a |m| r, in units
/// of that deviation.
/// With the query included, rows have one more token of score m a r^2 and label 0, and the sums are over the examples.
///
/// Source    derived: docs/theory/regression.md#softmax-error.
/// Shapes    scalars; query: whether the query attends to itself, too (SSMax then counts l + 1 keys)
/// Units     label units squared; the map's parameters in units of the scores, a temperature included.
/// Domain    l >= 2, dimension >= 1, a > 0, b > 0, noise_variance >= 0, map in its domain.
/// Limits    temperature -> infinity: a b d + sigma^2 + v^2 (a b d + sigma^2) / l, as generalization_error;
///           l -> infinity: sigma^2 + a b d (1 - v m a / temperature)^2 for softmax.
/// Errors    std::invalid_argument for counts, std::domain_error for values; numerics::QuadratureError, with the error
///           and its estimate, where the relative estimate of a quadrature stays above `tolerance`.
/// Accuracy  in double 1e-13 relative for d <= 40, l <= 10^6, at high and low temperatures
///           (tests/regression/softmax_error_isotropic.cpp); 1e-11 for a smooth map of one's own
///           (tests/regression/own_maps.cpp). Query included: 1e-9 for temperatures above a tenth of
///           m a, below which QuadratureError may be thrown (tests/regression/softmax_query_included.cpp).
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_error_isotropic(const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                                                std::int64_t context_length, const Map& map,
                                                QueryToken query = QueryToken::excluded,
                                                const T& tolerance = numerics::quadrature_tolerance<T>());

// The law of the scores' standard deviation over isotropic queries.
namespace detail {

/// Isotropic queries: the scores have the standard deviation sigma = a |m| r, r chi distributed with d degrees of
/// freedom.
template <Real T>
class ChiQueries {
 public:
  ChiQueries(const T& dimension, const T& deviation, const T& linear, const T& quadratic)
      : dimension_(dimension), deviation_(deviation), linear_(linear), quadratic_(quadratic) {
    using std::sqrt;
    peak_ = sqrt(dimension);
  }

  T start() const { return place_of_radius(peak_); }

  /// The logarithm of the density in u, up to a constant.
  T log_density(const T& u) const {
    using std::exp;
    using std::log;
    const T log_ratio = u - exp(T(-u)) - log(peak_);
    return dimension_ * (log_ratio - math::exp_minus_one(T(T(2) * log_ratio)) / T(2)) + log(radius_rate(u));
  }

  QueryDensity<T> operator()(const T& u) const {
    using std::exp;
    const T r = radius(u), density = exp(log_density(u));
    return {T(deviation_ * r), density, T(linear_ * r * r * density), T(quadratic_ * r * r * density)};
  }

 private:
  T dimension_, deviation_, linear_, quadratic_, peak_;
};

/// softmax_error_isotropic from the rows of a map: those of the examples, and those with the query beside them.
template <Real T>
numerics::Quadrature<T> softmax_error_isotropic_of_rows(std::string_view where, const IsotropicAttention<T>& attention,
                                                        const IsotropicTask<T>& task, std::int64_t context_length,
                                                        QueryToken query, const QueryRows<T>& rows,
                                                        const QueryRows<T>& rows_with_query, const T& tolerance) {
  using std::sqrt;
  const bool included = query == QueryToken::included;
  const T d = math::from_count<T>(task.dimension), v = attention.label_value;
  const T score = task.input_variance * attention.key_query_scale;
  const T signal = task.input_variance * task.task_variance;
  const T label_variance = task.noise_variance + signal * d;
  if (!(score < T(0) || T(0) < score)) {
    const T share = math::from_count<T>(context_length) / math::from_count<T>(context_length + (included ? 1 : 0));
    const auto row = rows.at(T(0));
    return {T(label_variance * (T(1) + v * v * row.ipr * share * share)), row.error_estimate};
  }
  const T deviation = score < T(0) ? T(-score) : score;
  const ChiQueries<T> queries(d, deviation, T(v * signal * score), T(v * v * signal * score * score));
  if (included) {
    const QueryTerms<T> terms{label_variance, T(0), T(v * v * label_variance)};
    return average_over_queries(where, rows_with_query, queries, terms, tolerance);
  }
  const T reference = mean_reference(rows, T(deviation * sqrt(d)));
  const T missed = T(1) - v * reference * score;
  const QueryTerms<T> terms{T(task.noise_variance + signal * d * missed * missed), reference,
                            T(v * v * label_variance)};
  return average_over_queries(where, rows, queries, terms, tolerance);
}

}  // namespace detail

template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_error_isotropic(const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                                                std::int64_t context_length, const Map& map, QueryToken query,
                                                const T& tolerance) {
  constexpr auto where = "softmax_error_isotropic";
  require_context_length(where, context_length);
  detail::require_isotropic(where, task);
  require_non_negative(where, "key_query_scale squared", T(attention.key_query_scale * attention.key_query_scale));
  require_non_negative(where, "label_value squared", T(attention.label_value * attention.label_value));
  scoring::require_valid(map);
  const auto row_length = context_length + (query == QueryToken::included ? 1 : 0);
  const laws::StandardRows rows(where, map.elementwise(static_cast<std::ptrdiff_t>(row_length)),
                                math::from_count<T>(context_length), math::infinity<T>());
  const T score = task.input_variance * attention.key_query_scale;
  return detail::softmax_error_isotropic_of_rows(where, attention, task, context_length, query,
                                                 detail::query_rows(rows), detail::query_rows_with_query(rows, score),
                                                 tolerance);
}

INCONTEXT_COMPILED(regression_softmax_error_isotropic, detail::softmax_error_isotropic_of_rows<double>);
INCONTEXT_COMPILED_OF_MAPS(regression_softmax_error_isotropic, softmax_error_isotropic, double);

}  // namespace incontext::regression
