#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <limits>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/detail/weight_search.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Weight of one needle among `noise_count` tokens with independent scores that are uniform between two edges: bounded
/// competitors. Scores are counted from the lower edge and multiplied by the inverse temperature: `span` = beta times
/// the width of the law, `gap` = beta (m - lower edge).
namespace incontext::laws {

/// Expected weight of a needle of score m among N uniform scores.
///
/// \f[ E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int dy\, e^{y - e^y}\, \psi(y - x_m)^N,\qquad
///     \psi(s) = \frac{E_1(e^s) - E_1(e^{s + w})}{w},\quad w = \beta (z_+ - z_-),\ x_m = \beta (m - z_-) \f]
///
/// Source    derived: docs/theory/laws.md#needle, with the uniform law's psi.
/// Domain    noise_count >= 1 and whole, span >= 0, gap finite.
/// Limits    span = 0: 1 / (1 + N e^(-gap)). Never below 1 / (1 + N (e^w - 1) / w e^(-gap)) (Jensen).
/// Errors    std::domain_error for noise_count, span or gap outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/uniform_needle.cpp. Where the weight is close to 1, uniform_noise_weight keeps
///           the digits of what is left.
template <Real T>
numerics::Quadrature<T> uniform_needle_weight(const Count<T>& noise_count, const T& span, const T& gap);

/// Expected weight of all the uniform noise together, without cancellation where it is small.
///
/// \f[ 1 - E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int dy\, e^{y - e^y}\, (1 - \psi(y - x_m)^N) \f]
///
/// Source    derived: docs/theory/laws.md#needle, with the uniform law's psi.
/// Domain    as uniform_needle_weight.
/// Limits    gap -> infinity: N (e^w - 1) / w e^(-gap).
/// Errors    std::domain_error for noise_count, span or gap outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/uniform_needle.cpp.
template <Real T>
numerics::Quadrature<T> uniform_noise_weight(const Count<T>& noise_count, const T& span, const T& gap);

/// The beta (m - lower edge) at which a needle among N uniform scores has exactly the expected weight `weight`.
///
/// Source    derived: docs/theory/laws.md#retrieval; root by Boost.Math's TOMS 748.
/// Units     dimensionless; divide by beta for the score above the lower edge.
/// Domain    noise_count >= 1 and whole, span >= 0, 0 < weight < 1.
/// Limits    span = 0: log N + log(w / (1 - w)). SSMax, n -> infinity: ssmax_bounded_threshold (fading_thresholds.hpp).
/// Errors    std::domain_error for noise_count, span or weight outside the domain; numerics::QuadratureError.
/// Accuracy  1e-9 relative: tests/laws/uniform_needle.cpp.
template <Real T>
T uniform_retrieval_gap(const Count<T>& noise_count, const T& span, const T& weight = T(0.5));

namespace detail {

/// psi(s) = E exp(-e^(s + u)), u uniform on (0, span), by means of exponential integrals.
template <Real T>
class UniformScores {
 public:
  explicit UniformScores(const T& span) : span_(span) {}

  /// log psi, from the smaller of psi and 1 - psi.
  T log_psi(const T& s) const {
    using std::log;
    if (T(0) < s + span_ && span_ < T(0.5)) return narrow(s);
    if (s + span_ <= T(0)) return math::log_one_plus(T(-small_complement(s)));
    const T complement = (rising(T(s + span_)) - rising(s)) / span_;
    if (complement < T(0.5)) return math::log_one_plus(T(-complement));
    return log(T((falling(s) - falling(T(s + span_))) / span_));
  }

 private:
  /// The exponential integral E_1(e^l).
  static T falling(const T& l) {
    using std::exp;
    if (l < T(-1)) return entire(l) - l - boost::math::constants::euler<T>();
    return T(8) < l ? T(0) : T(boost::math::expint(1, T(exp(l))));
  }

  /// int_0^(e^l) (1 - e^-t) / t dt.
  static T rising(const T& l) {
    if (l < T(-1)) return entire(l);
    return falling(l) + l + boost::math::constants::euler<T>();
  }

