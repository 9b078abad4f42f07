#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/interval.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"
#include "incontext/laws/detail/score_lattice.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Rows of normal scores of moderate width on a lattice: docs/theory/laws.md#lattice.
namespace incontext::laws::detail {

/// log(e^a + e^b).
template <Real T>
T log_sum(const T& a, const T& b) {
  using std::exp;
  const T larger = (std::max)(a, b), smaller = (std::min)(a, b);
  return larger + math::log_one_plus(T(exp(T(smaller - larger))));
}

/// The widest scores for which laws that hold at any width take the lattice. Wider ones have a smoother integrand: its
/// step is better found by halving.
template <Real T>
T widest_on_lattice() {
  return T(8);
}

/// log E Z = log n + x^2 / 2.
template <Real T>
T log_mean_sum(const T& count, const T& x) {
  using std::log;
  return log(count) + x * x / T(2);
}

/// The s below which the integrals of order k over a row, those for 1 / Z^k, have a negligible part: the highest of
/// three bounds, one by Jensen's inequality and two by Markov's with E Z^2 and with E Z^power, power <= 1.
template <Real T>
T lowest_of_row(const T& log_count, const T& x, int order) {
  using std::log;
  using std::sqrt;
  const T k = T(double(order)), part = log(negligible_part<T>()) - T(3);  // of at most e^3 tuples of blocks
  const T flat = part / k - log_sum(T(log_count + x * x / T(2)), T((k + T(0.5)) * x * x));
  const T least = part - k * log_count / T(2);  // no integral is below n^(-k / 2)
  const T square = (least - log_sum(T(T(2) * log_count + x * x), T(log_count + T(2) * x * x))) / T(2);
  const T steep = sqrt(T(T(2) * (log_count - least)));
  const T power = x < steep ? T(1) : T(steep / x);
  const T broad = (least - log_count) / power - power * x * x / T(2);
  return (std::max)(flat, (std::max)(square, broad));
}

/// The exponent below which no score of a row matters.
template <Real T>
T lowest_exponent(const T& count) {
  using std::log;
  return log(T(std::numeric_limits<T>::epsilon())) - T(5) - T(2) * log(count);
}

/// The scores that matter from `start` on to integrals with a power of one weight up to `power`: those within the reach
/// of the row, and farther out as far as the weight or one over it tilts their law, but none whose e^-t is zero.
template <Real T>
Interval<T> scores_of_row(const T& count, const T& x, const T& start, int power) {
  const T reach = SampledScores<T>::reach(count), tilted = reach + T(double(power)) * x;
  const T room = ScoreLattice<T>::highest_exponent() - start;
  return {T(-reach - x), room < tilted * x ? (std::max)(reach, T(room / x)) : tilted};
}

/// The lattice of a row whose integrals are of orders `lowest_order` to 4.
template <Real T>
ScoreLattice<T> lattice_of_row(const T& count, const T& x, int lowest_order) {
  using std::log;
  const T l = log(count), start = (std::min)(lowest_of_row(l, x, lowest_order), lowest_of_row(l, x, 4));
  return {x, row_step<T>(4), start, scores_of_row(count, x, start, 4), lowest_exponent(count)};
}

/// Goes up the lattice until the density of s, which `density_here` computes, has become negligible, but not farther
/// than `length`.
template <Real T, class Function>
void for_each_s(ScoreLattice<T>& lattice, const T& length, const Function& density_here) {
  using std::sqrt;
  const T cut = negligible_part<T>() * sqrt(negligible_part<T>());
  T sum = T(0), previous = T(0);
  for (; lattice.offset() < length; lattice.advance()) {
    const T density = density_here();
    sum += density;
    if (density <= cut * sum && density < previous) return;
    previous = density;
  }
}

/// The integrals over s of one row of normal scores.
template <Real T>
class LatticeRow : public RowOf<T> {
 public:
  LatticeRow(const T& count, const T& x) : RowOf<T>(count), x_(x) {
    ScoreLattice<T> lattice = lattice_of_row(count, x, 2);
    step_ = lattice.step();
    for_each_s(lattice, lattice.length(), [&] {
      nodes_.push_back({lattice.s(), moments(lattice)});
      const ScoreMoments<T>& m = nodes_.back().moments;
      return T(m.second * this->others(m.log_psi, 1) + (count - T(1)) * m.first * m.first * this->others(m.log_psi, 2));
    });
  }

  /// Integral of f(moments, s).
  template <class Function>
  numerics::Quadrature<T> integrate(std::string_view, const Function& f) const {
    T sum = T(0), size = T(0);
    for (const Node& node : nodes_) {
      const T value = f(node.moments, node.s);
      sum += value;
      size += math::magnitude(value) * (T(1) - this->count() * node.moments.log_psi);  // the exponent's rounding
    }
    return {T(step_ * sum), T(step_ * size * T(std::numeric_limits<T>::epsilon()))};
  }

 private:
  struct Node {
    T s;
    ScoreMoments<T> moments;
  };

  ScoreMoments<T> moments(const ScoreLattice<T>& lattice) const {
    using std::exp;
    using Kernel = typename ScoreLattice<T>::Kernel;
    ScoreMoments<T> m{};
    T score = T(0);
    m.log_psi = lattice([&](const T& g, const T& weight, const Kernel& kernel) {
      const T first = weight * kernel.t * kernel.survives;
      m.first += first;
      score += g * first;
    });
    m.center = score / m.first;
    lattice([&](const T& g, const T& weight, const Kernel& kernel) {
      const T u = g - m.center, first = weight * kernel.t * kernel.survives, second = first * kernel.t;
      const T second_2 = second * u * u, third = second * kernel.t;
      m.first_2 += first * u * u;
      m.second += second;
      m.second_1 += second * u;
      m.second_2 += second_2;
      m.second_3 += second_2 * u;
      m.second_4 += second_2 * u * u;
      m.third += third;
      m.fourth += third * kernel.t;
    });
    const T lost = T(1) - boost::math::constants::euler<T>() - lattice.s() - x_ * m.center;
    m.surprise =
        lost * m.second - x_ * m.second_1 + (this->count() - T(1)) * lost * m.first * m.first * exp(T(-m.log_psi));
    return m;
  }

  T x_, step_;
  std::vector<Node> nodes_;
};

/// f(the row's integrals), on the lattice where that is the better rule.
template <Real T, class Function>
auto with_normal_row(const T& count, const T& x, const Function& f) {
  if (x <= widest_on_lattice<T>()) return f(LatticeRow<T>(count, x));
  return f(normal_row(count, x));
}

}  // namespace incontext::laws::detail
