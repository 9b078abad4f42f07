#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "incontext/baselines/mixer.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/numerics/solve.hpp"

namespace incontext::baselines {

/// The mean squared error of sequence mixers on regression in context, exact at every length: linear attention, gated
/// linear attention, DeltaNet, gated DeltaNet and every other constant or scheduled (a, e, b).
///
/// Along each axis, with g = rho - a, h = e - b, and tau = sum lambda V, kappa = sum lambda R and
/// omega = sum lambda psi^2 over all d axes,
///
/// \f[ V' = (a^2 - 2ae\lambda) V + e^2 f\,(\lambda\tau + 2\lambda^2 V)
///        + 2\,[(ag + ah\lambda - eg\lambda) R - eh f\,(\lambda\kappa + 2\lambda^2 R)]
///        + (g^2 + 2gh\lambda)\,\psi^2 + h^2 f\,(\lambda\omega + 2\lambda^2\psi^2) + (1 - \rho^2)\,\psi^2 + b^2\sigma^2\lambda \f]
/// \f[ R' = \rho\,[(a - e\lambda)\,R + (g + h\lambda)\,\psi^2] + (1 - \rho^2)\,\psi^2 \f]
///
/// f = 1 for normal keys and d/(d + 2) for normalized ones. The error is sigma^2 + tau: it has the query's noise, and the
/// query's task is that of the next example. A step takes O(k).
///
///     const baselines::SequenceMixers<double> mixers(baselines::isotropic_mixer_task<double>(64, 0.1, 1.0 / 64));
///     const auto best = mixers.best(baselines::MixerKind::delta_rule, 128);   // best.mixer.write, best.risk: 0.308
///
/// Source    the theory of adaptive filters (LMS; Widrow et al. 1976, Feuer and Weinstein 1985) in the words of sequence
///           mixers; derived: docs/theory/baselines.md#sequence-mixers.
/// Units     those of MixerTask; errors: label units squared.
/// Domain    k >= 1; variances > 0 for inputs, >= 0 for tasks and noise; multiplicities >= 1; 0 <= persistence <= 1.
/// Limits    length 0: the answer 0. Equal variances: two numbers. 1 dimension, normalized keys, no noise: rate 1 solves it.
/// Errors    std::invalid_argument for shapes, std::domain_error for values and mixers that are not finite.
/// Accuracy  1e-13 relative for the delta rule of a task that stays, else 1e-13 of the answer 0's error
///           (tests/baselines/sequence_mixers.cpp).
template <Real T>
class SequenceMixers {
 public:
  using Vector = numerics::Vector<T>;

  explicit SequenceMixers(MixerTask<T> task);

  const MixerTask<T>& task() const { return task_; }

  /// Before the first example: s = 0.
  MixerState<T> start() const { return {task_.task_variances, task_.task_variances}; }
  /// After one example more.
  ///
  /// Errors    std::invalid_argument for a state of another shape.
  MixerState<T> step(MixerState<T> state, const Mixer<T>& mixer) const {
    require_mixer(mixer);
    require_state(state);
    advance(state, mixer);
    return state;
  }
  /// The mean squared error of the answer s x to the next query.
  ///
  /// Errors    as step.
  T risk(const MixerState<T>& state) const {
    require_state(state);
    return risk_of(state);
  }
  /// The errors of a mixer that stays as it is, after each of these numbers of examples.
  ///
  /// Errors    std::invalid_argument for negative lengths.
  std::vector<T> risks(const Mixer<T>& mixer, const std::vector<std::int64_t>& lengths) const {
    require_mixer(mixer);
    return course("SequenceMixers::risks", lengths, [&](const MixerState<T>&) { return mixer; });
  }

  /// Whether the error in sequences without end tends to one number, whatever the state was before.
  ///
  /// Source    the positive map of V is a diagonal and one product of two vectors: its largest eigenvalue is below 1
  ///           where the diagonal is, and e^2 f sum lambda^2/(1 - diagonal) is below 1.
  bool is_stable(const Mixer<T>& mixer) const {
    require_mixer(mixer);
    return gain(mixer) < T(1);
  }
  /// The error that a sequence without end tends to; infinity where it has none. What writes nothing answers 0.
  T steady_risk(const Mixer<T>& mixer) const;
  /// Of positive rates the delta rule is stable below this one, and only there: 2/(d + 2) for normal keys of variance 1
  /// without a gate.
  ///
  /// Domain    0 < gate <= 1: of a mixer (gate, gate rate, gate rate).
  T largest_stable_rate(const T& gate = T(1)) const;

