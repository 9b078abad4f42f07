#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"

namespace incontext::regression {

/// A parameter of a scoring map at which an error is least, and that error. At an end of the search, `place`, the error
/// falls on beyond it, or is the same as far as can be told.
///
/// Units     of the parameter: its own; of the error: label units squared.
template <Real T>
struct SoftmaxOptimum {
  T parameter;
  T error;
  numerics::SearchPlace place = numerics::SearchPlace::inside;
  T value_scale = T(1);  ///< of optimal_value_scale, for a caller who searches for both
};

/// Where to look for a positive parameter.
///
/// Domain    0 < lowest <= start <= highest.
template <Real T>
struct SearchRange {
  T lowest, start, highest;
};

/// The minimum of error(parameter) over a range of positive parameters, in the valley that contains `start`.
///
/// Steps of a factor of 2 go downhill until the error rises; then Brent's method in the logarithm of the parameter
/// finds the minimum. For a softmax temperature and any covariances, `error` is
/// `[&](T t) { return softmax_error(attention, task, l, Softmax<T>{t}).value; }`.
///
/// Source    Boost.Math's brent_find_minima.
/// Units     those of the parameter.
/// Domain    a continuous error with one valley, as every error of the isotropic family tried in
///           tests/regression/softmax_optimum.cpp has.
/// Limits    an error that falls up to an end of the range, or is flat up to there: that end, and `place` says so.
/// Errors    std::domain_error for a range outside the domain, and whatever `error` throws.
/// Accuracy  a minimum is flat, so the parameter is found to 1e-5 relative in double, and the least error as accurately
///           as `error` computes it (tests/regression/softmax_optimum.cpp).
template <Real T, class Error>
SoftmaxOptimum<T> minimize_softmax_error(const Error& error, const SearchRange<T>& range) {
  using std::exp;
  using std::log;
  constexpr auto where = "minimize_softmax_error";
  require_positive(where, "lowest", range.lowest);
  require_positive(where, "highest", range.highest);
  if (!(range.lowest <= range.start && range.start <= range.highest)) {
    throw_domain_error(where, "start is outside the range", range.start, "lowest <= start <= highest");
  }
  const auto inside = [&](const T& x) { return (std::min)((std::max)(x, range.lowest), range.highest); };
  SoftmaxOptimum<T> best{range.start, T(error(range.start))};
  T low = range.lowest, high = range.highest;
  // the least error that is known between the minimum and an end of the range, where one is
  std::optional<T> before_lowest, before_highest;
  // (low, high) becomes a bracket of the minimum: in the direction of the steps, `ahead` is its end where the error
  // rises, and `behind` is the best point before the last.
  for (const T& factor : {T(2.0), T(0.5)}) {
    const bool upwards = T(1.0) < factor;
    T& ahead = upwards ? high : low;
    T& behind = upwards ? low : high;
    const SoftmaxOptimum<T> start = best;
    for (T next = inside(T(start.parameter * factor)); next < best.parameter || best.parameter < next;
         next = inside(T(next * factor))) {
      const T value = error(next);
      if (!(value < best.error)) {
        ahead = next;
        (upwards ? before_highest : before_lowest) = value;
        break;
      }
      behind = best.parameter;
      best = {next, value};
    }
    if (start.parameter < best.parameter) {  // the error fell with growing x, so it rises with falling x
      before_lowest = start.error;
      break;
    }
  }
  constexpr int bits = std::numeric_limits<T>::digits * 2 / 5;
  const auto found =
      numerics::minimum_between<T>([&](const T& x) { return T(error(T(exp(x)))); }, T(log(low)), T(log(high)), bits);
  if (found.value < best.error) best = {T(exp(found.argument)), found.value};
  // An end is looked at only where nothing before it is larger: it may be far, where the error is hard to compute.
  const auto look_at = [&](const T& end, const std::optional<T>& before, numerics::SearchPlace place) {
    if (before && !numerics::is_least_at_end(*before, best.error)) return;
    const T value = error(end);
    if (numerics::is_least_at_end(value, best.error)) best = {end, value, place};
  };
  look_at(range.highest, before_highest, numerics::SearchPlace::highest);
  if (best.place == numerics::SearchPlace::inside) {
    look_at(range.lowest, before_lowest, numerics::SearchPlace::lowest);
  }
  return best;
}

namespace detail {

/// The error of the isotropic family as a function of one parameter of a scoring map.
template <Real T>
struct IsotropicSearch {
  IsotropicAttention<T> attention;
  IsotropicTask<T> task;
  std::int64_t context_length;

  T guess() const { return optimal_temperature_isotropic(attention, task, context_length); }
  bool helps() const { return guess() < std::numeric_limits<T>::infinity(); }

  /// The root mean square over queries of the standard deviation of the scores, a |m| sqrt(d).
  T deviation() const {
    using std::sqrt;
    const T score = task.input_variance * attention.key_query_scale;
    return (score < T(0.0) ? T(-score) : score) * sqrt(math::from_count<T>(task.dimension));
  }

  template <class Map>
  T error(const Map& map) const {
    return softmax_error_isotropic(attention, task, context_length, map).value;
  }
  T without_scores() const { return error(scoring::Softmax<T>{std::numeric_limits<T>::infinity()}); }

