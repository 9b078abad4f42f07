#pragma once

#include <cmath>

#include "incontext/core/math.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/linear_task.hpp"

/// The law of the scores' standard deviation over isotropic queries.
namespace incontext::regression::detail {

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

}  // namespace incontext::regression::detail
