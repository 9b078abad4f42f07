#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// The kernel e^(kappa u.x) averaged over the unit sphere: u uniform in dimension d, x any unit vector.
namespace incontext::classification {

/// Logarithm of the mean of the kernel between independent uniform points of the unit sphere.
///
/// \f[ \log A_d(\kappa) = \log E\, e^{\kappa u\cdot x} = \log\left[\Gamma(d/2) (2/\kappa)^{\nu} I_\nu(\kappa)\right],
///     \quad \nu = d/2 - 1 \f]
///
/// Source    derived: docs/theory/classification.md#kernel-mean; power series, Hankel's or Debye's expansion.
/// Units     dimensionless; kappa = 1/sigma^2 for an RBF kernel of width sigma.
/// Domain    dimension >= 1, |kappa| at most a sixteenth of the largest T; even in kappa.
/// Limits    kappa -> 0: kappa^2/(2 d); kappa -> infinity: kappa - (d-1)/2 log(kappa) + constant.
/// Errors    std::invalid_argument for dimension, std::domain_error for kappa.
/// Accuracy  relative, 16 eps for float and double, d to 1e6 and kappa to 1e9
///           (tests/classification/kernel_mean_50digits.cpp).
template <Real T>
T log_kernel_mean(std::int64_t dimension, const T& kappa);

/// Mean of the kernel between independent uniform points of the unit sphere.
///
/// \f[ A_d(\kappa) = E\, e^{\kappa u\cdot x} = {}_0F_1(; d/2; \kappa^2/4) \f]
///
/// Source    derived: docs/theory/classification.md#kernel-mean.
/// Domain    as log_kernel_mean.
/// Limits    kappa = 0: 1; infinity where the value exceeds the range of T.
/// Errors    as log_kernel_mean.
/// Accuracy  log A times that of log_kernel_mean.
template <Real T>
T kernel_mean(std::int64_t dimension, const T& kappa) {
  using std::exp;
  return exp(log_kernel_mean(dimension, kappa));
}

/// The mean resultant length of the von Mises-Fisher law, which is the mean cosine to the query under the kernel's
/// weights.
///
/// \f[ \rho_d(\kappa) = \frac{A_d'(\kappa)}{A_d(\kappa)} = \frac{I_{d/2}(\kappa)}{I_{d/2-1}(\kappa)} =
///     \frac{\kappa}{d + \kappa\,\rho_{d+2}(\kappa)} \f]
///
/// Source    Mardia & Jupp, Directional Statistics, A.5; the continued fraction is evaluated backward from Amos' upper
///           bound, whose error at order m is below (m + 1) / max(m, kappa)^2; each step multiplies the error by less
///           than rho^2.
/// Domain    as log_kernel_mean, dimension <= 1e15; odd in kappa.
/// Limits    kappa -> 0: kappa/d; kappa -> infinity: 1.
/// Errors    as log_kernel_mean.
/// Accuracy  16 eps relative for kappa <= 1e5 (tests/classification/kernel_mean_50digits.cpp), 32 eps beyond
///           (tests/classification/extreme_arguments.cpp).
template <Real T>
T mean_resultant_length(std::int64_t dimension, const T& kappa);

namespace detail {

/// Coefficients of Debye's polynomials u_k(p) = p^k sum_j c_kj p^(2j), by their recurrence.
template <Real T>
std::vector<std::vector<T>> debye_polynomials(int count) {
  std::vector<std::vector<T>> table{{T(1)}};
  for (int k = 0; k + 1 < count; ++k) {
    std::vector<T> next(table.back().size() + 1, T(0));
    for (std::size_t j = 0; j < table.back().size(); ++j) {
      const T m = T(double(k) + 2 * double(j)), c = table.back()[j];
      next[j] += c * (m / T(2) + T(1) / (T(8) * (m + T(1))));
      next[j + 1] -= c * (m / T(2) + T(5) / (T(8) * (m + T(3))));
    }
    table.push_back(std::move(next));
  }
  return table;
}

/// The least order from which Debye's expansion reaches eps for every argument.
template <Real T>
T debye_order() {
  return T(3.0 * std::numeric_limits<T>::digits10);
}

/// sum_k u_k(p) / order^k
template <Real T>
T debye_sum(const T& order, const T& p) {
  static const auto polynomials = debye_polynomials<T>(48);
  T sum = T(0), factor = T(1);
  for (const auto& c : polynomials) {
    T u = T(0);
    for (std::size_t j = c.size(); j-- > 0;) u = u * p * p + c[j];
    sum += factor * u;
    factor *= p / order;
    const T bound = factor * T(double(c.size()));
    if (bound < std::numeric_limits<T>::epsilon() / T(16) && c.size() > 12) break;
  }
  return sum;
}

/// log A by Debye's expansion, which is uniform in kappa / order. At kappa = 0, where A = 1 and p = 1, the same
/// expansion gives the factor Gamma(order + 1), and with it the sum to divide by.
template <Real T>
T log_mean_debye(const T& order, const T& kappa) {
  using std::log;
  using std::log1p;
  using std::sqrt;
  const T z = kappa / order, r = sqrt(T(1) + z * z), w = z * (z / (T(1) + r));
  return order * (w - log1p(T(w / T(2)))) - log(r) / T(2) + log(debye_sum(order, T(T(1) / r))) -
         log(debye_sum(order, T(1)));
}

/// log A - kappa by Hankel's expansion.
template <Real T>
T log_scaled_mean_hankel(const T& order, const T& kappa) {
  using std::abs;
  using std::log;
  T sum = T(1), term = T(1);
  for (int k = 1; k < 1000; ++k) {
    const T odd = T(2.0 * k - 1);
    term *= -(T(2) * order - odd) * (T(2) * order + odd) / (T(8.0 * k) * kappa);
    sum += term;
    if (abs(term) <= std::numeric_limits<T>::epsilon() / T(8) * sum) break;
  }
  return boost::math::lgamma(T(order + T(1))) - order * log(T(kappa / T(2))) -
         log(T(boost::math::constants::two_pi<T>() * kappa)) / T(2) + log(sum);
}

/// log A by the power series, all of whose terms are positive; powers of two are set aside before it overflows.
template <Real T>
T log_mean_series(const T& order, const T& kappa) {
  using std::ldexp;
  using std::log;
  using std::log1p;
  constexpr int chunk =
      std::numeric_limits<T>::max_exponent / 4 < 4096 ? std::numeric_limits<T>::max_exponent / 4 : 4096;
  const T limit = ldexp(T(1), chunk);
  const T half = kappa / T(2);
  T sum = T(0), term = T(1);
  int chunks = 0;
  for (T m = T(1);; m += T(1)) {
    const T ratio = (half / m) * (half / (order + m));
    term *= ratio;
    sum += term;
    if (ratio < T(0.5) && term <= std::numeric_limits<T>::epsilon() / T(8) * sum) break;
    if (limit < sum) {
      sum = ldexp(sum, -chunk);
      term = ldexp(term, -chunk);
      ++chunks;
    }
  }
  if (chunks == 0) return log1p(sum);
  return log(sum) + T(double(chunk) * chunks) * boost::math::constants::ln_two<T>();
}

/// log A and log A - kappa. Each is computed on its own, because one from the other would cancel digits.
template <Real T>
struct LogMean {
  T plain, scaled;
};

/// For kappa >= 0 and any order >= -1/2, which the callers check.
template <Real T>
LogMean<T> log_mean(std::int64_t dimension, const T& kappa) {
  using std::log;
  using std::sqrt;
  const T order = T(static_cast<double>(dimension)) / T(2) - T(1);
  if (kappa >= -log(T(std::numeric_limits<T>::epsilon())) && order * (order / T(2)) <= kappa) {
    const T scaled = log_scaled_mean_hankel(order, kappa);
    return {kappa + scaled, scaled};
  }
  const bool few_terms = kappa * (kappa / T(4)) <= T(30) * (order + T(1));
  const T plain = few_terms || order < debye_order<T>() ? log_mean_series(order, kappa) : log_mean_debye(order, kappa);
  return {plain, plain - kappa};
}

/// The mean resultant length rho for kappa far above d^2, by the series sum_k c_k / kappa^k: rho' = 1 - rho^2 -
/// (d - 1) rho / kappa gives c_0 = 1 and 2 c_k = (k - d) c_(k-1) - sum c_i c_(k-i) over i = 1 ... k - 1.
template <Real T>
T resultant_far(const T& dimension, const T& kappa) {
  std::vector<T> terms{T(1)};  // c_k / kappa^k
  T sum = T(1);
  for (int k = 1; k < 64; ++k) {
    const auto last = static_cast<std::size_t>(k);
    T term = (T(double(k)) - dimension) / kappa * terms.back();
    for (std::size_t i = 1; i < last; ++i) term -= terms[i] * terms[last - i];
    term = term / T(2);
    terms.push_back(term);
    sum += term;
    const T next_to_last = terms[last - 1];  // one term alone may vanish: c_4 does for d = 7
    if (math::magnitude(term) + math::magnitude(next_to_last) <= std::numeric_limits<T>::epsilon() / T(8)) break;
  }
  return sum;
}

/// Amos' bound of the mean resultant length in dimension d: a lower bound at order d/2, an upper bound at (d - 1)/2.
///
/// \f[ \frac{\kappa}{m + \sqrt{m^2 + \kappa^2}},\quad m\ \text{the order} \f]
template <Real T>
T resultant_bound(const T& order, const T& kappa) {
  using std::sqrt;
  const T z = kappa <= order ? T(kappa / order) : T(order / kappa), root = sqrt(T(T(1) + z * z));
  return kappa <= order ? T(z / (T(1) + root)) : T(T(1) / (z + root));
}

/// The smallest dimension d + 2 j from which the recursion down to d may start: is_enough(dimension, contraction)
/// holds, where contraction bounds the factor by which the recursion shrinks the error of its starting value.
template <Real T, class IsEnough>
T contracting_dimension(const T& d, const T& kappa, const IsEnough& is_enough) {
  T above = d, contraction = T(1);
  while (!is_enough(above, contraction)) {
    const T rho = resultant_bound(T((above - T(1)) / T(2)), kappa);
    contraction *= rho * rho;
    above += T(2);
  }
  return above;
}

}  // namespace detail

template <Real T>
T log_kernel_mean(std::int64_t dimension, const T& kappa) {
  require_at_least("classification::log_kernel_mean", "dimension", dimension, std::int64_t{1});
  detail::require_concentration("classification::log_kernel_mean", kappa);
  return detail::log_mean(dimension, kappa < T(0) ? T(-kappa) : kappa).plain;
}

template <Real T>
T mean_resultant_length(std::int64_t dimension, const T& kappa) {
  detail::require_dimension("classification::mean_resultant_length", dimension, 1);
  detail::require_concentration("classification::mean_resultant_length", kappa);
  if (kappa < T(0)) return -mean_resultant_length(dimension, T(-kappa));
  if (!(T(0) < kappa)) return kappa;
  const T d = T(static_cast<double>(dimension)), rounding = std::numeric_limits<T>::epsilon() / T(8);
  if (T(32) * d * d + T(2.0 * std::numeric_limits<T>::digits) < kappa) return detail::resultant_far(d, kappa);
  T above = detail::contracting_dimension(d, kappa, [&](const T& at, const T& contraction) {
    const T order = (at - T(1)) / T(2), size = order < kappa ? kappa : order;
    const T error = (order + T(1)) / size / size;
    return contraction * (error < T(1) ? error : T(1)) <= rounding;
  });
  T rho = detail::resultant_bound(T((above - T(1)) / T(2)), kappa);
  for (above -= T(2); d <= above; above -= T(2)) rho = kappa / (above + kappa * rho);
  return rho;
}

}  // namespace incontext::classification
