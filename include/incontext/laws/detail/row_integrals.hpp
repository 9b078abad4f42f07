#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "incontext/core/interval.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/lattice_row.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"
#include "incontext/laws/detail/score_lattice.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::laws {

template <Real T>
struct StandardRow;

template <Real T>
struct NeedleRow;

}  // namespace incontext::laws

/// Moments of a row of independent scores under any elementwise map, as integrals over s:
/// docs/theory/laws.md#row-moments.
namespace incontext::laws::detail {

/// The row's integrals over s: docs/theory/laws.md#row-moments. The bump of the integrand is searched from `start` in
/// steps of `scale`.
template <class Scores, Real T>
StandardRow<T> integrate_row(const Scores& scores, const T& count, const T& start, const T& scale = T(1)) {
  using std::exp;
  using std::log;
  const T others = count - T(1);
  const auto log_density = [&](const T& unit) {
    const ScoreBlocks<T> m = scores(T(scale * unit));
    return T(log(T(m.second * exp(m.log_psi) + others * m.first * m.first)) + (others - T(1)) * m.log_psi);
  };
  Interval<T> interval = log_concave_support(log_density, T(start / scale), negligible_drop<T>());
  interval = {T(scale * interval.lower), T(scale * interval.upper)};
  const T width = interval.upper - interval.lower;
  const auto row = numerics::sum_bumps(
      [&](const T& u) {
        const ScoreBlocks<T> m = scores(T(interval.lower + width * u));
        const T one = width * count * exp(T(others * m.log_psi));
        const T two = width * count * others * exp(T((others - T(1)) * m.log_psi));
        return std::array<T, 6>{T(one * m.second), T(two * m.first_slope * m.first),
                                T(one * m.second_square + two * m.first_score * m.first_score),
                                T(one * (m.second + T(3) * m.third - m.fourth) - two * m.second * m.second),
                                // E (sum p)^2 = 1
                                T(one * m.second + two * m.first * m.first), T(two * m.first_steep * m.first)};
      },
      std::array<T, 6>{}, numerics::quadrature_tolerance<T>(),
      // the slope may average to nothing
      [](std::size_t k) { return k == 1 ? std::size_t{5} : k; });
  T worst = math::magnitude(T(row.value[4] - T(1)));
  for (const std::size_t k : {std::size_t{0}, std::size_t{2}, std::size_t{4}})
    worst = std::max(worst, T(row.change[k] / row.size[k]));
  if (!(row.worst <= numerics::quadrature_tolerance<T>())) worst = row.worst;
  return {row.value[0], row.value[1], row.value[2], row.value[3], worst};
}

/// The moments of a row of normal scores, each as an integral for 1 / Z^4 with (sum p)^2, (sum p)^4 = 1 or sum p beside
/// it, over tuples of distinct tokens.
template <Real T>
StandardRow<T> integrate_linear_row(const T& count, const T& x) {
  using Kernel = typename ScoreLattice<T>::Kernel;
  const RowOf<T> row(count);
  const T pairs = row.distinct(2), triples = row.distinct(3), quadruples = row.distinct(4);
  T all = T(0), ipr = T(0), trace = T(0), lost = T(0), kept = T(0);
  ScoreLattice<T> lattice = lattice_of_row(count, x, 4);
  for_each_s(lattice, lattice.length(), [&] {
    T first = T(0), second = T(0), third = T(0), fourth = T(0);
    const T log_psi = lattice([&](const T&, const T& weight, const Kernel& kernel) {
      const T one = weight * kernel.t * kernel.survives, two = one * kernel.t, three = two * kernel.t;
      first += one;
      second += two;
      third += three;
      fourth += three * kernel.t;
    });
    const T a = count * first, b = count * second, c = count * third;
    const T single = count * fourth * row.others(log_psi, 1), two = pairs * row.others(log_psi, 2);
    const T three = triples * b * a * a * row.others(log_psi, 3);
    const T four = quadruples * a * a * a * a * row.others(log_psi, 4);
    const T separate = two * c * a, together = two * b * b;
    const T density = single + T(4) * separate + T(3) * together + T(6) * three + four;
    all += density;
    ipr += single + T(2) * separate + together + three;
    trace += T(2) * separate + T(2) * together + T(5) * three + four;
    lost += single + T(8) * separate - T(5) * together + three;
    kept += T(8) * together - T(4) * separate + T(5) * three + four;
    return density;
  });
  const T scale = lattice.step() / T(6);
  const T off = math::magnitude(T(scale * all - T(1))), rule = T(std::numeric_limits<T>::epsilon());
  return {T(scale * ipr), T(x * scale * trace), T(scale * (ipr + x * x * kept)), T(scale * lost), std::max(off, rule)};
}

/// integrate_row with one more token of weight e^exponent, which is no score's: Z holds it, and the sums leave it out.
template <class Scores, Real T>
NeedleRow<T> integrate_needle_row(const Scores& scores, const T& count, const T& exponent, const T& start) {
  using std::exp;
  using std::log;
  const T others = count - T(1);
  const auto total = [&](const ScoreBlocks<T>& m, const T& needle) {  // E (sum p + needle)^2 = 1, over psi^(count - 2)
    const T psi = exp(m.log_psi);
    return T(count * (m.second * psi + others * m.first * m.first + T(2) * needle * m.first * psi) +
             needle * needle * psi * psi);
  };
  const auto log_density = [&](const T& s) {
    const ScoreBlocks<T> m = scores(s);
    const T needle = exp(T(s + exponent));
    return T(log(total(m, needle)) + (others - T(1)) * m.log_psi - needle);
  };
  const Interval<T> interval = log_concave_support(log_density, start, negligible_drop<T>());
  const T width = interval.upper - interval.lower;
  const auto row = numerics::sum_bumps(
      [&](const T& u) {
        const T s = interval.lower + width * u;
        const ScoreBlocks<T> m = scores(s);
        const T needle = exp(T(s + exponent));
        const T two = width * exp(T((others - T(1)) * m.log_psi - needle)), one = count * two * exp(m.log_psi);
        const T all = two * total(m, needle), pairs = count * others * two;
        return std::array<T, 4>{T(all + one * m.second), T(all + m.first_slope * (pairs * m.first + one * needle)),
                                T(all + one * m.second_square + pairs * m.first_score * m.first_score), all};
      },
      std::array<T, 4>{}, numerics::quadrature_tolerance<T>());
  // beside the integral that is 1: moments are needed to an absolute precision, however small they are
  T worst = math::magnitude(T(row.value[3] - T(1)));
  for (const T& change : row.change) worst = std::max(worst, change);
  if (!(row.worst <= numerics::quadrature_tolerance<T>())) worst = row.worst;
  const auto moment = [&](std::size_t k) { return T(row.value[k] - row.value[3]); };
  return {moment(0), moment(1), moment(2), worst};
}

}  // namespace incontext::laws::detail