  /// The same integral by its power series, sum of (-1)^(k + 1) e^(k l) / (k k!).
  static T entire(const T& l) {
    return series(l, [](const T& k) { return T(T(1) / k); });
  }

  /// 1 - psi where e^(s + span) <= 1: the difference of that series at the two ends, over span, term by term.
  T small_complement(const T& s) const {
    return series(T(s + span_), [this](const T& k) {
      return T(0) < span_ ? T(-math::exp_minus_one(T(-k * span_)) / (k * span_)) : T(1);
    });
  }

  /// sum of (-1)^(k + 1) e^(k l) share(k) / k!.
  template <class Share>
  static T series(const T& l, const Share& share) {
    using std::exp;
    const T z = exp(l);
    T term = T(-1), sum = T(0);
    for (int k = 1; k < 200; ++k) {
      term = -term * z / T(double(k));
      const T next = term * share(T(double(k)));
      sum += next;
      if (math::magnitude(next) <= T(std::numeric_limits<T>::epsilon()) * sum) break;
    }
    return sum;
  }

  /// log psi by the Gauss-Legendre rule, for spans so short that the differences of exponential integrals would cancel.
  T narrow(const T& s) const {
    using std::exp;
    using std::log;
    if (T(8) < s) return -math::infinity<T>();
    const auto kept = [&](const T& u) { return T(exp(T(-exp(T(s + span_ * u))))); };
    const auto lost = [&](const T& u) { return T(-math::exp_minus_one(T(-exp(T(s + span_ * u))))); };
    using Rule = boost::math::quadrature::gauss<T, 30>;
    const T complement = Rule::integrate(lost, T(0), T(1));
    if (complement < T(0.5)) return math::log_one_plus(T(-complement));
    return log(T(Rule::integrate(kept, T(0), T(1))));
  }

  T span_;
};

template <Real T>
void require_uniform_needle(std::string_view where, const T& noise_count, const T& span, const T& gap) {
  require_whole(where, "noise_count", noise_count, 1);
  require_non_negative(where, "span", span);
  require_finite(where, "gap", gap);
}

/// log E e^u, u uniform on (0, span).
template <Real T>
T uniform_cumulants(const T& span) {
  using std::log;
  if (!(T(0) < span)) return T(0);
  return span + log(T(-math::exp_minus_one(T(-span)) / span));
}

}  // namespace detail

template <Real T>
numerics::Quadrature<T> uniform_needle_weight(const Count<T>& noise_count, const T& span, const T& gap) {
  const T& n = noise_count;
  using std::log;
  detail::require_uniform_needle("laws::uniform_needle_weight", n, span, gap);
  const T turn = gap - log(n) - detail::uniform_cumulants(span);
  return detail::needle_integral<T>("laws::uniform_needle_weight", detail::UniformScores<T>(span), n, gap, turn);
}

template <Real T>
numerics::Quadrature<T> uniform_noise_weight(const Count<T>& noise_count, const T& span, const T& gap) {
  const T& n = noise_count;
  detail::require_uniform_needle("laws::uniform_noise_weight", n, span, gap);
  return detail::noise_integral<T>("laws::uniform_noise_weight", detail::UniformScores<T>(span), n, gap);
}

template <Real T>
T uniform_retrieval_gap(const Count<T>& noise_count, const T& span, const T& weight) {
  const T& n = noise_count;
  using std::log;
  detail::require_fraction("laws::uniform_retrieval_gap", "weight", weight);
  detail::require_uniform_needle("laws::uniform_retrieval_gap", n, span, T(0));
  const T annealed = log(n) + detail::uniform_cumulants(span);
  return detail::exponent_of_weight<T>(
      "laws::uniform_retrieval_gap", [&](const T& gap) { return uniform_needle_weight(n, span, gap).value; }, annealed,
      weight);
}

INCONTEXT_COMPILED(laws_uniform_needle, uniform_needle_weight<double>);
INCONTEXT_COMPILED(laws_uniform_needle, uniform_noise_weight<double>);
INCONTEXT_COMPILED(laws_uniform_needle, uniform_retrieval_gap<double>);

}  // namespace incontext::laws
