#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/numerics/solve.hpp"

namespace incontext::baselines {

/// How the inputs of a sequence mixer, its keys, are drawn before they get their variances: normal, or uniform on the
/// sphere of squared radius d, as normalized keys are.
enum class MixerKeys { normal, normalized };

/// Regression in context as a layer meets it that reads one example after the other: x = sqrt(lambda) z with variances
/// along axes, labels y = w x + noise, and a task that may drift, w' = rho w + sqrt(1 - rho^2) times a fresh draw.
///
/// Shapes    input_variances, task_variances: k each; multiplicities: k, or none for 1 each. d is their sum.
/// Units     input_variances: input units squared; task_variances: label units squared over that; noise_variance: label
///           units squared.
template <Real T>
struct MixerTask {
  numerics::Vector<T> input_variances;  ///< lambda
  numerics::Vector<T> task_variances;   ///< psi^2
  T noise_variance;                     ///< sigma^2
  T persistence = T(1);                 ///< rho: the correlation of the task with that one example before
  MixerKeys keys = MixerKeys::normal;
  numerics::Vector<T> multiplicities = {};  ///< how many axes have each pair of variances
};

/// Inputs of variance 1 and tasks of one variance in d dimensions.
///
/// Source    definition.
/// Errors    std::invalid_argument for the dimension.
template <Real T>
MixerTask<T> isotropic_mixer_task(std::int64_t dimension, const T& noise_variance, const T& task_variance) {
  require_at_least("isotropic_mixer_task", "dimension", dimension, std::int64_t{1});
  const auto one = [](const T& value) { return numerics::Vector<T>::Constant(1, value).eval(); };
  return {.input_variances = one(T(1)),
          .task_variances = one(task_variance),
          .noise_variance = noise_variance,
          .multiplicities = one(math::from_count<T>(dimension))};
}

/// One step of a sequence mixer with scalar gates, which answers s x from its state s: s becomes
/// a s - e (s x) x + b y x.
///
/// linear attention: a = 1, e = 0; gated: a < 1. The delta rule (DeltaNet): a = 1, e = b. Gated and forgetting after
/// the error: e = b; before it, as Gated DeltaNet is published: e = a b.
///
/// Source    arXiv 2412.06464 (Gated DeltaNet), 2406.06484 (DeltaNet).
/// Units     keep: none; erase and write: 1 over input units squared.
template <Real T>
struct Mixer {
  T keep = T(1);   ///< a
  T erase = T(0);  ///< e
  T write = T(0);  ///< b
};

/// Families of mixers with one rate, and one gate where the name says so.
enum class MixerKind {
  linear_attention,        ///< (1, 0, rate)
  gated_linear_attention,  ///< (gate, 0, rate)
  delta_rule,              ///< (1, rate, rate)
  gated_delta_rule,        ///< (gate, rate, rate): forgets after the error
  gated_delta_net          ///< (gate, gate rate, rate): forgets before the error, as published
};

/// The mixer of a family.
///
/// Source    definition: MixerKind. The gate has no meaning for families without one.
template <Real T>
Mixer<T> mixer_of(MixerKind kind, const T& rate, const T& gate = T(1)) {
  switch (kind) {
    case MixerKind::linear_attention:
      return {T(1), T(0), rate};
    case MixerKind::gated_linear_attention:
      return {gate, T(0), rate};
    case MixerKind::delta_rule:
      return {T(1), rate, rate};
    case MixerKind::gated_delta_rule:
      return {gate, rate, rate};
    default:
      return {gate, T(gate * rate), rate};
  }
}

/// The mixer that was found, and its error.
///
/// Units     of Mixer; risk: label units squared.
template <Real T>
struct MixerChoice {
  Mixer<T> mixer;
  T risk;
};

/// The two moments of a mixer's state along each axis, of which its error is made.
///
/// Shapes    k each.
/// Units     those of task_variances.
template <Real T>
struct MixerState {
  numerics::Vector<T> overlap;  ///< C = E s w
  numerics::Vector<T> square;   ///< P = E s^2
};

/// The mean squared error of sequence mixers on regression in context, exact at every length: linear attention, gated
/// linear attention, DeltaNet, gated DeltaNet and every other constant or scheduled (a, e, b).
///
/// Along each axis, with tau = sum lambda P, kappa = sum lambda C and omega = sum lambda psi^2 over all d axes,
///
/// \f[ C' = \rho\,[(a - e\lambda)\,C + b\lambda\psi^2],\quad
///     P' = a^2 P - 2ae\lambda P + e^2 f\,(\lambda\tau + 2\lambda^2 P)
///        + 2b\,[a\lambda C - e f\,(\lambda\kappa + 2\lambda^2 C)]
///        + b^2\,[f\,(\lambda\omega + 2\lambda^2\psi^2) + \sigma^2\lambda] \f]
///
/// f = 1 for normal keys and d/(d + 2) for normalized ones; the error is sigma^2 + omega - 2 kappa + tau, with the
/// query's noise, on a query of the task that the next example would have. A step takes O(k).
///
///     const baselines::SequenceMixers<double> mixers(baselines::isotropic_mixer_task<double>(64, 0.1, 1.0 / 64));
///     const auto best = mixers.best(baselines::MixerKind::delta_rule, 128);   // best.mixer.write, best.risk: 0.308
///
/// Source    the theory of adaptive filters (LMS; Widrow et al. 1976, Feuer and Weinstein 1985) in the words of sequence
///           mixers; derived: docs/theory/baselines.md#sequence-mixers.
/// Units     those of MixerTask; errors: label units squared.
/// Domain    k >= 1; variances > 0 for inputs, >= 0 for tasks and noise; multiplicities >= 1; -1 <= persistence <= 1.
/// Limits    length 0: the answer 0. Equal variances: two numbers.
/// Errors    std::invalid_argument for shapes, std::domain_error for values and mixers that are not finite.
/// Accuracy  1e-13 relative (tests/baselines/sequence_mixers.cpp).
template <Real T>
class SequenceMixers {
 public:
  using Vector = numerics::Vector<T>;

