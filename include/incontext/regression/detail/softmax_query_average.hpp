#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// The error of true softmax attention given the query, averaged over it: docs/theory/regression.md#softmax-error.
namespace incontext::regression::detail {

/// Queries x_q = L zeta of one score deviation sigma: their density in u, and its moments with what multiplies -2 a and
/// b in the error, a = E sum p g / sigma and b = (E (sum p g)^2 - IPR) / sigma^2.
template <Real T>
struct QueryDensity {
  T deviation, density, linear, quadratic;
};

/// The substitution sigma = scale * r with r = exp(u - e^-u). Whatever power of r the density of r starts with, the
/// density of u falls doubly exponentially on both sides.
template <Real T>
T radius(const T& u) {
  using std::exp;
  return exp(T(u - exp(T(-u))));
}

/// d log r / du.
template <Real T>
T radius_rate(const T& u) {
  using std::exp;
  return T(1) + exp(T(-u));
}

/// The u of a radius that is at least 1, by Newton's method.
template <Real T>
T place_of_radius(const T& r) {
  using std::exp;
  using std::log;
  const T target = log(r);
  T u = target < T(0.5) ? T(0.5) : target;
  for (int i = 0; i < 8; ++i) u = u - (u - exp(T(-u)) - target) / radius_rate(u);
  return u;
}

/// The parts of the error given the query. The weighted mean of a row's scores, in units of their standard deviation
/// sigma, has the expectation sigma a and the mean square IPR + sigma^2 b. What is averaged over queries are the
/// differences a_0 - a and a_0^2 - b, which are small where `without_context` is already near the error.
template <Real T>
struct QueryTerms {
  T without_context;  // error if the weighted mean of the inputs were a_0 Sigma M x_q
  T reference;        // a_0
  T value_variance;   // v^2 s2 + tr(B Sigma), the variance of what the weights multiply
};

/// All that the averages over queries need of a map, so that they are compiled once for all maps: the moments of a row
/// as a function of the scores' standard deviation, and the slope of a linear map. It refers to what it is made of.
template <Real T>
struct QueryRows {
  std::function<laws::StandardRow<T>(const T& deviation)> at;
  std::optional<T> slope = std::nullopt;
};

template <class Phi, Real T>
QueryRows<T> query_rows(const laws::StandardRows<Phi, T>& rows) {
  QueryRows<T> result{std::cref(rows)};
  if constexpr (scoring::is_linear<Phi>) result.slope = rows.slope();
  return result;
}

/// The examples' rows beside the query itself, whose own score is sigma^2 / gain if the white scores' matrix is gain I.
template <class Phi, Real T>
QueryRows<T> query_rows_with_query(const laws::StandardRows<Phi, T>& rows, const T& gain) {
  return {[&rows, gain](const T& deviation) -> laws::StandardRow<T> {
    const auto row = rows.with_needle(deviation, rows.phi().value(T(deviation * deviation / gain)));
    return {row.ipr, row.mean_score, row.mean_square_score, math::not_a_number<T>(), row.error_estimate};
  }};
}

/// The reference a_0: the slope of the linear map where the weights are so flat that a and b are near their limits
/// slope and slope^2, else 0.
template <Real T>
T mean_reference(const QueryRows<T>& rows, const T& deviation) {
  if (!rows.slope) return T(0);
  const T spread = *rows.slope * deviation;
  return T(-4) < spread && spread < T(4) ? *rows.slope : T(0);
}

template <Real T>
struct Departures {
  T mean, square;  // a_0 - a, a_0^2 - b
};

/// `reference` is 0 or the slope. b is a difference of moments. At small deviations sigma it cancels, but there its
/// contribution is of order sigma^2.
template <Real T>
Departures<T> departures(const laws::StandardRow<T>& row, const T& deviation, const T& reference) {
  if (reference < T(0) || T(0) < reference) {
    return {T(reference * row.ipr), T(reference * reference * row.lost_square)};
  }
  return {T(-row.mean_score / deviation), T(-(row.mean_square_score - row.ipr) / deviation / deviation)};
}

/// The rows' own error estimates are averaged with the integrand's size. Throws above the tolerance, with the value.
template <class Law, Real T>
numerics::Quadrature<T> average_over_queries(std::string_view where, const QueryRows<T>& rows, const Law& law,
                                             const QueryTerms<T>& terms, const T& tolerance) {
  const auto interval = laws::log_concave_support([&](const T& u) { return law.log_density(u); }, law.start(),
                                                  laws::negligible_drop<T>());
  const T width = interval.upper - interval.lower;
  T row_error = T(0), size = T(0);
  const auto sums = numerics::sum_bumps(
      [&](const T& u) {
        const QueryDensity<T> query = law(T(interval.lower + width * u));
        const auto row = rows.at(query.deviation);
        if (!math::is_finite(row.ipr)) {  // the map changes too fast here, and another panel of queries would not help
          throw numerics::QuadratureError(where, 1, static_cast<double>(tolerance));
        }
        const auto off = departures(row, query.deviation, terms.reference);
        const T term = width * (terms.value_variance * row.ipr * query.density + T(2) * off.mean * query.linear -
                                off.square * query.quadratic);
        row_error += math::magnitude(term) * row.error_estimate;
        size += math::magnitude(term);
        return std::array<T, 2>{T(width * query.density), term};
      },
      std::array<T, 2>{}, tolerance);
  const T mass = sums.value[0], of_rows = T(0) < size ? T(row_error / size) : T(0);
  const numerics::Quadrature<T> error{T(terms.without_context + sums.value[1] / mass),
                                      T((sums.change[1] + sums.size[1] * (of_rows + sums.change[0] / mass)) / mass)};
  const T worst = sums.worst <= of_rows ? of_rows : sums.worst;
  if (worst <= tolerance) return error;
  throw numerics::QuadratureError(where, static_cast<double>(worst), static_cast<double>(tolerance),
                                  {static_cast<double>(error.value), static_cast<double>(error.error_estimate)});
}

}  // namespace incontext::regression::detail