  /// The mixer of a family for which the next error is least. With equal variances and a task that stays, no other
  /// schedule of the delta rule errs less anywhere, because the next error grows with the one before.
  ///
  /// Source    the next error is a quadratic form in (a, b).
  /// Errors    std::invalid_argument for gated_delta_net, for which it is none.
  Mixer<T> greedy(const MixerState<T>& state, MixerKind kind) const;
  /// The errors of greedy, step by step.
  ///
  /// Errors    as greedy; std::invalid_argument for negative lengths.
  std::vector<T> greedy_risks(MixerKind kind, const std::vector<std::int64_t>& lengths) const {
    return course("SequenceMixers::greedy_risks", lengths,
                  [&](const MixerState<T>& state) { return greedy(state, kind); });
  }

  /// The mixer of a family, the same for every example, that errs least after so many.
  ///
  /// Source    a quadratic form in the rate of linear attention; else a search over rates, and over gates where there is
  ///           one: the least of a grid, then Brent's method between its neighbors.
  /// Domain    examples >= 1. Rates from 1/(100 examples) of the largest stable one (1e-8 of it in sequences without end)
  ///           up to it; gates from 0.01 to 1 - 1e-6, and 1.
  /// Errors    std::invalid_argument for examples.
  /// Accuracy  the risk to 1e-7; that no lower minimum is between the grid's points is not proved
  ///           (tests/baselines/sequence_mixers.cpp).
  MixerChoice<T> best(MixerKind kind, std::int64_t examples) const {
    require_at_least("SequenceMixers::best", "examples", examples, std::int64_t{1});
    return best_by(kind, examples, [&](const Mixer<T>& mixer) { return risks(mixer, {examples}).front(); });
  }
  /// The same in sequences without end, where the best of linear attention without a gate is to write nothing. Of a task
  /// that stays a smaller rate is always better: `place` says so.
  MixerChoice<T> best_steady(MixerKind kind) const {
    return best_by(kind, 1'000'000, [&](const Mixer<T>& mixer) { return steady_risk(mixer); });
  }

 private:
  static constexpr const char* where = "SequenceMixers";

  T weighed(const Vector& moments) const { return weights_.dot(moments); }
  void require_state(const MixerState<T>& state) const {
    const std::int64_t k = lambda().size();
    require_same_size(where, "state.square.size()", std::int64_t{state.square.size()}, k);
    require_same_size(where, "state.overlap.size()", std::int64_t{state.overlap.size()}, k);
  }
  T risk_of(const MixerState<T>& state) const {
    const T excess = weighed(state.square);  // below 0 by rounding alone
    const T risk = task_.noise_variance + (excess > T(0) || excess != excess ? excess : T(0));
    return risk <= (std::numeric_limits<T>::max)() ? risk : std::numeric_limits<T>::infinity();
  }
  static void require_mixer(const Mixer<T>& mixer) {
    require_finite(where, "mixer.keep", mixer.keep);
    require_finite(where, "mixer.erase", mixer.erase);
    require_finite(where, "mixer.write", mixer.write);
  }
  void advance(MixerState<T>& state, const Mixer<T>& mixer) const;
  /// What a step makes of V along an axis of variance l out of V itself.
  T own(const Mixer<T>& m, const T& l) const {
    return m.keep * m.keep - T(2) * m.erase * l * (m.keep - fourth_ * m.erase * l);
  }
  /// e^2 f sum lambda^2/(1 - own), or infinity where V grows along an axis by itself.
  T gain(const Mixer<T>& m) const {
    T sum = T(0);
    for (Eigen::Index i = 0; i < lambda().size(); ++i) {
      const T left = T(1) - own(m, lambda()(i));
      if (!(left > T(0))) return std::numeric_limits<T>::infinity();
      sum += weights_(i) * lambda()(i) / left;
    }
    return fourth_ * m.erase * m.erase * sum;
  }
  const Vector& lambda() const { return task_.input_variances; }

  template <class Next>
  std::vector<T> course(const char* from, const std::vector<std::int64_t>& lengths, const Next& next) const;
  template <class Risk>
  MixerChoice<T> best_by(MixerKind kind, std::int64_t examples, const Risk& risk) const;

