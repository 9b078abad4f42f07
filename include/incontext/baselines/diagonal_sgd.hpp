#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines {

/// How one layer of linear attention is pretrained by one-pass SGD where inputs and tasks have variances of their own
/// in each direction.
///
/// Shapes    input_variances and task_variances: d each, along the same axes.
/// Units     input_variances: input units squared; task_variances: label units squared over input units squared;
///           noise_variance: label units squared.
template <Real T>
struct DiagonalSgdSetting {
  numerics::Vector<T> input_variances;
  numerics::Vector<T> task_variances;
  T noise_variance;
  std::int64_t context_length;
  std::int64_t batch = 1;  ///< tasks per step, each with one context and one query
};

/// What is known of such a layer on the average over its training: the mean of each diagonal entry's distance from the
/// best layer, and the mean square of each entry's.
///
/// Shapes    diagonal: d; squares: d x d.
/// Units     those of sqrt(lambda_i lambda_j) Gamma_ij: dimensionless.
template <Real T>
struct DiagonalSgdState {
  numerics::Vector<T> diagonal;
  numerics::Matrix<T> squares;
};

/// The mean error of a layer of linear attention in the course of its pretraining by one-pass SGD, for inputs N(0, H)
/// and tasks N(0, W) with diagonal H and W, exact at finite size.
///
/// The layer, the features h and the steps are those of OnePassSgd, in the inputs as they are. By the symmetry of every
/// axis, the means n_i of the diagonal entries of Delta = H^{1/2} Gamma H^{1/2} - diag(A_i / B_i) and the mean squares
/// D_ij of all of its entries obey a linear recursion of their own:
///
/// \f[ n_i' = (1 - \gamma\lambda_i^2 B_i)\,n_i,\quad
///     P_{ij}' = (1 - 2\gamma\lambda_i\lambda_j B_j)\,P_{ij} + \gamma^2\lambda_i^2\lambda_j^2\Bigl[\frac1{\beta}\Bigl(
///     \sum_k Q_{kj} + 2 Q_{ij} + \sigma^2 B_j\Bigr) + \Bigl(1 - \frac1{\beta}\Bigr) B_j^2 P_{ij}\Bigr] \f]
///
/// with the batch beta, Q_kj = E (u - Theta g)_k^2 g_j^2, and the risk is that of the best layer plus sum_ij P_ij B_j.
/// H = diag(lambda), Theta = H^{1/2} Gamma H^{1/2}, u = H^{1/2} w, g = H^{-1/2} h, A_i = E u_i g_i, B_j = E g_j^2.
/// A step takes d^3 multiplications.
///
///     baselines::DiagonalSgd<double> sgd(
///         {.input_variances = lambda, .task_variances = psi, .noise_variance = 0.1, .context_length = 40});
///     const double error = sgd.risk(sgd.after(1000, 0.3 * sgd.largest_stable_rate()));
///
/// Source    the setting: Wu et al., arXiv 2310.08391, with equal task variances; the recursion derived:
///           docs/theory/baselines.md#any-diagonal-covariance. Where all variances are equal OnePassSgd is faster.
/// Units     learning rates: 1 over (label units squared times input units to the fourth power); the risk: label units
///           squared, with the query's noise.
/// Domain    1 <= d <= 1000; input and task variances > 0, noise_variance >= 0; context_length and batch >= 1.
/// Limits    equal variances: OnePassSgd.
/// Errors    std::invalid_argument for shapes, sizes and steps, std::domain_error for variances and rates.
/// Accuracy  of the excess over the floor, against OnePassSgd 1e-12 (tests/baselines/diagonal_sgd.cpp).
template <Real T>
class DiagonalSgd {
 public:
  using Vector = numerics::Vector<T>;
  using Matrix = numerics::Matrix<T>;

  explicit DiagonalSgd(DiagonalSgdSetting<T> setting);

  const DiagonalSgdSetting<T>& setting() const { return setting_; }

  /// The error of the best layer, diag(A_i / (lambda_i B_i)).
  T floor() const { return floor_; }
  /// The layer of zeros.
  DiagonalSgdState<T> start() const { return {-best_, best_.cwiseAbs2().asDiagonal()}; }