  explicit SequenceMixers(MixerTask<T> task);

  const MixerTask<T>& task() const { return task_; }

  /// Before the first example: s = 0.
  MixerState<T> start() const {
    const Vector zero = Vector::Zero(task_.input_variances.size());
    return {zero, zero};
  }
  /// After one example more.
  MixerState<T> step(MixerState<T> state, const Mixer<T>& mixer) const {
    advance(state, mixer);
    return state;
  }
  /// The mean squared error of the answer s x to the next query.
  T risk(const MixerState<T>& state) const {
    const T risk = noise_and_task_ - T(2) * weighed(state.overlap) + weighed(state.square);
    return risk <= (std::numeric_limits<T>::max)() ? risk : std::numeric_limits<T>::infinity();
  }
  /// The errors of a mixer that stays as it is, after each of these numbers of examples.
  ///
  /// Errors    std::invalid_argument for negative lengths.
  std::vector<T> risks(const Mixer<T>& mixer, const std::vector<std::int64_t>& lengths) const {
    check(mixer);
    return course("SequenceMixers::risks", lengths, [&](const MixerState<T>&) { return mixer; });
  }

  /// Whether the error stays bounded in sequences without end.
  ///
  /// Source    the positive map of P is a diagonal and one product of two vectors: its largest eigenvalue is below 1
  ///           where the diagonal is, and e^2 f sum lambda^2/(1 - diagonal) is below 1.
  bool is_stable(const Mixer<T>& mixer) const { return gain(mixer) < T(1); }
  /// The error that a sequence without end tends to; infinity where it has none.
  T steady_risk(const Mixer<T>& mixer) const;
  /// The delta rule is stable below this rate, and only there: 2/(d + 2) for normal keys of variance 1 without a gate.
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
  /// Domain    examples >= 1. Rates up to the largest stable one; gates up to 1.
  /// Errors    std::invalid_argument for examples.
  /// Accuracy  the risk to 1e-8; that no lower minimum is between the grid's points is not proved
  ///           (tests/baselines/sequence_mixers.cpp).
  MixerChoice<T> best(MixerKind kind, std::int64_t examples) const {
    require_at_least("SequenceMixers::best", "examples", examples, std::int64_t{1});
    return best_by(kind, examples, [&](const Mixer<T>& mixer) { return risks(mixer, {examples}).front(); });
  }
  /// The same in sequences without end; linear attention without a gate has none, with an infinite risk.
  MixerChoice<T> best_steady(MixerKind kind) const {
    return best_by(kind, 1'000'000, [&](const Mixer<T>& mixer) { return steady_risk(mixer); });
  }

