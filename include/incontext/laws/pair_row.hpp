#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::laws {

/// Moments of the weights p and q that two maps give to the same row of independent standard normal scores g.
template <Real T>
struct PairRow {
  T overlap;            ///< E sum p q
  T mean_score_square;  ///< E (sum p g)(sum q g)
  T error_estimate;     ///< relative
};

/// Moments of pairs of rows, as two maps weigh the same `count` normal scores: rows(x, y) is the PairRow where the
/// first map reads x g and the second y g. It is an integral for 1/(Z W), in which every score has a factor of its own:
///
/// \f[ E \sum_j p_j q_j = n \iint ds\,dt\; \Phi^{n-1} E[F(s + \phi) F(t + \chi)],\quad
///     \Phi = E\, e^{-e^{s + \phi} - e^{t + \chi}},\quad F(y) = e^{y - e^y} \f]
/// with phi = phi(x g) and chi = chi(y g), the logarithms of the weights before they are normalized. The other moment
/// has g^2 beside them, and n (n - 1) pairs of scores. The averages over g are products of matrices.
///
/// Source    derived: docs/theory/laws.md#pairs-of-rows.
/// Units     x, y in units of the scores.
/// Domain    count >= 1; maps in their domain, piecewise smooth; linear ones up to |phi(x)|, |chi(y)| = 64.
/// Limits    count = 1: 1, 1. Equal maps: IPR and mean_square_score of StandardRow. x = 0: 1/count for the overlap.
/// Errors    std::domain_error from the constructor, for a map, and from the call, for |phi(x)| above 64;
///           numerics::QuadratureError from the call, with the overlap, where the relative error estimate is above the
///           tolerance.
/// Accuracy  in double 1e-11 relative for linear maps (tests/laws/pair_row.cpp). The time grows as the cube of the
///           larger of |phi(x)| and |chi(y)|: 1 ms up to 2, 0.1 s at 8.
template <class Phi, Real T>
class PairRows {
 public:
  PairRows(std::string_view where, const Phi& phi, const Phi& chi, const T& count,
           const T& tolerance = numerics::quadrature_tolerance<T>())
      : where_(where), phi_(phi), chi_(chi), count_(count), tolerance_(tolerance) {
    if (!phi.in_domain() || !chi.in_domain()) {
      throw_domain_error(where, "a map is outside its domain in a row of count scores", count,
                         "parameters as the map's header states");
    }
  }

  /// `precision` is the relative error that the caller can bear: coarser rows take less time.
  PairRow<T> operator()(const T& x, const T& y, const T& precision = std::numeric_limits<T>::epsilon()) const;

 private:
  std::string_view where_;
  Phi phi_, chi_;
  T count_, tolerance_;
};

namespace detail {

/// The law of one normal score as points with weights of sum 1.
template <Real T>
struct PointScores {
  std::vector<T> place, weight;

  void add(const T& g, const T& length) {
    using std::exp;
    place.push_back(g);
    weight.push_back(length * exp(T(-g * g / T(2))));
  }
  void normalize() {
    T total = T(0);
    for (const T& one : weight) total += one;
    for (T& one : weight) one = one / total;
  }

  /// For kernels of a score with this slope, out to `reach`: the trapezoidal rule errs by exp(-2 pi^2 / step^2) where
  /// the density limits it, and else by exp(-pi^2 / (slope step) + pi^2 / (8 slope^2)).
  static PointScores lattice(const T& slope, const T& reach, const T& precision) {
    using std::log;
    using std::sqrt;
    const T pi = math::pi<T>(), digits = T(6) - log(precision);
    T step = pi * sqrt(T(T(2) / digits));
    if (!(T(4) * slope < step)) step = T(1) / (slope * digits / (pi * pi) + T(1) / (T(8) * slope));
    PointScores scores;
    scores.add(T(0), step);
    for (T g = step; g < reach + step; g = g + step) {
      scores.add(g, step);
      scores.add(T(-g), step);
    }
    scores.normalize();
    return scores;
  }

