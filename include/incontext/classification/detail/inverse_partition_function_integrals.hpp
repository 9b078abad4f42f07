#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

template <Real T>
struct InversePartitionFunction;

}  // namespace incontext::classification

/// Moments of the inverse partition function, as integrals over the Laplace transform of one weight.
namespace incontext::classification::detail {

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

}  // namespace incontext::classification::detail
