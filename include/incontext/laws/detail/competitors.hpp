#pragma once

#include <cmath>
#include <limits>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/retrieval_threshold.hpp"
#include "incontext/laws/uniform_needle.hpp"

/// The laws of a needle's competitors at one inverse temperature.
namespace incontext::laws::detail {

/// log E exp(-e^(s + y)), y one of two values: `span` with probability p, else 0.
template <Real T>
class TwoValueScores {
 public:
  TwoValueScores(const T& span, const T& probability) : span_(span), probability_(probability) {}

  T log_psi(const T& s) const {
    using std::exp;
    using std::log;
    const T low = exp(s), high = exp(T(s + span_)), rest = T(1) - probability_;
    const T complement = -probability_ * math::exp_minus_one(T(-high)) - rest * math::exp_minus_one(T(-low));
    if (complement < T(0.5)) return math::log_one_plus(T(-complement));
    return log(T(rest + probability_ * exp(T(low - high)))) - low;
  }

 private:
  T span_, probability_;
};

/// A law's scores times beta, counted from `origin`, with the law's mean and upper edge, and how far the upper end of
/// the scores times beta is spread: 0 at an edge.
template <class Scores, class T>
struct Competitors {
  Scores scores;
  T origin, mean, edge, spread;
};

/// How much wider than that spread, or than 1, a needle's scores may be. Its cross entropy has a step there, and no
/// rule resolves one that is narrower.
inline constexpr double widest_needle = 100;

template <Real T>
Competitors<NormalScores<T>, T> competitors_at(std::string_view where, const NormalLaw<T>& law, const T& beta) {
  using std::sqrt;
  require_non_negative(where, "variance", law.variance);
  const T spread = beta * sqrt(law.variance);
  return {NormalScores<T>(spread), T(0), T(0), std::numeric_limits<T>::infinity(), spread};
}

template <Real T>
Competitors<UniformScores<T>, T> competitors_at(std::string_view where, const UniformLaw<T>& law, const T& beta) {
  require_finite(where, "lower", law.lower);
  require_non_negative(where, "upper - lower", T(law.upper - law.lower));
  return {UniformScores<T>(T(beta * (law.upper - law.lower))), T(beta * law.lower), T((law.lower + law.upper) / T(2)),
          law.upper, T(0)};
}

template <Real T>
Competitors<TwoValueScores<T>, T> competitors_at(std::string_view where, const TwoValueLaw<T>& law, const T& beta) {
  require_finite(where, "lower", law.lower);
  require_non_negative(where, "upper - lower", T(law.upper - law.lower));
  require_fraction(where, "probability", law.probability);
  const T width = law.upper - law.lower;
  return {TwoValueScores<T>(T(beta * width), law.probability), T(beta * law.lower),
          T(law.lower + law.probability * width), law.upper, T(0)};
}

}  // namespace incontext::laws::detail