  /// On panels on which both maps are polynomials; none where they change too fast.
  template <class Phi>
  static PointScores panels(const Phi& phi, const T& x, const Phi& chi, const T& y, const T& reach) {
    using Panels = PolynomialPanels<T>;
    PointScores scores;
    for (const T& sign : {T(-1), T(1)}) {
      std::vector<T> edges = Panels::edges(phi, T(sign * x), reach, T(0.75));
      const std::vector<T> others = Panels::edges(chi, T(sign * y), reach, T(0.75));
      if (edges.empty() || others.empty()) return {};
      edges.insert(edges.end(), others.begin(), others.end());
      std::sort(edges.begin(), edges.end());
      for (std::size_t k = 1; k < edges.size(); ++k) {
        if (!(edges[k - 1] < edges[k])) continue;
        const auto piece = Panels::piece(phi, T(sign * x), edges[k - 1], edges[k]);
        const T half = (edges[k] - edges[k - 1]) / T(2);
        for (int i = 0; i < Panels::order; ++i) scores.add(T(sign * piece.g[i]), T(Panels::weight(i) * half));
      }
    }
    scores.normalize();
    return scores;
  }
};

/// One map of a pair at the points s of its integral: with t = e^(s + phi), the matrices e^-t, 1 - e^-t and t e^-t with
/// a row per s and a column per score.
template <Real T>
struct PairKernels {
  numerics::Matrix<T> survives, dies, falls;
  std::vector<T> length;  ///< what ds is at each point

  PairKernels(const std::vector<T>& exponents, const std::vector<T>& weight, const T& count, const T& precision);
};

/// Both moments from the exponents of both maps at the scores' points.
template <Real T>
PairRow<T> integrate_pair_row(const PointScores<T>& scores, const std::vector<T>& first_exponents,
                              const std::vector<T>& second_exponents, const T& count, const T& precision);

}  // namespace detail

template <class Phi, Real T>
PairRow<T> PairRows<Phi, T>::operator()(const T& x, const T& y, const T& precision) const {
  using std::log;
  using std::sqrt;
  if (count_ <= T(1)) return {T(1), T(1), T(0)};
  const T reach = sqrt(T(T(2) * (T(6) + log(count_) - log(precision))));  // of count_ scores none is beyond
  detail::PointScores<T> scores;
  if constexpr (scoring::is_linear<Phi>) {
    const T slope = (std::max)(math::magnitude(phi_.value(x)), math::magnitude(chi_.value(y)));
    if (!(slope <= T(64))) throw_domain_error(where_, "the scores are too wide", slope, "at most 64");
    scores = detail::PointScores<T>::lattice(slope, reach, precision);
  } else {
    scores = detail::PointScores<T>::panels(phi_, x, chi_, y, reach);
  }
  std::vector<T> first, second;
  for (const T& g : scores.place) {
    first.push_back(phi_.value(T(x * g)));
    second.push_back(chi_.value(T(y * g)));
  }
  if (first.empty()) throw numerics::QuadratureError(where_, 1, static_cast<double>(tolerance_));
  const PairRow<T> row = detail::integrate_pair_row(scores, first, second, count_, precision);
  if (row.error_estimate <= (std::max)(tolerance_, T(T(100) * precision))) return row;
  throw numerics::QuadratureError(where_, static_cast<double>(row.error_estimate), static_cast<double>(tolerance_),
                                  {static_cast<double>(row.overlap), static_cast<double>(row.error_estimate)});
}

