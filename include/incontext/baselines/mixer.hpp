#pragma once

#include <cstdint>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/minimum.hpp"

namespace incontext::baselines {

/// How the inputs of a sequence mixer, its keys, are drawn before they get their variances: normal, or uniform on the
/// sphere of squared radius d, as normalized keys are.
enum class MixerKeys { normal, normalized };

/// Regression in context as a layer meets it that reads one example after the other: inputs x = sqrt(lambda) z with the
/// variance lambda along each axis, labels y = w x + noise, and a task that may drift, w' = rho w + sqrt(1 - rho^2) times
/// a fresh draw.
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

/// Inputs of variance 1 and tasks of one variance in d dimensions, which stay; set `persistence` for a drift.
///
/// Source    definition.
/// Errors    std::invalid_argument for the dimension, std::domain_error for the variances.
template <Real T>
MixerTask<T> isotropic_mixer_task(std::int64_t dimension, const T& noise_variance, const T& task_variance) {
  require_at_least("isotropic_mixer_task", "dimension", dimension, std::int64_t{1});
  require_non_negative("isotropic_mixer_task", "noise_variance", noise_variance);
  require_non_negative("isotropic_mixer_task", "task_variance", task_variance);
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
  delta_rule,              ///< (1, rate, rate): DeltaNet
  gated_delta_rule,        ///< (gate, rate, rate): forgets after the error
  gated_delta_net          ///< (gate, gate rate, rate): forgets before the error, as published
};

/// The name of a family, as it stands here and in Python.
///
/// Source    definition.
constexpr const char* mixer_name(MixerKind kind) {
  constexpr const char* names[] = {"linear_attention", "gated_linear_attention", "delta_rule", "gated_delta_rule",
                                   "gated_delta_net"};
  return names[static_cast<int>(kind)];
}

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
    case MixerKind::gated_delta_net:
      break;
  }
  return {gate, T(gate * rate), rate};
}

/// The mixer that was found, whose `write` is the rate, and its error.
///
/// Units     of Mixer; risk: label units squared.
template <Real T>
struct MixerChoice {
  Mixer<T> mixer;
  T risk;
  numerics::SearchPlace place = numerics::SearchPlace::inside;  ///< of the rate, where it was searched for
};

/// The two moments along each axis of which a mixer's error is made, with u = w - s.
///
/// Shapes    k each.
/// Units     those of task_variances.
template <Real T>
struct MixerState {
  numerics::Vector<T> square;   ///< V = E u^2
  numerics::Vector<T> overlap;  ///< R = E u w
};

INCONTEXT_COMPILED(baselines_mixer, isotropic_mixer_task<double>);
INCONTEXT_COMPILED(baselines_mixer, mixer_of<double>);

}  // namespace incontext::baselines