 private:
  static constexpr const char* where = "SequenceMixers";

  T weighed(const Vector& moments) const { return weights_.dot(moments); }
  static void check(const Mixer<T>& mixer) {
    require_finite(where, "mixer.keep", mixer.keep);
    require_finite(where, "mixer.erase", mixer.erase);
    require_finite(where, "mixer.write", mixer.write);
  }
  void advance(MixerState<T>& state, const Mixer<T>& mixer) const;
  /// What a step makes of P along an axis of variance l out of P itself.
  T own(const Mixer<T>& m, const T& l) const {
    return m.keep * m.keep - T(2) * m.erase * l * (m.keep - fourth_ * m.erase * l);
  }
  /// e^2 f sum lambda^2/(1 - own), or infinity where P grows along an axis by itself.
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
  if (!(T(-1) <= task_.persistence && task_.persistence <= T(1))) {
    throw_domain_error(where, "persistence is no correlation", task_.persistence, "-1 to 1");
  }
  const T d = task_.multiplicities.sum();
  fourth_ = task_.keys == MixerKeys::normal ? T(1) : T(d / (d + T(2)));
  weights_ = task_.multiplicities.cwiseProduct(lambda());
  written_ = weighed(task_.task_variances);
  noise_and_task_ = task_.noise_variance + written_;
}

template <Real T>
void SequenceMixers<T>::advance(MixerState<T>& state, const Mixer<T>& m) const {
  const T tau = weighed(state.square), kappa = weighed(state.overlap);
  const T erased = m.erase * m.erase * fourth_, crossed = m.erase * fourth_;
  for (Eigen::Index i = 0; i < state.square.size(); ++i) {
    const T l = lambda()(i), written = l * task_.task_variances(i);
    T &c = state.overlap(i), &p = state.square(i);
    p = own(m, l) * p + l * (erased * tau + T(2) * m.write * (m.keep * c - crossed * (kappa + T(2) * l * c)) +
                             m.write * m.write * (fourth_ * (written_ + T(2) * written) + task_.noise_variance));
    c = task_.persistence * ((m.keep - m.erase * l) * c + m.write * written);
  }
}

template <Real T>
T SequenceMixers<T>::steady_risk(const Mixer<T>& m) const {
  check(m);
  const T loop = gain(m), rho = task_.persistence;
  if (!(loop < T(1))) return std::numeric_limits<T>::infinity();
  MixerState<T> state = start();
  for (Eigen::Index i = 0; i < lambda().size(); ++i) {
    const T l = lambda()(i);
    state.overlap(i) = rho * m.write * l * task_.task_variances(i) / (T(1) - rho * (m.keep - m.erase * l));
  }
  // One step from P = 0 leaves what P is fed with; the axes then share tau.
  const Vector fed = step(state, m).square;
  const auto shared = [&](const T& tau) {
    for (Eigen::Index i = 0; i < lambda().size(); ++i) {
      const T l = lambda()(i);
      state.square(i) = (fed(i) + m.erase * m.erase * fourth_ * tau * l) / (T(1) - own(m, l));
    }
    return weighed(state.square);
  };
  shared(shared(T(0)) / (T(1) - loop));
  return risk(state);
}

template <Real T>
T SequenceMixers<T>::largest_stable_rate(const T& gate) const {
  using std::sqrt;
  if (!(T(0) < gate && gate <= T(1))) {
    throw_domain_error("SequenceMixers::largest_stable_rate", "gate is out of range", gate, "0 < gate <= 1");
  }
  // the rate from which P grows along the axis of the largest variance by itself
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
  const bool erases = kind == MixerKind::delta_rule || kind == MixerKind::gated_delta_rule;
  const bool is_gated = kind == MixerKind::gated_linear_attention || kind == MixerKind::gated_delta_rule;
  // The next error at (a, b) is its constant plus kk a^2 + 2 kw a b + ww b^2 - 2 k a - 2 w b: read off from steps.
  const auto squared = [&](const T& keep, const T& rate) {
    return weighed(step(state, {keep, erases ? rate : T(0), rate}).square);
  };
  const auto overlap = [&](const T& keep, const T& rate) {
    return weighed(step(state, {keep, erases ? rate : T(0), rate}).overlap);
  };
  const T kk = squared(T(1), T(0)), ww = squared(T(0), T(1));
  const T kw = (squared(T(1), T(1)) - kk - ww) / T(2);
  const T k = overlap(T(1), T(0)), w = overlap(T(0), T(1));
  if (!is_gated || !(kk > T(0))) return {T(1), erases ? T((w - kw) / ww) : T(0), T((w - kw) / ww)};
  const T determinant = kk * ww - kw * kw, rate = (kk * w - kw * k) / determinant;
  return {T((ww * k - kw * w) / determinant), erases ? rate : T(0), rate};
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
    for (; reached < lengths[i]; ++reached) state = step(state, next(state));
    risks[i] = risk(state);
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
  const auto least = [](const auto& f, const T& low, const T& high, int points) {
    const auto place = [&](int i) { return T(low + (high - low) * T(i) / T(points)); };
    int best = 0;
    T value = f(low);
    for (int i = 1; i <= points; ++i) {
      const T at = f(place(i));
      if (!(at < value)) continue;
      best = i;
      value = at;
    }
    return numerics::minimum_between<T>(f, place((std::max)(best - 1, 0)), place((std::min)(best + 1, points)), bits);
  };
  const auto of_gate = [&](const T& gate) -> MixerChoice<T> {
    if (is_linear) {  // noise_and_task - 2 b kappa + b^2 tau, from two rates
      const T zero = noise_and_task_, plus = risk(mixer_of(kind, T(1), gate)),
              minus = risk(mixer_of(kind, T(-1), gate));
      const T curvature = (plus + minus) / T(2) - zero;
      const T rate = curvature > T(0) ? T((minus - plus) / (T(4) * curvature)) : T(0);
      if (!(curvature <= (std::numeric_limits<T>::max)())) return {mixer_of(kind, T(0), gate), curvature};
      return {mixer_of(kind, rate, gate), risk(mixer_of(kind, rate, gate))};
    }
    const T high = log(T(largest_stable_rate(gate) * (kind == MixerKind::gated_delta_rule ? gate : T(1))));
    const T low = high - log(T(100) * math::from_count<T>(examples));
    const auto at = [&](const T& logarithm) { return risk(mixer_of(kind, T(exp(logarithm)), gate)); };
    const auto found = least(at, low, high, 10);
    return {mixer_of(kind, T(exp(found.argument)), gate), found.value};
  };
  MixerChoice<T> best = of_gate(T(1));
  if (!is_gated) return best;
  // gates by the logarithm of what they forget
  const auto forgetting = [&](const T& logarithm) { return of_gate(T(T(1) - exp(logarithm))).risk; };
  const auto found = least(forgetting, log(T(1e-6)), log(T(0.99)), 8);
  return found.value < best.risk ? of_gate(T(T(1) - exp(found.argument))) : best;
}

INCONTEXT_COMPILED(baselines_sequence_mixers, isotropic_mixer_task<double>);
INCONTEXT_COMPILED(baselines_sequence_mixers, mixer_of<double>);
INCONTEXT_COMPILED_DECLARATION(baselines_sequence_mixers, class SequenceMixers<double>);

}  // namespace incontext::baselines
