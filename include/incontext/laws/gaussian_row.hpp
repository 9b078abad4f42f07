#pragma once

#include <algorithm>
#include <utility>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/lattice_row.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/row_contracts.hpp"

namespace incontext::laws {

/// Expectations over a row of softmax weights a_j of n independent normal scores, the random energy model of
/// statistical physics. g_j are the scores in units of their standard deviation, M = sum a_j g_j, P = diag(a) - a a^T.
///
/// Units     log_partition and entropy in nats, the rest dimensionless.
template <Real T>
struct GaussianRow {
  T log_partition;           ///< E log Z
  T entropy;                 ///< -E sum a log a
  T ipr;                     ///< Y_2 = E sum a^2
  T cubed_weights;           ///< Y_3 = E sum a^3
  T squared_ipr;             ///< Y_22 = E (sum a^2)^2
  T trace;                   ///< E tr P = 1 - Y_2
  T squared_trace;           ///< E (tr P)^2
  T squared_frobenius;       ///< E |P|_F^2
  T mean_score;              ///< E M
  T squared_mean_score;      ///< E M^2
  T score_variance;          ///< E V, V = sum a_j g_j^2 - M^2
  T squared_score_variance;  ///< E V^2
  T weighted_deviation;      ///< E sum a_j^2 (g_j - M)^2
  T error_estimate;          ///< the largest relative error estimate among them
};

/// Exact expectations over a softmax row of n independent normal scores, at any temperature.
///
/// \f[ E \prod_{i=1}^p \sum_j a_j^{k_i} g_j^{l_i} = \sum_{\text{partitions}} \frac{n!}{(n-B)!\,\Gamma(K)} \int ds
///     \prod_{b=1}^B T_{K_b,L_b}(s)\, \psi(s)^{n-B},\qquad K = \sum_i k_i \f]
/// \f[ \psi(s) = E e^{-e^{s + x g}},\qquad T_{k,l}(s) = E\, g^l e^{k (s + x g) - e^{s + x g}} \f]
///
/// The outer sum runs over the ways in which the p indices coincide: B blocks of equal indices, with K_b and L_b the
/// sums of k_i and l_i in block b. The integral over s comes from 1 / Z^K, which makes the scores independent.
/// Differences such as 1 - Y_2 or a variance are expanded over distinct tokens first, so that no digits are lost where
/// all weights are equal or one is 1.
///
///     const auto row = laws::gaussian_row<double>(1'000'000, 2.0);
///
/// Source    derived: docs/theory/laws.md#normal-scores.
/// Units     score_stddev = x = beta times the standard deviation of the scores, dimensionless. For SSMax
///           beta = s log n + b.
/// Domain    row_length = n >= 1 and whole, in double at most 3.5e72 (n^-4 underflows beyond);
///           0 <= score_stddev <= 1e20.
/// Limits    row_length = 1: weight 1; score_stddev = 0: uniform; score_stddev -> infinity: the largest score has all
///           weight; n -> infinity with x / sqrt(2 log n) > 1: poisson_dirichlet.hpp.
/// Errors    std::domain_error for row_length or score_stddev outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_row.cpp, precision_slow.cpp; at 50 digits 28 digits of the references:
///           tests/laws/gaussian_row_50digits.cpp.
template <Real T>
GaussianRow<T> gaussian_row(const Count<T>& row_length, const T& score_stddev);

// Expectations over a row of normal scores, as integrals over sums of distinct tokens.
namespace detail {

/// The row of one score, whose weight is 1 without rounding.
template <Real T>
GaussianRow<T> single_score() {
  GaussianRow<T> row{};
  row.ipr = row.cubed_weights = row.squared_ipr = row.squared_mean_score = T(1);
  return row;
}

template <class Row, Real T>
class RowFunctionals {
 public:
  RowFunctionals(Row row, const T& score_stddev)
      : row_(std::move(row)),
        x_(score_stddev),
        pairs_(row_.distinct(2)),
        triples_(row_.distinct(3)),
        quadruples_(row_.distinct(4)) {}

  GaussianRow<T> all() {
    GaussianRow<T> r{};
    r.ipr = integral([&](const auto& m, const T&) { return n(m.second) * row_.others(m, 1); });
    r.cubed_weights = integral([&](const auto& m, const T&) { return n(m.third) * row_.others(m, 1); }) / T(2);
    r.squared_ipr = integral([&](const auto& m, const T&) {
                      return n(m.fourth) * row_.others(m, 1) + two(m, n(m.second) * n(m.second));
                    }) /
                    T(6);
    r.trace = integral([&](const auto& m, const T&) { return two(m, n(m.first) * n(m.first)); });
    r.entropy = integral([&](const auto& m, const T&) { return n(m.surprise) * row_.others(m, 1); });
    r.log_partition = r.entropy + x_ * x_ * r.trace;
    r.mean_score = x_ * r.trace;
    r.squared_mean_score = squared_mean_score(r);
    jacobian(r);
    standard_deviations(r);
    r.error_estimate = worst_;
    return r;
  }

