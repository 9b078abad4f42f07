#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/numerics/solve.hpp"

/// Retrieval among n -> infinity competitors of any law, which are a random energy model of that law.
namespace incontext::laws {

/// A law of one competitor's score through its cumulant generating function Lambda(beta) = log E e^(beta z).
template <class Law, class T>
concept ScoreLaw = Real<T> && requires(const Law& law, const T& beta) {
  { law.cumulants(beta) } -> std::same_as<T>;
  { law.slope(beta) } -> std::same_as<T>;
};

/// Normal scores of mean 0.
///
/// \f[ \Lambda(\beta) = \frac{v \beta^2}{2} \f]
///
/// Units     variance in units of the scores squared.
template <Real T>
struct NormalLaw {
  T variance;
  T cumulants(const T& beta) const { return variance * beta * beta / T(2); }
  T slope(const T& beta) const { return variance * beta; }
};

/// Scores uniform between two edges.
///
/// \f[ \Lambda(\beta) = \beta z_+ + \log\frac{1 - e^{-\beta w}}{\beta w},\qquad w = z_+ - z_- \f]
///
/// Units     edges in units of the scores.
/// Domain    beta > 0.
template <Real T>
struct UniformLaw {
  T lower, upper;
  T cumulants(const T& beta) const {
    using std::log;
    const T span = beta * (upper - lower);
    return beta * upper + log(T(-math::exp_minus_one(T(-span)) / span));
  }
  T slope(const T& beta) const {
    const T width = upper - lower, span = beta * width;
    return upper - T(1) / beta + width / math::exp_minus_one(span);
  }
};

/// Scores of two values: `upper` with probability p, else `lower`.
///
/// \f[ \Lambda(\beta) = \beta z_+ + \log(p + (1 - p) e^{-\beta w}),\qquad w = z_+ - z_- \f]
///
/// Units     values in units of the scores.
template <Real T>
struct TwoValueLaw {
  T lower, upper, probability;
  T cumulants(const T& beta) const {
    using std::exp;
    using std::log;
    return beta * upper + log(T(probability + (T(1) - probability) * exp(T(-beta * (upper - lower)))));
  }
  T slope(const T& beta) const {
    using std::exp;
    const T low = (T(1) - probability) * exp(T(-beta * (upper - lower)));
    return (probability * upper + low * lower) / (probability + low);
  }
};

/// A retrieval threshold and the inverse temperature from which the noise is frozen (infinity: never).
///
/// Units     threshold in units of the scores, critical in one over them.
template <Real T>
struct RetrievalThreshold {
  T score;
  T critical;
};

/// The score that is retrieved among n -> infinity independent competitors of any law.
///
/// \f[ m_c = \frac{L + \Lambda(\beta)}{\beta}\ (\beta < \beta_c),\qquad \Lambda'(\beta_c)\ (\beta \ge \beta_c),\qquad
///     \beta_c \Lambda'(\beta_c) - \Lambda(\beta_c) = L = \log n \f]
///
/// Source    derived: docs/theory/laws.md#retrieval; root by Boost.Math's TOMS 748.
/// Domain    row_length > 1, inverse_temperature > 0.
/// Limits    NormalLaw: ssmax_gaussian_threshold (retrieval.hpp). Law with an upper edge: ssmax_bounded_threshold.
/// Errors    std::domain_error for row_length or inverse_temperature outside the domain.
/// Accuracy  1e-12 relative of the limit: tests/laws/retrieval_threshold.cpp.
template <Real T, ScoreLaw<T> Law>
RetrievalThreshold<T> retrieval_threshold(const Law& law, const Count<T>& row_length, const T& inverse_temperature) {
  const T& n = row_length;
  using std::log;
  detail::require_more_than_one("laws::retrieval_threshold", "row_length", n);
  require_positive("laws::retrieval_threshold", "inverse_temperature", inverse_temperature);
  const T l = log(n);
  const auto spent = [&](const T& beta) { return T(beta * law.slope(beta) - law.cumulants(beta) - l); };
  T high = inverse_temperature, low = inverse_temperature;
  for (int i = 0; i < 200 && spent(high) < T(0); ++i) high = high * T(2);
  for (int i = 0; i < 200 && T(0) < spent(low); ++i) low = low / T(2);
  T critical = std::numeric_limits<T>::infinity();
  if (!(spent(high) < T(0))) {
    critical = numerics::root_between<T>("laws::retrieval_threshold", spent, low, high);
  }
  if (critical <= inverse_temperature) return {law.slope(critical), critical};
  return {(l + law.cumulants(inverse_temperature)) / inverse_temperature, critical};
}

}  // namespace incontext::laws