template <Real T>
detail::PairKernels<T>::PairKernels(const std::vector<T>& exponents, const std::vector<T>& weight, const T& count,
                                    const T& precision) {
  using std::exp;
  using std::log;
  const std::size_t size = exponents.size();
  const T digits = T(2) - log(precision), depth = T(3);
  const T largest = *std::max_element(exponents.begin(), exponents.end());
  T mean = T(0);
  for (std::size_t j = 0; j < size; ++j) mean += weight[j] * exp(T(exponents[j] - largest));
  // E (1 - e^-t), and E t, which it is where no weight is large
  const auto missing = [&](const T& s) {
    T sum = T(0);
    for (std::size_t j = 0; j < size; ++j) {
      const T y = s + exponents[j];
      sum += weight[j] * (y < T(5) ? T(-math::exp_minus_one(T(-exp(y)))) : T(1));
    }
    return sum;
  };
  const auto linear = [&](const T& s) { return T(mean * exp(T(s + largest))); };
  // where a condition that holds on the left begins to fail
  const auto end_of = [&](const auto& holds) {
    T low = T(-1), high = T(1);
    while (!holds(low)) low = low * T(2);
    while (holds(high)) high = high * T(2);
    while (T(0.1) < high - low) {
      const T middle = (low + high) / T(2);
      (holds(middle) ? low : high) = middle;
    }
    return low;
  };
  // Left of `center` the integral falls as e^s, because no weight is large there, or no score is: s = center + v -
  // e^-(v + depth) ends it doubly exponentially. Right of `end` nothing survives.
  const T none = end_of([&](const T& s) { return count * missing(s) < T(precision * T(0.01)); });
  const T few = end_of([&](const T& s) { return count * missing(s) < T(0.3); });
  const T faint = end_of([&](const T& s) { return T(0.9) * linear(s) < missing(s); });
  const T center = (std::max)(none, (std::min)(few, faint));
  const T all = (std::min)(T(T(1) - T(64) * precision), T(digits / (count - T(1))));
  const T end = end_of([&](const T& s) { return missing(s) < all; });
  // the trapezoidal rule errs by exp(-pi^2 / step) for a kernel t e^-t
  const T step = math::pi<T>() * math::pi<T>() / (T(0.9) * digits + T(2));
  T v = T(-1);
  while (v - exp(T(-v - depth)) > -digits) v = v - T(0.25);
  std::vector<T> places;
  for (; v < end - center + T(4); v = v + step) {
    const T steep = exp(T(-v - depth));
    places.push_back(center + v - steep);
    length.push_back(step * (T(1) + steep));
  }
  const auto rows = static_cast<Eigen::Index>(places.size()), columns = static_cast<Eigen::Index>(size);
  for (auto* one : {&survives, &dies, &falls}) one->resize(rows, columns);
  for (Eigen::Index j = 0; j < columns; ++j) {
    for (Eigen::Index i = 0; i < rows; ++i) {
      const T y = places[static_cast<std::size_t>(i)] + exponents[static_cast<std::size_t>(j)];
      const T t = exp((std::min)(y, T(50)));
      survives(i, j) = exp(T(-t));
      dies(i, j) = t < T(0.5) ? T(-math::exp_minus_one(T(-t))) : T(T(1) - survives(i, j));
      falls(i, j) = t * survives(i, j);
    }
  }
}

template <Real T>
PairRow<T> detail::integrate_pair_row(const PointScores<T>& scores, const std::vector<T>& first_exponents,
                                      const std::vector<T>& second_exponents, const T& count, const T& precision) {
  using numerics::Matrix;
  using std::exp;
  using Vector = numerics::Vector<T>;
  const auto vector = [](const std::vector<T>& values) {
    return Vector(Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size())));
  };
  const Vector place = vector(scores.place), weight = vector(scores.weight), score = weight.cwiseProduct(place),
               square = score.cwiseProduct(place);
  const PairKernels<T> first(first_exponents, scores.weight, count, precision),
      second(second_exponents, scores.weight, count, precision);
  const auto average = [](const Matrix<T>& one, const Vector& by, const Matrix<T>& other) {
    return numerics::product<T>(one * by.asDiagonal(), other.transpose());
  };
  // 1 - Phi without cancellation
  const Vector alone = first.dies * weight;
  const Matrix<T> dies = average(first.survives, weight, second.dies).colwise() + alone;
  const Matrix<T> both = average(first.falls, weight, second.falls),
                  of_square = average(first.falls, square, second.falls),
                  one = average(first.falls, weight, second.survives),
                  one_score = average(first.falls, score, second.survives),
                  other = average(first.survives, weight, second.falls),
                  other_score = average(first.survives, score, second.falls);
  T total = T(0);
  PairRow<T> row{T(0), T(0), T(0)};
  for (Eigen::Index j = 0; j < dies.cols(); ++j) {
    for (Eigen::Index i = 0; i < dies.rows(); ++i) {
      if (!(dies(i, j) < T(1))) continue;
      const T area = count * first.length[static_cast<std::size_t>(i)] * second.length[static_cast<std::size_t>(j)];
      const T others = area * exp(T((count - T(2)) * math::log_one_plus(T(-dies(i, j)))));
      const T single = others * (T(1) - dies(i, j)), pairs = (count - T(1)) * others;
      total += single * both(i, j) + pairs * one(i, j) * other(i, j);  // E (sum p)(sum q) = 1
      row.overlap += single * both(i, j);
      row.mean_score_square += single * of_square(i, j) + pairs * one_score(i, j) * other_score(i, j);
    }
  }
  row.error_estimate = math::magnitude(T(total - T(1)));
  return row;
}

INCONTEXT_COMPILED(laws_pair_row, detail::integrate_pair_row<double>);

}  // namespace incontext::laws
