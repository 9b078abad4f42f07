#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "incontext/baselines/mixer.hpp"
#include "incontext/baselines/sequence_mixers.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines {

/// The mean squared error of the delta rule with momentum (heavy ball), after each of these numbers of examples:
///
/// \f[ m \leftarrow \eta\,m + b\,(y - s \cdot x)\,x,\qquad s \leftarrow s + m \f]
///
/// Along each axis, with u = w - s before a step and tau = sum lambda V over all d axes, five moments close: V = E u^2,
/// C = E u m, M = E m^2, R = E u w, D = E m w.
///
/// \f[ M' = \eta^2 M + 2\eta b\lambda\,C + b^2 f\,(\lambda\tau + 2\lambda^2 V) + b^2\sigma^2\lambda,\quad
///     p = \eta C + b\lambda V,\quad q = \eta D + b\lambda R,\quad r = 1 - \rho \f]
/// \f[ V' = V - 2p + M' + 2 r (q - R) + (r^2 + 1 - \rho^2)\,\psi^2,\quad C' = p - M' - r q \f]
/// \f[ R' = \rho\,(R - q - r \psi^2) + (1 - \rho^2)\,\psi^2,\quad D' = \rho\,q \f]
///
///     const baselines::SequenceMixers<double> mixers(baselines::isotropic_mixer_task(64, 0.1, 1.0 / 64));
///     const auto risks = baselines::momentum_risks(mixers, 0.006, 0.5, {64, 128});
///
/// Source    momentum in adaptive filters: Roy and Shynk, IEEE Trans. ASSP 38, 1990; derived:
///           docs/theory/baselines.md#momentum.
/// Units     rate: 1 over input units squared; momentum: none; errors: label units squared.
/// Domain    0 <= momentum <= 1, rate finite; lengths >= 0.
/// Limits    momentum 0: the delta rule; length 0: the answer 0.
/// Errors    std::domain_error for values, std::invalid_argument for lengths. An error without bound is infinity.
/// Accuracy  1e-13 of the answer 0's error (tests/baselines/mixer_momentum.cpp).
template <Real T>
std::vector<T> momentum_risks(const SequenceMixers<T>& mixers, const T& rate, const T& momentum,
                              const std::vector<std::int64_t>& lengths) {
  constexpr auto where = "momentum_risks";
  using Vector = numerics::Vector<T>;
  require_finite(where, "rate", rate);
  if (!(T(0) <= momentum && momentum <= T(1))) {
    throw_domain_error(where, "momentum is out of range", momentum, "0 to 1");
  }
  const MixerTask<T>& task = mixers.task();
  const Vector &lambda = task.input_variances, &psi = task.task_variances;
  const Vector weights = task.multiplicities.cwiseProduct(lambda);
  const T d = task.multiplicities.sum(), rho = task.persistence, lost = T(1) - rho, fresh = T(1) - rho * rho;
  const T fourth = task.keys == MixerKeys::normal ? T(1) : T(d / (d + T(2)));
  Vector error = psi, error_move = Vector::Zero(psi.size()), move = error_move, overlap = psi,
         move_overlap = error_move;
  std::vector<T> risks(lengths.size());
  const auto write = [&](std::int64_t reached) {
    const T excess = weights.dot(error);
    const T risk = task.noise_variance + (excess < T(0) ? T(0) : excess);  // below 0 by rounding alone
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] == reached) risks[i] = risk <= (std::numeric_limits<T>::max)() ? risk : math::infinity<T>();
    }
  };
  std::int64_t last = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    require_at_least(where, "lengths[" + std::to_string(i) + "]", lengths[i], std::int64_t{0});
    last = (std::max)(last, lengths[i]);
  }
  write(0);
  for (std::int64_t step = 1; step <= last; ++step) {
    const T tau = weights.dot(error);
    for (Eigen::Index i = 0; i < lambda.size(); ++i) {
      const T l = lambda(i);
      const T with_error = momentum * error_move(i) + rate * l * error(i);
      const T with_task = momentum * move_overlap(i) + rate * l * overlap(i);
      const T square = momentum * momentum * move(i) + T(2) * momentum * rate * l * error_move(i) +
                       rate * rate * (fourth * (l * tau + T(2) * l * l * error(i)) + task.noise_variance * l);
      error(i) += square - T(2) * with_error + T(2) * lost * (with_task - overlap(i)) + (lost * lost + fresh) * psi(i);
      error_move(i) = with_error - square - lost * with_task;
      move(i) = square;
      overlap(i) = rho * (overlap(i) - with_task - lost * psi(i)) + fresh * psi(i);
      move_overlap(i) = rho * with_task;
    }
    write(step);
  }
  return risks;
}

INCONTEXT_COMPILED(baselines_mixer_momentum, momentum_risks<double>);

}  // namespace incontext::baselines
