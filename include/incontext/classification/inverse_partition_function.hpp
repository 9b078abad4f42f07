#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Moments of 1/Z~ over contexts, Z~ = sum_j e^(kappa (u_j.x - 1)) (+ 1 if the query is a key), and the inverse
/// participation ratio of the context's weights. The context-adaptive step has the effective learning rate n c / Z~.
template <Real T>
struct InversePartitionFunction {
  T mean;           ///< E 1/Z~
  T second_moment;  ///< E 1/Z~^2
  T variance;       ///< Var 1/Z~
  T ipr;            ///< E sum_j p_j^2 over context points, p_j = e^(kappa (u_j.x - 1)) / Z~
};

/// Moments of the inverse partition function and of the inverse participation ratio (IPR) of attention, exact at any
/// context length.
///
/// \f[ E\tilde Z^{-k} = \int_0^\infty \frac{t^{k-1}}{\Gamma(k)} e^{-q t} \varphi(t)^n dt,\quad
///     E \sum_j p_j^2 = n \int_0^\infty t\, \varphi''(t)\, \varphi(t)^{n-1} e^{-q t} dt,\quad
///     \varphi(t) = E\, e^{-t e^{\kappa(u\cdot x - 1)}} \f]
///
/// Source    derived: docs/theory/classification.md#inverse-partition-function; q = 1 if the query is a key.
/// Domain    2 <= dimension <= 1e6, 0 <= kappa <= 1e5 (1e4 if the query is not a key), context_length >= 1.
/// Limits    kappa = 0: 1/(n + q), its square, 0, n/(n + q)^2; n = 1 without the query: e^kappa A_d(kappa) and IPR 1.
///           Without the query and for small n, rare contexts with no point near the query dominate the mean, and a
///           median says more. Infinity where a value exceeds the range of T.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa; numerics::QuadratureError.
/// Accuracy  1e-11 relative in double, for the variance 1e-11 + 2e-24 / kappa^2
///           (tests/classification/inverse_partition_function.cpp).
template <Real T>
InversePartitionFunction<T> inverse_partition_function(std::int64_t dimension, const T& kappa,
                                                       std::int64_t context_length, QueryToken query);

// Moments of the inverse partition function, as integrals over the Laplace transform of one weight.
namespace detail {

template <Real T>
class InversePartitionFunctionIntegrals {
 public:
  InversePartitionFunctionIntegrals(std::int64_t dimension, const T& kappa, std::int64_t count, QueryToken query)
      : count_(T(static_cast<double>(count))),
        self_(query == QueryToken::included ? T(1) : T(0)),
        law_(dimension, kappa, count_),
        integrals_(query == QueryToken::included ? T(0) : T(log_of(count_) - T(2) * kappa), log_of(T(count_ + self_))) {
  }

  InversePartitionFunction<T> all() {
    InversePartitionFunction<T> result{};
    result.mean = integral([this](const T& s, const Moments& m) { return T(s + log_rest(s, m, count_)); });
    const T rate = T(1) / result.mean;
    log_center_ = self_ < rate ? log_of(T((rate - self_) / count_)) : std::numeric_limits<T>::lowest();
    result.second_moment =
        integral([this](const T& s, const Moments& m) { return T(T(2) * s + log_rest(s, m, count_)); });
    result.ipr = count_ * integral([this](const T& s, const Moments& m) {
                   return T(log_of(m.second) + log_rest(s, m, T(count_ - T(1))));
                 });
    const T square = result.mean * result.mean;
    if (!(result.second_moment <= (std::numeric_limits<T>::max)())) {
      result.variance = result.second_moment;
    } else {  // the plain difference, where it loses no digits
      result.variance = T(100) * square < result.second_moment ? T(result.second_moment - square) : variance();
    }
    return result;
  }

 private:
  using Moments = KernelMoments<T>;

  static T log_of(const T& x) {
    using std::log;
    return log(x);
  }

  /// The logarithm of psi^others times the query's own factor.
  T log_rest(const T& s, const Moments& m, const T& others) const {
    using std::exp;
    return (T(0) < others ? T(others * m.log_psi) : T(0)) - (T(0) < self_ ? T(exp(s)) : T(0));
  }

  template <class LogIntegrand>
  T integral(const LogIntegrand& log_integrand) const {
    using std::exp;
    std::vector<T> sizes;
    for (const T& s : integrals_.grid()) sizes.push_back(log_integrand(s, law_(s, log_center_)));
    return integrals_("classification::inverse_partition_function", sizes,
                      [&](const T& s) { return T(exp(log_integrand(s, law_(s, log_center_)))); });
  }

  /// E (1/Z~ - E 1/Z~)^2 as one positive integral, which loses nothing where Z~ hardly varies.
  T variance() const {
    using std::exp;
    const T largest = log_of((std::numeric_limits<T>::max)()) / T(2) - T(10) - log_of(count_);
    const T rate = count_ * exp(log_center_) + self_;
    return integral([this, &largest](const T& s, const Moments& m) {
             // beyond this, t times the center overflows, and the transform is 0 to rounding
             if (largest < s + log_center_) return std::numeric_limits<T>::lowest();
             const T psi = exp(m.log_psi);
             if (!(T(0) < psi)) return std::numeric_limits<T>::lowest();
             const T c = m.centered / psi, spread = m.centered_square / psi - c * c;
             return T(log_rest(s, m, count_) + log_of(T(count_ * c * (count_ * c) + count_ * spread)));
           }) /
           (rate * rate);
  }

  T count_, self_;
  T log_center_ = T(0);
  WeightLaw<T> law_;
  LocatedIntegrals<T> integrals_;
};

/// The moments for small kappa, from the mean and variance of one weight. They are correct up to kappa^2, because the
/// skewness of the weight is of higher order.
template <Real T>
InversePartitionFunction<T> even_partition_function(std::int64_t dimension, const T& kappa, std::int64_t context_length,
                                                    QueryToken query) {
  using std::exp;
  const T n = T(static_cast<double>(context_length)), mean = exp(log_mean(dimension, kappa).scaled);
  const T variance = mean * mean * kernel_excess(dimension, kappa).value;
  const T inverse = T(1) / (n * mean + (query == QueryToken::included ? T(1) : T(0))), square = inverse * inverse;
  const T first = inverse * (T(1) + n * square * variance), spread = n * square * square * variance;
  return {first, first * first + spread, spread, n * square * (mean * mean + variance)};
}

}  // namespace detail

template <Real T>
InversePartitionFunction<T> inverse_partition_function(std::int64_t dimension, const T& kappa,
                                                       std::int64_t context_length, QueryToken query) {
  constexpr auto where = "classification::inverse_partition_function";
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  detail::require_partition_function_law(where, dimension, kappa, query);
  using std::exp;
  using std::log;
  const T even = exp(T(log(T(std::numeric_limits<T>::epsilon())) * T(0.375)));
  if (kappa < even) return detail::even_partition_function<T>(dimension, kappa, context_length, query);
  return detail::InversePartitionFunctionIntegrals<T>(dimension, kappa, context_length, query).all();
}

INCONTEXT_COMPILED(classification_inverse_partition_function, inverse_partition_function<double>);

}  // namespace incontext::classification
