#pragma once

#include <Eigen/Core>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "incontext/baselines/task_variances.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/eigen_solver.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines::detail {

template <Real T>
void require_descent(const char* where, const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task,
                     std::int64_t layers) {
  require_task_variances(where, task);
  require_positive(where, "task_variance", task.task_variance);
  require_at_least(where, "spectrum.examples()", spectrum.examples(), std::int64_t{1});
  if (layers < 0 || layers > 64) throw_invalid_argument(where, "layers is out of range", layers, "0 to 64");
}

/// The error of gradient descent on the context, as a function of its residual polynomial p.
template <Real T>
struct DescentError {
  using Array = Eigen::Array<T, Eigen::Dynamic, 1>;

  Array t, weights;      ///< eigenvalues of X^T X / l, and the spectrum's weights
  T prior, noise_share;  ///< psi^2; sigma^2 / l
  T unlearned;           ///< sigma^2 + psi^2 (d - l)_+

  DescentError(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task)
      : t(Eigen::Map<const Array>(spectrum.nodes().data(), static_cast<Eigen::Index>(spectrum.nodes().size()))),
        weights(Eigen::Map<const Array>(spectrum.weights().data(), t.size())),
        prior(task.task_variance),
        noise_share(task.noise_variance),
        unlearned(task.noise_variance + prior * math::from_count<T>(spectrum.zeros())) {
    if (spectrum.examples() == 0) return;
    const T examples = math::from_count<T>(spectrum.examples());
    t /= examples;
    noise_share /= examples;
  }

  /// p, and (1 - p) / t, which as a quotient would lose its digits at small t.
  struct Residual {
    Array p, fitted;
  };

  Residual residual_of(const std::vector<T>& rates) const {
    Residual residual{Array::Ones(t.size()), Array::Zero(t.size())};
    for (const T& rate : rates) {
      residual.fitted += rate * residual.p;
      residual.p *= T(1) - rate * t;
    }
    return residual;
  }

  T risk(const std::vector<T>& rates) const {
    const auto [p, fitted] = residual_of(rates);
    return unlearned + (weights * (prior * p * p + noise_share * t * fitted * fitted)).sum();
  }

  /// A local minimum of the risk near the given rates, by the method of Levenberg and Marquardt: the risk is a sum of
  /// squares, of p and (1 - p) / sqrt(t), weighted.
  std::vector<T> descend(std::vector<T> rates) const {
    constexpr int most_steps = 400;
    constexpr double first_damping = 1e-3, most_damping = 1e12;  // at the latter a step is lost in rounding
    constexpr int damping_factor = 4;  // up after a step that fails, down after one that helps
    const auto count = static_cast<Eigen::Index>(rates.size());
    T damping = T(first_damping), best = risk(rates);
    for (int step = 0; step < most_steps && damping < T(most_damping); ++step) {
      // The slope of p by a rate is -t times the product of the other factors.
      Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic> others(t.size(), count);
      Array before = Array::Ones(t.size()), after = Array::Ones(t.size());
      for (Eigen::Index k = 0; k < count; ++k) {
        others.col(k) = before;
        before *= T(1) - rates[static_cast<std::size_t>(k)] * t;
      }
      for (Eigen::Index k = count - 1; k >= 0; --k) {
        others.col(k) *= after;
        after *= T(1) - rates[static_cast<std::size_t>(k)] * t;
      }
      const auto [p, fitted] = residual_of(rates);
      const Array curvature = weights * (prior * t * t + noise_share * t);
      const Array pull = weights * t * (noise_share * fitted - prior * p);
      const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> normal =
          others.matrix().transpose() * (others.colwise() * curvature).matrix();
      const Eigen::Matrix<T, Eigen::Dynamic, 1> slope = others.matrix().transpose() * pull.matrix();
      Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> damped = normal;
      damped.diagonal() *= T(1) + damping;
      const Eigen::Matrix<T, Eigen::Dynamic, 1> move = damped.ldlt().solve(slope);
      std::vector<T> next = rates;
      for (Eigen::Index k = 0; k < count; ++k) next[static_cast<std::size_t>(k)] -= move(k);
      const T value = risk(next);
      if (!(value < best)) {
        damping *= T(damping_factor);
        continue;
      }
      rates = std::move(next);
      best = value;
      damping /= T(damping_factor);
    }
    return rates;
  }
};

/// The polynomial p of a degree with p(0) = 1 that has the least error: p = 1 - t q, q by projection on the polynomials
/// that are orthonormal for the weight psi^2 t^2 + sigma^2 t / l.
template <Real T>
class BestPolynomial {
 public:
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

  BestPolynomial(const DescentError<T>& error, std::int64_t degree) : risk_(error.unlearned) {
    using std::sqrt;
    using Array = typename DescentError<T>::Array;
    const auto count = static_cast<Eigen::Index>(degree);
    risk_ += error.prior * error.weights.sum();
    if (count == 0) return;
    // Stieltjes' procedure, with each polynomial made orthogonal to all before it
    const Array weight = error.weights * (error.prior * error.t * error.t + error.noise_share * error.t);
    Matrix basis(error.t.size(), count + 1);
    Matrix recurrence = Matrix::Zero(count + 1, count);  // t pi_k = sum_j recurrence(j, k) pi_j
    const T first = sqrt(weight.sum());
    basis.col(0).setConstant(T(1) / first);
    for (Eigen::Index k = 0; k < count; ++k) {
      Array next = error.t * basis.col(k).array();
      for (int pass = 0; pass < 2; ++pass) {  // the second removes what rounding left along all before it
        for (Eigen::Index j = k > 0 && pass == 0 ? k - 1 : 0; j <= k; ++j) {
          const T shared = (weight * next * basis.col(j).array()).sum();
          recurrence(j, k) += shared;
          next -= shared * basis.col(j).array();
        }
      }
      recurrence(k + 1, k) = sqrt((weight * next * next).sum());
      basis.col(k + 1) = (next / recurrence(k + 1, k)).matrix();
    }
    const Vector coefficients = basis.leftCols(count).transpose() * (error.prior * error.weights * error.t).matrix();
    risk_ -= coefficients.squaredNorm();
    // p = sum e_j pi_j; where it is 0, pi_count is a sum of the others, and t an eigenvalue of the comrade matrix
    Vector e = -recurrence * coefficients;
    e(0) += first;
    Matrix comrade = recurrence.topRows(count).transpose();
    comrade.row(count - 1) -= recurrence(count, count - 1) / e(count) * e.head(count).transpose();
    roots_ = Eigen::EigenSolver<Matrix>(comrade, false).eigenvalues();
  }

  T risk() const { return risk_; }

  /// Whether learning rates have this polynomial: whether its roots are real.
  bool is_real() const {
    using std::abs;
    using std::sqrt;
    const T tolerance = sqrt(std::numeric_limits<T>::epsilon());
    for (Eigen::Index k = 0; k < roots_.size(); ++k) {
      if (!(abs(roots_(k).imag()) <= tolerance * abs(roots_(k).real()))) return false;
    }
    return true;
  }

  /// The inverses of the roots, or their real parts.
  std::vector<T> rates() const {
    std::vector<T> rates;
    for (Eigen::Index k = 0; k < roots_.size(); ++k) rates.push_back((T(1) / roots_(k)).real());
    return rates;
  }

 private:
  T risk_;
  Eigen::Matrix<std::complex<T>, Eigen::Dynamic, 1> roots_ = {};
};

}  // namespace incontext::baselines::detail
