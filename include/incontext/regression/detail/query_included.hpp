#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"

/// The query among its own keys, with label 0: docs/theory/regression.md#query-included.
namespace incontext::regression::detail {

template <Real T>
void require_zero(std::string_view where, std::string_view parameter, const Vector<T>& vector) {
  for (Eigen::Index i = 0; i < vector.size(); ++i) {
    if (!(vector(i) <= T(0.0) && vector(i) >= T(0.0))) {
      throw_invalid_argument(where, entry(parameter, i, 0) + " is not zero and the query is included", vector(i),
                             "0, or QueryToken::excluded");
    }
  }
}

template <Real T>
void require_query_included_domain(std::string_view where, const Attention<T>& attention, const LinearTask<T>& task) {
  require_zero(where, "input_mean", task.input_mean());
  require_zero(where, "input_value", attention.input_value);
}

/// The error with the query included, from the parabola of the same attention with the query excluded and the offset
/// removed, whose linear and quadratic coefficients are c_1 and c_2. With n = l + 1, v = v_y, N = M Sigma M^T and the
/// variance of the averaged labels h = (tr(Sigma R) + s2) / l:
///
///   g_0 = s2 + tr(Sigma R)                                        [+ (l/n)^2 v^2 h]
///   g_1 = (l/n) c_1 + (v/n^2) tr(Sigma M^T Sigma R)               [+ (l^2/n^3) v^2 tr(M Sigma) h]
///   g_2 = (l/n)^2 c_2 + 2 (l/n^3) v tr(N Sigma E[w u^T])
///         + (l^2/n^4) v^2 ((tr(M Sigma)^2 + tr(M Sigma M Sigma) + tr(N Sigma)) h
///                          + (tr(N Sigma) (tr(Sigma R) + s2) + 2 tr(Sigma N Sigma R)) / l^2)
///
/// The bracketed terms belong to the offset and are added where it is kept; Sigma E[w u^T] = ((l-1)/l) v Sigma R Sigma.
template <Real T>
InverseTemperatureParabola<T> query_included_error(const InverseTemperatureParabola<T>& without_query,
                                                   const Attention<T>& attention, const LinearTask<T>& task,
                                                   std::int64_t context_length, Offset offset) {
  const T l = math::from_count<T>(context_length);
  const T n = math::from_count<T>(context_length + 1);
  const T v = attention.label_value;
  const T share = l / n;
  const Matrix<T>& s = task.input_covariance();
  const Matrix<T> r = task.task_second_moment();
  const Matrix<T> ms = product<T>(attention.key_query, s);
  const Matrix<T> ns = product<T>(product<T>(ms, attention.key_query.transpose()), s);
  const Matrix<T> sr = product<T>(s, r);
  const T label_variance = sr.trace() + task.noise_variance();
  const T h = label_variance / l;
  const T self = ms.trace();

  InverseTemperatureParabola<T> error = without_query;
  error.linear =
      share * error.linear + v / (n * n) * trace_of_product<T>(product<T>(s, attention.key_query.transpose()), sr);
  const T mixed = trace_of_product<T>(ns, sr.transpose());
  const T with_context = T(2.0) * share * v / (n * n) * ((l - T(1.0)) / l * v * mixed);
  const T with_query = share * share * v * v / (n * n) *
                       ((self * self + trace_of_product<T>(ms, ms) + ns.trace()) * h +
                        (ns.trace() * label_variance + T(2.0) * mixed) / (l * l));
  error.quadratic = share * share * error.quadratic + with_context + with_query;
  if (offset == Offset::kept) {
    error.constant += share * share * v * v * h;
    error.linear += share * share * v * v / n * self * h;
  }
  return error;
}

}  // namespace incontext::regression::detail
