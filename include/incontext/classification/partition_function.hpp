#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/core/real.hpp"

/// The partition function around a query, Z = sum_j e^(kappa u_j.x), over n independent uniform context points of the
/// sphere.
namespace incontext::classification {

using incontext::QueryToken;

/// Excess of the second moment of the kernel over its squared mean: the squared coefficient of variation of one term.
///
/// \f[ v_d(\kappa) = \frac{A_d(2\kappa)}{A_d(\kappa)^2} - 1 \f]
///
/// Source    derived: docs/theory/classification.md#partition-function.
/// Units     dimensionless; Var Z = n A^2 v.
/// Domain    dimension >= 1, |kappa| at most a sixteenth of the largest T; even in kappa.
/// Limits    kappa -> 0: kappa^2/d; dimension 3, kappa -> infinity: kappa - 1; infinity where the value exceeds the
///           range of T.
/// Errors    std::invalid_argument for dimension, std::domain_error for kappa.
/// Accuracy  32 eps (1 + min(log A, 2 kappa - log A)) relative, A = A_d(2 kappa)
///           (tests/classification/kernel_mean_50digits.cpp).
template <Real T>
T partition_function_excess(std::int64_t dimension, const T& kappa);

/// Logarithm of the second moment of the kernel over its squared mean, for use where the excess itself exceeds the
/// range of T.
///
/// \f[ \log(1 + v_d(\kappa)) = \log A_d(2\kappa) - 2 \log A_d(\kappa) \f]
///
/// Source    derived: docs/theory/classification.md#partition-function.
/// Units     dimensionless; in a long context the effective number of keys is n / (1 + v).
/// Domain    as partition_function_excess.
/// Limits    kappa -> 0: kappa^2/d.
/// Errors    as partition_function_excess.
/// Accuracy  as partition_function_excess.
template <Real T>
T log_kernel_second_moment_ratio(std::int64_t dimension, const T& kappa);

/// Coefficient of variation of the partition function: how unevenly the points of contexts crowd around queries.
///
/// \f[ CV(Z) = \frac{\sqrt{v/n}}{1 + [q]\, e^{\kappa} / (n A_d(\kappa))} \f]
///
/// Source    derived: docs/theory/classification.md#partition-function; [q] = 1 if the query is a key.
/// Domain    as log_kernel_mean, context_length >= 1.
/// Limits    kappa = 0: 0; context_length -> infinity: sqrt(v/n).
/// Errors    std::invalid_argument for counts, std::domain_error for kappa.
/// Accuracy  as partition_function_excess.
template <Real T>
T partition_function_variation(std::int64_t dimension, const T& kappa, std::int64_t context_length, QueryToken query);

// The second moment of the kernel between points of the sphere.
namespace detail {

/// v = partition_function_excess and log(1 + v).
template <Real T>
struct KernelExcess {
  T value, log_second_moment;
};

template <Real T>
KernelExcess<T> kernel_excess(std::int64_t dimension, const T& kappa) {
  using std::expm1;
  const auto mean = log_mean(dimension, kappa), twice = log_mean(dimension, T(T(2) * kappa));
  // the two differences are equal; the one with the smaller terms rounds less and keeps at least half of their size
  const T log_ratio =
      twice.plain < -twice.scaled ? T(twice.plain - T(2) * mean.plain) : T(twice.scaled - T(2) * mean.scaled);
  return {expm1(log_ratio), log_ratio};
}

/// log(1 + e^x) without overflow.
template <Real T>
T softplus(const T& x) {
  using std::exp;
  using std::log1p;
  return T(0) < x ? T(x + log1p(exp(T(-x)))) : T(log1p(exp(x)));
}

}  // namespace detail

template <Real T>
T partition_function_excess(std::int64_t dimension, const T& kappa) {
  require_at_least("classification::partition_function_excess", "dimension", dimension, std::int64_t{1});
  detail::require_concentration("classification::partition_function_excess", kappa);
  return detail::kernel_excess(dimension, math::magnitude(kappa)).value;
}

template <Real T>
T log_kernel_second_moment_ratio(std::int64_t dimension, const T& kappa) {
  require_at_least("classification::log_kernel_second_moment_ratio", "dimension", dimension, std::int64_t{1});
  detail::require_concentration("classification::log_kernel_second_moment_ratio", kappa);
  return detail::kernel_excess(dimension, math::magnitude(kappa)).log_second_moment;
}

template <Real T>
T partition_function_variation(std::int64_t dimension, const T& kappa, std::int64_t context_length, QueryToken query) {
  using std::exp;
  using std::log;
  using std::sqrt;
  constexpr auto where = "classification::partition_function_variation";
  require_at_least(where, "dimension", dimension, std::int64_t{1});
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  detail::require_concentration(where, kappa);
  const auto excess = detail::kernel_excess(dimension, math::magnitude(kappa));
  const T log_n = log(T(static_cast<double>(context_length)));
  const auto mean = detail::log_mean(dimension, math::magnitude(kappa));
  // for kappa < 0 the query's own term e^kappa is the smallest possible, not the largest
  const T log_self = kappa < T(0) ? T(T(2) * kappa - mean.scaled - log_n) : T(-mean.scaled - log_n);
  const T log_damping = query == QueryToken::included ? detail::softplus(log_self) : T(0);
  // where v exceeds the range of T, the quotient may still be finite and is computed from logarithms
  if (T(50) < excess.log_second_moment) return exp(T((excess.log_second_moment - log_n) / T(2) - log_damping));
  // where kappa^2 underflows, or nearly does, the root of v is |kappa| / sqrt(d)
  const T d = T(static_cast<double>(dimension)), size = math::magnitude(kappa);
  const T root = size < std::numeric_limits<T>::epsilon() ? T(size / sqrt(d)) : T(sqrt(excess.value));
  return root * exp(T(-log_n / T(2) - log_damping));
}

}  // namespace incontext::classification