  /// After one step more.
  DiagonalSgdState<T> step(const DiagonalSgdState<T>& state, const T& rate) const;
  /// After `steps` steps at a constant rate, from the layer of zeros.
  DiagonalSgdState<T> after(std::int64_t steps, const T& rate) const {
    require_at_least(where, "steps", steps, std::int64_t{0});
    DiagonalSgdState<T> state = start();
    for (std::int64_t k = 0; k < steps; ++k) state = step(state, rate);
    return state;
  }
  /// The rate at which the next step leads to the least error.
  T greedy_rate(const DiagonalSgdState<T>& state) const {
    const T slope = (pull_.cwiseProduct(state.squares) * second_).sum();
    return slope / (pushed(state) * second_).sum();
  }

  /// The mean squared error on new tasks whose contexts are as long as in pretraining.
  T risk(const DiagonalSgdState<T>& state) const { return risk_of(state.squares); }
  /// The error of the mean of the layers after each of the last `tail` of `steps` steps at a constant rate.
  T tail_average_risk(std::int64_t steps, std::int64_t tail, const T& rate) const;

  /// Learning rates below this one have a bounded mean squared error, and only they.
  ///
  /// Source    2 over the largest eigenvalue of the positive map of docs/theory/baselines.md#any-diagonal-covariance,
  ///           by the power method, to `precision` between bounds that hold for any positive iterate (Collatz 1942).
  /// Errors    std::domain_error for a precision outside 0 to 1, or not reached in 1e6 iterations.
  T largest_stable_rate(const T& precision = T(1e-10)) const;

 private:
  static constexpr const char* where = "DiagonalSgd";

  /// sum_k X_kj + 2 X_ij.
  static Matrix spread(const Matrix& x) { return T(2) * x + x.colwise().sum().replicate(x.rows(), 1); }
  T risk_of(const Matrix& squares) const {
    const T risk = floor_ + (squares * second_).sum();
    return risk <= (std::numeric_limits<T>::max)() ? risk : std::numeric_limits<T>::infinity();
  }
  /// The mean squares of the entries of one step's gradient.
  Matrix pushed(const DiagonalSgdState<T>& state) const {
    Matrix single = spread(forced_ + state.diagonal.asDiagonal() * turned_);
    single.rowwise() += setting_.noise_variance * second_.transpose();
    return per_batch_ * pairs_squared_.cwiseProduct(single) + grown(state.squares);
  }
  /// The part of them that is linear in D.
  Matrix grown(const Matrix& squares) const {
    const Matrix batch_mean = squares.cwiseProduct(second_squares_);
    return pairs_squared_.cwiseProduct(per_batch_ * spread(numerics::product<T>(squares, fourth_)) +
                                       (T(1) - per_batch_) * batch_mean);
  }

  DiagonalSgdSetting<T> setting_;
  T per_batch_, floor_;
  Vector best_, second_;    ///< A_i / B_i and B_i
  Matrix pairs_;            ///< lambda_i lambda_j
  Matrix pairs_squared_;    ///< its squares
  Matrix pull_;             ///< lambda_i lambda_j B_j
  Matrix second_squares_;   ///< B_j^2
  Matrix fourth_;           ///< F_lj = E g_l^2 g_j^2
  Matrix forced_, turned_;  ///< Q = forced + diag(n) turned + D fourth
};