 private:
  using Moments = ScoreMoments<T>;

  T n(const T& value) const { return row_.count() * value; }
  T two(const Moments& m, const T& blocks) const { return pairs_ * blocks * row_.others(m, 2); }
  T three(const Moments& m, const T& blocks) const { return triples_ * blocks * row_.others(m, 3); }
  T four(const Moments& m, const T& blocks) const { return quadruples_ * blocks * row_.others(m, 4); }

  template <class Function>
  T integral(const Function& f) {
    const auto result = row_.integrate("laws::gaussian_row", f);
    worst_ = (std::max)(worst_, T(result.error_estimate / (result.value < T(0) ? T(-result.value) : result.value)));
    return result.value;
  }

  /// E M^2. For narrow scores Gaussian integration by parts gives it, as M then is a difference of nearly equal sums.
  T squared_mean_score(const GaussianRow<T>& r) {
    if (x_ < T(1)) {
      const T surplus = integral([&](const auto& m, const T&) {
        return two(m, n(m.first) * n(m.first) + n(m.second) * n(m.second) - n(m.third) * n(m.first));
      });
      return r.ipr + x_ * x_ * surplus;
    }
    return integral([&](const auto& m, const T&) {
      const T c = m.center, first = c * n(m.first);
      return n(m.second_2 + T(2) * c * m.second_1 + c * c * m.second) * row_.others(m, 1) + two(m, first * first);
    });
  }

  /// |P|_F^2 = sum_i a_i^2 (1 - a_i)^2 + sum_{i != j} a_i^2 a_j^2 and (tr P)^2 = (sum_{i != j} a_i a_j)^2, expanded
  /// into sums over tuples of distinct tokens, which contain no differences.
  void jacobian(GaussianRow<T>& r) {
    r.squared_frobenius = integral([&](const auto& m, const T&) {
                            const T a = n(m.first), b = n(m.second);
                            return T(2) * two(m, b * b) + three(m, b * a * a);
                          }) /
                          T(6);
    r.squared_trace = integral([&](const auto& m, const T&) {
                        const T a = n(m.first), b = n(m.second);
                        return T(2) * two(m, b * b) + T(4) * three(m, b * a * a) + four(m, a * a * a * a);
                      }) /
                      T(6);
  }

  /// V = sum_{i<j} a_i a_j (g_i - g_j)^2 and sum_i a_i^2 (sum_j a_j (g_i - g_j))^2, expanded in the same way. A common
  /// shift of all g changes neither, so the scores are taken about the center of each node.
  void standard_deviations(GaussianRow<T>& r) {
    r.score_variance = integral([&](const auto& m, const T&) { return two(m, n(m.first) * n(m.first_2)); });
    r.squared_score_variance =
        integral([&](const auto& m, const T&) {
          const T a = n(m.first), a2 = n(m.first_2), b = n(m.second), b2 = n(m.second_2);
          const T fourth = b * n(m.second_4) - T(4) * n(m.second_1) * n(m.second_3) + T(3) * b2 * b2;
          return two(m, fourth) + three(m, a * a * n(m.second_4) + T(2) * a * a2 * b2 + a2 * a2 * b) +
                 four(m, a * a * a2 * a2);
        }) /
        T(6);
    r.weighted_deviation = integral([&](const auto& m, const T&) {
                             const T a = n(m.first), b1 = n(m.second_1), b2 = n(m.second_2);
                             return T(2) * two(m, b2 * n(m.second) - b1 * b1) + three(m, a * a * b2);
                           }) /
                           T(6);
  }

  Row row_;
  T x_, pairs_, triples_, quadruples_;
  T worst_ = T(0);
};

}  // namespace detail

template <Real T>
GaussianRow<T> gaussian_row(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  detail::require_row("laws::gaussian_row", "row_length", n, 4);
  detail::require_width("laws::gaussian_row", "score_stddev", score_stddev, 1e20);
  if (n <= T(1)) return detail::single_score<T>();
  return detail::with_normal_row(T(n), score_stddev,
                                 [&](auto row) { return detail::RowFunctionals(std::move(row), score_stddev).all(); });
}

INCONTEXT_COMPILED(laws_gaussian_row, gaussian_row<double>);

}  // namespace incontext::laws
