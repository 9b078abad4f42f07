#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/row_integrals.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"
#include "incontext/laws/detail/wide_scores.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::laws {

/// Moments of a row of weights p of independent standard normal scores g, proportional to w = e^phi(g).
template <Real T>
struct StandardRow {
  T ipr;                ///< E sum p^2
  T mean_score;         ///< E sum p g
  T mean_square_score;  ///< E (sum p g)^2
  /// 1 - (mean_square_score - IPR) / score_stddev^2 for phi(g) = score_stddev g, computed without that difference.
  T lost_square;
  T error_estimate;  ///< relative
};

/// The same moments in a row with one more token of a given weight, over the normal scores alone.
template <Real T>
struct NeedleRow {
  T ipr, mean_score, mean_square_score;
  T error_estimate;  ///< absolute
};

/// Moments of rows of `count` independent normal scores under phi, as functions of the scores' standard deviation:
/// rows(deviation) is the StandardRow at that standard deviation. A caller who judges the error estimates itself gives
/// a tolerance of infinity.
///
/// Source    derived: docs/theory/laws.md#row-moments.
/// Units     deviation in units of the scores.
/// Domain    count >= 1; phi in its domain, piecewise smooth.
/// Limits    count = 1: 1, 0, 1.
/// Errors    std::domain_error from the constructor, for phi; numerics::QuadratureError from the call, with the IPR,
///           where the relative error estimate is above the tolerance.
/// Accuracy  as row_moments.
template <class Phi, Real T>
class StandardRows {
 public:
  StandardRows(std::string_view where, const Phi& phi, const T& count,
               const T& tolerance = numerics::quadrature_tolerance<T>())
      : where_(where), phi_(phi), count_(count), tolerance_(tolerance) {
    if (!phi.in_domain()) {
      throw_domain_error(where, "the map is outside its domain in a row of count scores", count,
                         "parameters as the map's header states");
    }
  }

  const T& count() const { return count_; }

  /// d phi / dz, which is one number if phi is linear.
  T slope() const { return phi_.slope(T(0)); }

  StandardRow<T> operator()(const T& deviation) const {
    if (count_ <= T(1)) return {T(1), T(0), T(1), T(1), T(0)};
    if constexpr (scoring::is_linear<Phi>) {
      return judged(linear(T(slope() * deviation)));
    } else {
      return judged(curved(deviation));
    }
  }

  /// Of rows with one more token whose phi is `exponent`; the count is that of the normal scores, at least 2.
  NeedleRow<T> with_needle(const T& deviation, const T& exponent) const {
    using std::log;
    const auto integrate = [&](const auto& scores, const T& turn) {
      return detail::integrate_needle_row(scores, count_, exponent, T((std::min)(turn, T(-exponent))));
    };
    if constexpr (scoring::is_linear<Phi>) {
      const T signed_stddev = slope() * deviation, score_stddev = math::magnitude(signed_stddev);
      NeedleRow<T> row{};
      if (score_stddev < detail::WideScores<T>::narrowest(count_)) {
        row = detail::integrate_linear_needle_row(count_, score_stddev, exponent);
      } else {
        row = integrate(detail::WideScores<T>(score_stddev, count_), detail::turning_point(count_, score_stddev));
      }
      if (signed_stddev < T(0)) row.mean_score = -row.mean_score;
      return judged(row);
    } else {
      const auto scores = detail::SampledScores<T>::panels(phi_, deviation, count_, T(0.75));
      if (scores.empty()) return judged(no_row<NeedleRow<T>>());
      return judged(integrate(scores, T(-log(count_))));
    }
  }

  const Phi& phi() const { return phi_; }

 private:
  StandardRow<T> linear(const T& score_stddev) const {
    if (score_stddev < T(0)) {
      StandardRow<T> mirrored = linear(T(-score_stddev));
      mirrored.mean_score = -mirrored.mean_score;
      return mirrored;
    }
    using std::log;
    using std::sqrt;
    if (score_stddev < detail::WideScores<T>::narrowest(count_)) {
      return detail::integrate_linear_row(count_, score_stddev);
    }
    return detail::integrate_row(detail::WideScores<T>(score_stddev, count_), count_,
                                 detail::turning_point(count_, score_stddev),
                                 T(score_stddev / sqrt(T(T(1) + T(2) * log(count_)))));
  }

  StandardRow<T> curved(const T& deviation) const {
    const auto scores = detail::SampledScores<T>::panels(phi_, deviation, count_, T(1.5));
    const auto finer = detail::SampledScores<T>::panels(phi_, deviation, count_, T(0.75));
    if (scores.empty() || finer.empty()) return no_row<StandardRow<T>>();
    using std::log;
    StandardRow<T> row = detail::integrate_row(scores, count_, T(-log(count_)));
    row.error_estimate += difference(scores, finer);
    return row;
  }

  /// What is left where phi changes too fast for the panels.
  template <class Row>
  static Row no_row() {
    Row row{};
    row.ipr = row.mean_score = row.mean_square_score = std::numeric_limits<T>::quiet_NaN();
    row.error_estimate = T(1);
    return row;
  }

  template <class Row>
  Row judged(Row row) const {
    if (row.error_estimate <= tolerance_) return row;
    const double achieved = static_cast<double>(row.error_estimate), ipr = static_cast<double>(row.ipr);
    throw numerics::QuadratureError(where_, achieved, static_cast<double>(tolerance_), {ipr, ipr * achieved});
  }

  /// The largest relative difference between averages over one score by two sets of nodes, where w e^s is about 1/n.
  T difference(const detail::SampledScores<T>& coarse, const detail::SampledScores<T>& fine) const {
    using std::log;
    const T s = -log(count_) - phi_.value(T(0));
    const detail::ScoreBlocks<T> a = coarse(s), b = fine(s);
    T worst = T(0);
    for (const T& ratio : {T(a.log_psi / b.log_psi), T(a.first / b.first), T(a.second_square / b.second_square)}) {
      const T off = math::magnitude(T(ratio - T(1)));
      if (!(off <= worst)) worst = off;
    }
    return worst;
  }

  std::string_view where_;
  Phi phi_;
  T count_, tolerance_;
};

}  // namespace incontext::laws