template <Real T>
DiagonalSgd<T>::DiagonalSgd(DiagonalSgdSetting<T> setting) : setting_(std::move(setting)) {
  const Eigen::Index d = setting_.input_variances.size();
  if (d < 1 || d > 1000) throw_invalid_argument(where, "input_variances.size() is out of range", d, "1 to 1000");
  require_same_size(where, "task_variances.size()", std::int64_t{setting_.task_variances.size()}, std::int64_t{d});
  for (Eigen::Index i = 0; i < d; ++i) {
    require_positive(where, "input_variances[" + std::to_string(i) + "]", setting_.input_variances(i));
    require_positive(where, "task_variances[" + std::to_string(i) + "]", setting_.task_variances(i));
  }
  require_non_negative(where, "noise_variance", setting_.noise_variance);
  require_at_least(where, "context_length", setting_.context_length, std::int64_t{1});
  require_at_least(where, "batch", setting_.batch, std::int64_t{1});
  per_batch_ = T(1) / math::from_count<T>(setting_.batch);

  // With u = H^{1/2} w ~ N(0, diag(s)) and c a chi square of l degrees of freedom, l g = c u + sqrt(c) xi given u,
  // where xi ~ N(0, v I - u u^T) and v = |u|^2 + sigma^2: the moments are polynomials in u of degree 4.
  const T l = math::from_count<T>(setting_.context_length), noise = setting_.noise_variance;
  const T c1 = l, c2 = c1 * (l + T(2)), c3 = c2 * (l + T(4)), c4 = c3 * (l + T(6));
  const Vector s = setting_.input_variances.cwiseProduct(setting_.task_variances);
  const T label = noise + s.sum(), squares = s.squaredNorm();
  second_ = (c2 * s.array() + c1 * (label - s.array())).matrix() / (l * l);
  best_ = s.cwiseQuotient(second_);
  floor_ = noise + (s.array() * (T(1) - best_.array())).sum();
  pairs_ = setting_.input_variances * setting_.input_variances.transpose();
  pairs_squared_ = pairs_.cwiseAbs2();
  pull_ = pairs_ * second_.asDiagonal();
  second_squares_ = second_.cwiseAbs2().transpose().replicate(d, 1);
  fourth_.resize(d, d);
  forced_.resize(d, d);
  turned_.resize(d, d);
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index k = 0; k < d; ++k) {
      const bool same = k == j;
      const T rest = label - s(j) - (same ? T(0) : s(k));                          // E of v less the entries named
      const T rest_squares = squares - s(j) * s(j) - (same ? T(0) : s(k) * s(k));  // half its variance
      const T rest_square = rest * rest + T(2) * rest_squares;
      const T both = same ? T(3) * s(j) * s(j) : s(j) * s(k);                              // E u_k^2 u_j^2
      const T left = same ? s(j) * rest : T(3) * s(k) * s(k) + s(k) * rest;                // E u_k^2 K_jj
      const T right = same ? left : T(3) * s(j) * s(j) + s(j) * rest;                      // E u_j^2 K_kk
      const T cross = same ? left : T(-both);                                              // E u_k u_j K_kj
      const T diagonals = same ? rest_square : both + (s(j) + s(k)) * rest + rest_square;  // E K_kk K_jj
      const T square = same ? rest_square : both;                                          // E K_kj^2
      const T third = (c3 * both + c2 * (left + T(2) * cross)) / (l * l * l);              // E u_k g_k g_j^2
      fourth_(k, j) =
          (c4 * both + c3 * (left + right + T(4) * cross) + c2 * (diagonals + T(2) * square)) / (l * l * l * l);
      const T first = (c2 * both + c1 * left) / (l * l);  // E u_k^2 g_j^2
      forced_(k, j) = first - best_(k) * (T(2) * third - best_(k) * fourth_(k, j));
      turned_(k, j) = T(-2) * (third - best_(k) * fourth_(k, j));
    }
  }
}

template <Real T>
DiagonalSgdState<T> DiagonalSgd<T>::step(const DiagonalSgdState<T>& state, const T& rate) const {
  require_finite(where, "rate", rate);
  return {state.diagonal.cwiseProduct((T(1) - rate * pull_.diagonal().array()).matrix()),
          state.squares - T(2) * rate * pull_.cwiseProduct(state.squares) + rate * rate * pushed(state)};
}

template <Real T>
T DiagonalSgd<T>::tail_average_risk(std::int64_t steps, std::int64_t tail, const T& rate) const {
  require_at_least(where, "tail", tail, std::int64_t{1});
  require_at_least(where, "steps", steps, tail);
  DiagonalSgdState<T> state = after(steps - tail, rate);
  // For the sum S of the layers so far, entry by entry: E S Delta, and E S^2. A step multiplies the mean of Delta.
  const Matrix kept = (T(1) - rate * pull_.array()).matrix();
  Matrix together = Matrix::Zero(pull_.rows(), pull_.cols()), sum = together;
  for (std::int64_t k = 0; k < tail; ++k) {
    state = step(state, rate);
    together = kept.cwiseProduct(together).eval();
    sum += T(2) * together + state.squares;
    together += state.squares;
  }
  const T count = math::from_count<T>(tail);
  return risk_of(sum / (count * count));
}

template <Real T>
T DiagonalSgd<T>::largest_stable_rate(const T& precision) const {
  if (!(T(0) < precision && precision < T(1))) {
    throw_domain_error(where, "precision is out of range", precision, "0 < precision < 1");
  }
  Matrix at = pairs_;
  for (int k = 0; k < 1'000'000; ++k) {
    const Matrix next = grown(at).cwiseQuotient(pull_);
    const auto ratio = next.cwiseQuotient(at);
    const T low = ratio.minCoeff(), high = ratio.maxCoeff();
    if (high - low <= precision * low) return T(4) / (low + high);
    at = next / next.maxCoeff();
  }
  throw_domain_error(where, "precision is not reached in 1e6 iterations", precision, "a larger one");
}

INCONTEXT_COMPILED_DECLARATION(baselines_diagonal_sgd, class DiagonalSgd<double>);

}  // namespace incontext::baselines