  template <class Family>
  SoftmaxOptimum<T> minimize(const Family& family, const T& lowest, const T& start, const T& highest) const {
    const std::function<T(const T&)> of_parameter = [&](const T& x) { return error(family(x)); };
    return minimize_softmax_error(of_parameter,
                                  SearchRange<T>{lowest, (std::min)((std::max)(start, lowest), highest), highest});
  }
};

}  // namespace detail

/// The temperature at which true softmax attention has its least error on the isotropic family. For approximate softmax
/// it is optimal_temperature_isotropic.
///
/// Source    derived: docs/theory/regression.md#softmax-optima.
/// Shapes    scalars
/// Units     those of the scores.
/// Domain    as softmax_error_isotropic.
/// Limits    l -> infinity at fixed d: m v a, as approximate softmax. m v <= 0: infinity. The result is never below
///           1e-6 of the standard deviation of the scores.
/// Errors    as softmax_error_isotropic.
/// Accuracy  as minimize_softmax_error.
template <Real T>
SoftmaxOptimum<T> softmax_optimal_temperature_isotropic(const IsotropicAttention<T>& attention,
                                                        const IsotropicTask<T>& task, std::int64_t context_length) {
  const detail::IsotropicSearch<T> search{attention, task, context_length};
  if (!search.helps()) {
    return {std::numeric_limits<T>::infinity(), search.without_scores(), numerics::SearchPlace::highest};
  }
  const T deviation = search.deviation();
  return search.minimize([](const T& t) { return scoring::Softmax<T>{t}; }, T(deviation * T(1e-6)), search.guess(),
                         T(search.guess() * T(1e6) + deviation));
}

/// The scale s of SSMax with which attention has its least error on the isotropic family. On rows of one length l SSMax
/// is softmax at temperature 1 / (s log l), so the least error is that of the optimal temperature. The scale may have
/// either sign.
///
/// \f[ s = \frac{\mathrm{sgn}(m v)}{\tau^*(|m v|) \log l} \f]
///
/// Source    derived: docs/theory/regression.md#softmax-optima.
/// Shapes    scalars
/// Units     one over those of the scores.
/// Domain    as softmax_error_isotropic.
/// Limits    m v = 0: 0.
/// Errors    as softmax_error_isotropic.
/// Accuracy  as minimize_softmax_error.
template <Real T>
SoftmaxOptimum<T> ssmax_optimal_scale_isotropic(const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                                                std::int64_t context_length) {
  using std::log;
  const T gain = attention.key_query_scale * attention.label_value;
  auto mirrored = attention;
  if (gain < T(0.0)) mirrored.key_query_scale = -attention.key_query_scale;
  const auto best = softmax_optimal_temperature_isotropic(mirrored, task, context_length);
  const T scale = T(1.0) / (best.parameter * log(math::from_count<T>(context_length)));
  // the hottest temperature is the scale nearest to 0
  const auto place = best.place == numerics::SearchPlace::inside    ? best.place
                     : best.place == numerics::SearchPlace::highest ? numerics::SearchPlace::lowest
                                                                    : numerics::SearchPlace::highest;
  return {gain < T(0.0) ? T(-scale) : scale, best.error, place};
}

/// The base b of SSA with which attention has its least error on the isotropic family, for a given exponent and
/// temperature 1.
///
/// Source    derived: docs/theory/regression.md#softmax-optima.
/// Shapes    scalars
/// Units     one over those of the scores.
/// Domain    as softmax_error_isotropic, exponent >= 1.
/// Limits    m v <= 0: 0, uniform weights. Exponent -> infinity: exponent times base -> 1 / optimal temperature. The
///           result is never above 1e6 over the standard deviation of the scores; there, `place` is `highest` and the
///           error falls on to that of ssa_scale_limit, as base -> infinity.
/// Errors    as softmax_error_isotropic; std::domain_error for the exponent.
/// Accuracy  as minimize_softmax_error.
template <Real T>
SoftmaxOptimum<T> ssa_optimal_base_isotropic(const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                                             std::int64_t context_length, const T& exponent) {
  const detail::IsotropicSearch<T> search{attention, task, context_length};
  search.error(scoring::SSA<T>{T(1.0), exponent});
  if (!search.helps()) return {T(0.0), search.without_scores(), numerics::SearchPlace::lowest};
  const T unit = T(1.0) / search.deviation();
  return search.minimize(
      [&](const T& b) {
        return scoring::SSA<T>{b, exponent};
      },
      T(unit * T(1e-9)), T(T(1.0) / (exponent * search.guess())), T(unit * T(1e6)));
}

/// The exponent k of SSA with which attention has its least error on the isotropic family, for a given base and
/// temperature 1, among 1 <= k <= 1000.
///
/// Source    derived: docs/theory/regression.md#softmax-optima.
/// Shapes    scalars
/// Domain    as softmax_error_isotropic, base > 0.
/// Limits    m v <= 0: 1, the exponent with the flattest weights.
/// Errors    as softmax_error_isotropic; std::domain_error for the base.
/// Accuracy  as minimize_softmax_error.
template <Real T>
SoftmaxOptimum<T> ssa_optimal_exponent_isotropic(const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                                                 std::int64_t context_length, const T& base) {
  const detail::IsotropicSearch<T> search{attention, task, context_length};
  const auto family = [&](const T& k) { return scoring::SSA<T>{base, k}; };
  const T flattest = search.error(family(T(1.0)));
  if (!search.helps()) return {T(1.0), flattest, numerics::SearchPlace::lowest};
  return search.minimize(family, T(1.0), T(T(1.0) / (base * search.guess())), T(1000.0));
}

INCONTEXT_COMPILED(regression_softmax_optimum, softmax_optimal_temperature_isotropic<double>);
INCONTEXT_COMPILED(regression_softmax_optimum, ssmax_optimal_scale_isotropic<double>);
INCONTEXT_COMPILED(regression_softmax_optimum, ssa_optimal_base_isotropic<double>);
INCONTEXT_COMPILED(regression_softmax_optimum, ssa_optimal_exponent_isotropic<double>);

}  // namespace incontext::regression