  MixerTask<T> task_;
  T fourth_;          ///< f
  Vector weights_;    ///< multiplicity times lambda
  T written_;         ///< omega
  T noise_and_task_;  ///< the error of the answer 0
};

template <Real T>
SequenceMixers<T>::SequenceMixers(MixerTask<T> task) : task_(std::move(task)) {
  const Eigen::Index k = task_.input_variances.size();
  require_at_least(where, "input_variances.size()", std::int64_t{k}, std::int64_t{1});
  require_same_size(where, "task_variances.size()", std::int64_t{task_.task_variances.size()}, std::int64_t{k});
  if (task_.multiplicities.size() == 0) task_.multiplicities = Vector::Ones(k);
  require_same_size(where, "multiplicities.size()", std::int64_t{task_.multiplicities.size()}, std::int64_t{k});
  for (Eigen::Index i = 0; i < k; ++i) {
    const std::string at = "[" + std::to_string(i) + "]";
    require_positive(where, "input_variances" + at, task_.input_variances(i));
    require_non_negative(where, "task_variances" + at, task_.task_variances(i));
    if (!(task_.multiplicities(i) >= T(1))) {
      throw_domain_error(where, "multiplicities" + at + " is too small", task_.multiplicities(i), "at least 1");
    }
  }
  require_non_negative(where, "noise_variance", task_.noise_variance);
  if (!(T(0) <= task_.persistence && task_.persistence <= T(1))) {
    throw_domain_error(where, "persistence is out of range", task_.persistence, "0 to 1");
  }
  const T d = task_.multiplicities.sum();
  fourth_ = task_.keys == MixerKeys::normal ? T(1) : T(d / (d + T(2)));
  weights_ = task_.multiplicities.cwiseProduct(lambda());
  written_ = weighed(task_.task_variances);
  noise_and_task_ = task_.noise_variance + written_;
}

template <Real T>
void SequenceMixers<T>::advance(MixerState<T>& state, const Mixer<T>& m) const {
  const T rho = task_.persistence, g = rho - m.keep, h = m.erase - m.write, fresh = T(1) - rho * rho;
  const T erased = m.erase * m.erase * fourth_ * weighed(state.square);
  const T crossed = m.erase * h * fourth_, kappa = weighed(state.overlap);
  for (Eigen::Index i = 0; i < lambda().size(); ++i) {
    const T l = lambda()(i), psi = task_.task_variances(i);
    T &v = state.square(i), &r = state.overlap(i);
    v = own(m, l) * v + l * erased +
        T(2) * ((m.keep * g + (m.keep * h - m.erase * g) * l) * r - crossed * l * (kappa + T(2) * l * r)) +
        (g * g + T(2) * g * h * l) * psi + h * h * fourth_ * l * (written_ + T(2) * l * psi) + fresh * psi +
        m.write * m.write * task_.noise_variance * l;
    r = rho * ((m.keep - m.erase * l) * r + (g + h * l) * psi) + fresh * psi;
  }
}

template <Real T>
T SequenceMixers<T>::steady_risk(const Mixer<T>& m) const {
  require_mixer(m);
  if (math::magnitude(m.write) <= T(0)) return noise_and_task_;
  const T loop = gain(m), rho = task_.persistence, g = rho - m.keep, h = m.erase - m.write;
  if (!(loop < T(1))) return std::numeric_limits<T>::infinity();
  MixerState<T> state = start();
  for (Eigen::Index i = 0; i < lambda().size(); ++i) {
    const T l = lambda()(i), fresh = T(1) - rho * rho;
    state.square(i) = T(0);
    state.overlap(i) = task_.task_variances(i) * (rho * (g + h * l) + fresh) / (T(1) - rho * (m.keep - m.erase * l));
  }
  // One step from V = 0 leaves what V is fed with; the axes then share tau.
  MixerState<T> fed = state;
  advance(fed, m);
  const auto shared = [&](const T& tau) {
    for (Eigen::Index i = 0; i < lambda().size(); ++i) {
      const T l = lambda()(i);
      state.square(i) = (fed.square(i) + m.erase * m.erase * fourth_ * tau * l) / (T(1) - own(m, l));
    }
    return weighed(state.square);
  };
  shared(shared(T(0)) / (T(1) - loop));
  return risk_of(state);
}

template <Real T>
T SequenceMixers<T>::largest_stable_rate(const T& gate) const {
  using std::sqrt;
  if (!(T(0) < gate && gate <= T(1))) {
    throw_domain_error("SequenceMixers::largest_stable_rate", "gate is out of range", gate, "0 < gate <= 1");
  }
  // the rate from which V grows along the axis of the largest variance by itself
  const T alone =
      (T(1) + sqrt(T(T(1) + T(2) * fourth_ * (T(1) / (gate * gate) - T(1))))) / (T(2) * fourth_ * lambda().maxCoeff());
  const auto excess = [&](const T& rate) {
    const T loop = gain({gate, T(gate * rate), T(gate * rate)});
    return loop <= (std::numeric_limits<T>::max)() ? T(loop - T(1)) : T(1);
  };
  const T low = alone / (T(10) * (T(1) + task_.multiplicities.sum()));
  return numerics::root_between<T>("SequenceMixers::largest_stable_rate", excess, low, alone);
}

template <Real T>
Mixer<T> SequenceMixers<T>::greedy(const MixerState<T>& state, MixerKind kind) const {
  if (kind == MixerKind::gated_delta_net) {
    throw_invalid_argument("SequenceMixers::greedy", "kind has no closed schedule", std::string("gated_delta_net"),
                           "another family, such as gated_delta_rule");
  }
  require_state(state);
  const bool erases = kind == MixerKind::delta_rule || kind == MixerKind::gated_delta_rule;
  const bool is_gated = kind == MixerKind::gated_linear_attention || kind == MixerKind::gated_delta_rule;
  // The next error is a quadratic form in what is forgotten and in the rate in a unit of its own: read off from steps.
  const T unit = T(1) / weights_.sum();
  const auto next = [&](const T& forgotten, const T& rate) {
    MixerState<T> after = state;
    advance(after, {T(T(1) - forgotten), erases ? T(rate * unit) : T(0), T(rate * unit)});
    return weighed(after.square);
  };
  const T at = next(T(0), T(0)), faster = next(T(0), T(1)), slower = next(T(0), T(-1));
  const T bb = (faster + slower) / T(2) - at, b = (slower - faster) / T(4);
  const auto mixer = [&](const T& forgotten, const T& rate) -> Mixer<T> {
    return {T(T(1) - forgotten), erases ? T(rate * unit) : T(0), T(rate * unit)};
  };
  if (!(bb > T(0))) return mixer(T(0), T(0));
  if (!is_gated) return mixer(T(0), b / bb);
  const T less = next(T(1), T(0)), more = next(T(-1), T(0));
  const T gg = (less + more) / T(2) - at, g = (more - less) / T(4),
          gb = (next(T(1), T(1)) - at - gg - bb) / T(2) + g + b;
  const T determinant = gg * bb - gb * gb;
  if (!(determinant > T(0))) return mixer(T(0), b / bb);
  return mixer((bb * g - gb * b) / determinant, (gg * b - gb * g) / determinant);
}

template <Real T>
template <class Next>
std::vector<T> SequenceMixers<T>::course(const char* from, const std::vector<std::int64_t>& lengths,
                                         const Next& next) const {
  std::vector<std::size_t> order(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    require_at_least(from, "lengths[" + std::to_string(i) + "]", lengths[i], std::int64_t{0});
    order[i] = i;
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  std::vector<T> risks(lengths.size());
  MixerState<T> state = start();
  std::int64_t reached = 0;
  for (const std::size_t i : order) {
    for (; reached < lengths[i]; ++reached) advance(state, next(state));
    risks[i] = risk_of(state);
  }
  return risks;
}

template <Real T>
template <class Risk>
MixerChoice<T> SequenceMixers<T>::best_by(MixerKind kind, std::int64_t examples, const Risk& risk) const {
  using std::exp;
  using std::log;
  const bool is_linear = kind == MixerKind::linear_attention || kind == MixerKind::gated_linear_attention;
  const bool is_gated = kind != MixerKind::linear_attention && kind != MixerKind::delta_rule;
  constexpr int bits = std::numeric_limits<T>::digits / 3;
  const auto of_gate = [&](const T& gate) -> MixerChoice<T> {
    if (is_linear) {  // a quadratic form in the rate, from two of them
      const T unit = T(1) / weights_.sum();
      const T plus = risk(mixer_of(kind, unit, gate)), minus = risk(mixer_of(kind, T(-unit), gate));
      const T curvature = (plus + minus) / T(2) - noise_and_task_;
      if (!(curvature > T(0) && curvature <= (std::numeric_limits<T>::max)())) {
        return {mixer_of(kind, T(0), gate), noise_and_task_};
      }
      const Mixer<T> mixer = mixer_of(kind, T(unit * (minus - plus) / (T(4) * curvature)), gate);
      return {mixer, risk(mixer)};
    }
    const T high = log(T(largest_stable_rate(gate) * (kind == MixerKind::gated_delta_rule ? gate : T(1))));
    const T low = high - log(T(100) * math::from_count<T>(examples));
    const auto at = [&](const T& logarithm) { return risk(mixer_of(kind, T(exp(logarithm)), gate)); };
    const auto found = numerics::minimum_on_grid<T>(at, low, high, 10, bits);
    return {mixer_of(kind, T(exp(found.argument)), gate), found.value, found.place};
  };
  MixerChoice<T> best = of_gate(T(1));
  if (!is_gated) return best;
  // gates by the logarithm of what they forget
  const auto forgetting = [&](const T& logarithm) { return of_gate(T(T(1) - exp(logarithm))).risk; };
  const auto found = numerics::minimum_on_grid<T>(forgetting, log(T(1e-6)), log(T(0.99)), 8, bits);
  return found.value < best.risk ? of_gate(T(T(1) - exp(found.argument))) : best;
}

INCONTEXT_COMPILED_DECLARATION(baselines_sequence_mixers, class SequenceMixers<double>);

}  // namespace incontext::baselines
