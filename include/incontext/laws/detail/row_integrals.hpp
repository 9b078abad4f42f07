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
    worst = (std::max)(worst, T(row.change[k] / row.size[k]));
  if (!(row.worst <= numerics::quadrature_tolerance<T>())) worst = row.worst;
  return {row.value[0], row.value[1], row.value[2], row.value[3], worst};
}

/// The same for phi(g) = x g on a lattice, each moment as an integral for 1 / Z^4 over tuples of distinct tokens:
/// docs/theory/laws.md#lattice.
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
  return {T(scale * ipr), T(x * scale * trace), T(scale * (ipr + x * x * kept)), T(scale * lost),
          (std::max)(off, rule)};
}

/// What is integrated over s for a row with one more token of weight e^exponent, which is no score's: Z holds it, and
/// the sums leave it out.
template <Real T>
class NeedleRowIntegrand {
 public:
  NeedleRowIntegrand(const T& count, const T& exponent) : count_(count), exponent_(exponent) {}

  /// log of the density of s, E (sum p + needle)^2.
  T log_density(const ScoreBlocks<T>& m, const T& s) const {
    using std::exp;
    using std::log;
    const T needle = exp(T(s + exponent_));
    return log(total(m, needle)) + (count_ - T(2)) * m.log_psi - needle;
  }

  /// The density, and beside it the integrands of the moments: they are needed to an absolute precision, however small.
  std::array<T, 4> operator()(const ScoreBlocks<T>& m, const T& s) const {
    using std::exp;
    const T needle = exp(T(s + exponent_)), others = count_ - T(1);
    const T two = exp(T((others - T(1)) * m.log_psi - needle)), one = count_ * two * exp(m.log_psi);
    const T all = two * total(m, needle), pairs = count_ * others * two;
    return {T(all + one * m.second), T(all + m.first_slope * (pairs * m.first + one * needle)),
            T(all + one * m.second_square + pairs * m.first_score * m.first_score), all};
  }

 private:
  /// E (sum p + needle)^2 = 1, over psi^(count - 2).
  T total(const ScoreBlocks<T>& m, const T& needle) const {
    using std::exp;
    const T psi = exp(m.log_psi);
    return T(count_ * (m.second * psi + (count_ - T(1)) * m.first * m.first + T(2) * needle * m.first * psi) +
             needle * needle * psi * psi);
  }

  T count_, exponent_;
};

/// The moments from the integrals, with the error of these.
template <Real T>
NeedleRow<T> needle_row(const std::array<T, 4>& sums, const T& error) {
  const auto moment = [&](std::size_t k) { return T(sums[k] - sums[3]); };
  return {moment(0), moment(1), moment(2), T(error + math::magnitude(T(sums[3] - T(1))))};
}

/// integrate_row with one more token of weight e^exponent.
template <class Scores, Real T>
NeedleRow<T> integrate_needle_row(const Scores& scores, const T& count, const T& exponent, const T& start) {
  const NeedleRowIntegrand<T> integrand(count, exponent);
  const auto log_density = [&](const T& s) { return integrand.log_density(scores(s), s); };
  const Interval<T> interval = log_concave_support(log_density, start, negligible_drop<T>());
  const T width = interval.upper - interval.lower;
  const auto row = numerics::sum_bumps(
      [&](const T& u) {
        const T s = interval.lower + width * u;
        auto values = integrand(scores(s), s);
        for (T& value : values) value = width * value;
        return values;
      },
      std::array<T, 4>{}, numerics::quadrature_tolerance<T>());
  T worst = T(0);
  for (const T& change : row.change) worst = (std::max)(worst, change);
  return needle_row(row.value, row.worst <= numerics::quadrature_tolerance<T>() ? worst : row.worst);
}

/// The same for phi(g) = x g on a lattice.
template <Real T>
NeedleRow<T> integrate_linear_needle_row(const T& count, const T& x, const T& exponent) {
  using std::log;
  using Kernel = typename ScoreLattice<T>::Kernel;
  const NeedleRowIntegrand<T> integrand(count, exponent);
  const T of_row = lowest_of_row(T(log(count)), x, 2), of_needle = log(negligible_part<T>()) / T(2) - exponent;
  const T start = (std::min)(of_row, of_needle) - T(1);  // 1 > log 2, as the two are added
  ScoreLattice<T> lattice(x, row_step<T>(2), start, scores_of_row(count, x, start, 2), lowest_exponent(count));
  const T length = (std::min)(lattice.length(), T(ScoreLattice<T>::highest_exponent() - exponent - start));
  std::array<T, 4> sums{};
  for_each_s(lattice, length, [&] {
    ScoreBlocks<T> m{};
    m.log_psi = lattice([&](const T& g, const T& weight, const Kernel& kernel) {
      const T first = weight * kernel.t * kernel.survives, second = first * kernel.t;
      m.first += first;
      m.first_score += g * first;
      m.second += second;
      m.second_square += g * g * second;
    });
    m.first_slope = x * m.first;
    const auto values = integrand(m, lattice.s());
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += lattice.step() * values[k];
    return values[3];
  });
  return needle_row(sums, T(std::numeric_limits<T>::epsilon()));
}

}  // namespace incontext::laws::detail
