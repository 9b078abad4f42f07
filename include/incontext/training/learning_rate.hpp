#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/constants.hpp"
#include "incontext/core/contracts.hpp"

/// Learning rates as functions of the step.
namespace incontext::training {

/// How a learning rate continues after its warm-up.
enum class RateDecay { constant, cosine };

/// A learning rate: a linear warm-up from peak / warmup_steps to peak, then constant, or half a cosine that reaches
/// final_share x peak at the last step.
///
/// Source    Loshchilov and Hutter 2017 (cosine).
/// Units     of the parameters, per step.
/// Domain    peak > 0; 0 <= warmup_steps <= steps; 0 <= final_share <= 1.
struct LearningRate {
  double peak = 1e-3;
  std::int64_t warmup_steps = 0;
  RateDecay decay = RateDecay::constant;
  std::int64_t steps = 0;  ///< the whole run's, for the cosine
  double final_share = 0;

  /// The rate of a step, counted from 0.
  [[nodiscard]] double operator()(std::int64_t step) const {
    if (step < warmup_steps) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
    if (decay == RateDecay::constant || steps <= warmup_steps + 1) return peak;
    const double done =
        (std::min)(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(steps - warmup_steps - 1));
    return peak * (final_share + (1 - final_share) * (1 + std::cos(math::Constants<double>::pi * done)) / 2);
  }
};

/// Refuses a learning rate outside its domain.
///
/// Errors    std::domain_error or std::invalid_argument that names the parameter.
inline void validate(const LearningRate& rate) {
  constexpr std::string_view where = "training::LearningRate";
  require_positive(where, "peak", rate.peak);
  require_at_least(where, "warmup_steps", rate.warmup_steps, std::int64_t{0});
  require_at_least(where, "steps", rate.steps, rate.warmup_steps);
  require_non_negative(where, "final_share", rate.final_share);
  if (rate.final_share > 1) {
    throw_domain_error(where, "final_share is too large", rate.final_share, "at most 1");
  }
}

}  // namespace incontext::training
