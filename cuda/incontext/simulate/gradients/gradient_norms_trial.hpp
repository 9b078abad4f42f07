#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/gradients/gradient_norms_types.hpp"

namespace incontext::simulate {

using random::GradientStream;

// One number per token: element j of a LaneArray is token j.
namespace detail {

/// One component of all tokens: consecutive normals from a block of its own.
template <class T, int W>
INCONTEXT_HD void draw_component(LaneArray<T, W> component, const random::LaneStream<W>& stream, std::int64_t index,
                                 std::int64_t tokens) {
  constexpr int per_block = random::normals_per_block<T>;
  const std::int64_t blocks = (tokens + per_block - 1) / per_block;
  draw_normals(component, stream, static_cast<std::uint32_t>(index * blocks), tokens);
}

/// Which token has the highest score, in each trial; the first of equals.
template <class T, int W>
INCONTEXT_HD Lanes<std::int32_t, W> find_top(LaneArray<T, W> scores, std::int64_t tokens) {
  Lanes<T, W> highest = scores[0];
  Lanes<std::int32_t, W> top(0);
  for (std::int64_t j = 1; j < tokens; ++j) {
    const Lanes<T, W>& score = scores[j];
    for (int lane = 0; lane < W; ++lane) {
      const bool higher = score[lane] > highest[lane];
      highest[lane] = higher ? score[lane] : highest[lane];
      top[lane] = higher ? static_cast<std::int32_t>(j) : top[lane];
    }
  }
  return top;
}

/// Subtracts the number of one token from those of all, and returns it.
template <class T, int W>
INCONTEXT_HD Lanes<T, W> subtract_top(LaneArray<T, W> component, std::int64_t tokens,
                                      const Lanes<std::int32_t, W>& top) {
  const auto origin = Lanes<T, W>::each([&](int lane) { return component[top[lane]][lane]; });
  for (std::int64_t j = 0; j < tokens; ++j) component[j] -= origin;
  return origin;
}

/// Mean and population variance of the tokens' scores.
template <class T, int W>
struct ScoreMoments {
  Lanes<T, W> mean;
  Lanes<T, W> variance;
};

template <class T, int W>
INCONTEXT_HD ScoreMoments<T, W> moments_of(LaneArray<T, W> scores, std::int64_t tokens) {
  const T share = T(1) / static_cast<T>(tokens);
  ScoreMoments<T, W> moments{T(0), T(0)};
  for (std::int64_t j = 0; j < tokens; ++j) add_scaled(moments.mean, share, scores[j]);
  for (std::int64_t j = 0; j < tokens; ++j) {
    const Lanes<T, W> deviation = scores[j] - moments.mean;
    moments.variance += share * deviation * deviation;
  }
  return moments;
}

/// The slope of the regression of a component on the scores. NormSoftmax subtracts this part, because its temperature,
/// the standard deviation of the scores, changes with them.
template <class T, int W>
INCONTEXT_HD Lanes<T, W> regress(LaneArray<T, W> scores, LaneArray<T, W> component, std::int64_t tokens,
                                 const ScoreMoments<T, W>& moments) {
  Lanes<T, W> slope(T(0));
  for (std::int64_t j = 0; j < tokens; ++j) {
    const Lanes<T, W>&score = scores[j], &number = component[j];
    for (int lane = 0; lane < W; ++lane) slope[lane] += (score[lane] - moments.mean[lane]) * number[lane];
  }
  slope /= static_cast<T>(tokens) * moments.variance;
  return slope;
}

}  // namespace detail

/// Each trial draws n standard normal tokens in d dimensions, whose component 0 is the one along w, and a random
/// direction h, and returns the norms of a layer's gradients at every x = |w| of a grid.
///
/// \f[ |dW_V| = |\bar x_a|,\qquad |dW_K| = x\, |C_a h|,\quad a = \mathrm{softmax}(x g) \f]
///
/// NormSoftmax: \f$ x \to \beta = \max(x, 1/\sigma_g) \f$. Where the row's own standard deviation is the temperature,
/// C_a h loses \f$ (C_a h)_0 \sum_j (g_j - \bar g)\, x_j / (n \sigma_g^2) \f$, and nothing is left along w.
///
/// All sums are relative to the token of the highest score, so that nothing cancels where it has all the weight.
///
/// Source    derived: docs/theory/laws.md#sizes-of-gradients, with dS from the map's Jacobian; arXiv 2310.12956, Fig. 5
/// Shapes    detail::gradient_norms values for each x, in the order of GradientNorm.
/// Units     dimensionless, for tokens of unit variance per component.
/// Domain    tokens >= 1 (NormSoftmax: 2), dimension >= 1 (key_orthogonal means nothing at 1), x >= 0.
/// Accuracy  trial by trial against the definition in double, tests/simulate/gradients/gradient_norms.cpp.
/// Random    streams of GradientStream; a component's tokens are consecutive numbers from a block of their own.
/// Runs on   host and device
template <class T>
struct GradientNormsTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 128;  // without the rounding of the sums, which gradient_norms adds
  static constexpr std::string_view grows_with = "tokens x score standard deviations";
  GradientMap map;
  std::int64_t tokens;
  std::int64_t dimension;
  const T* score_stddevs;
  int points;

  INCONTEXT_HD int outputs() const { return points * detail::gradient_norms; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return tokens * (3 + points) + points * states_per_point; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const random::LaneStream stream(trials, GradientStream::tokens);
    const Direction<W> upstream = draw_direction(trials);
    const auto scores = scratch.take(tokens), second = scratch.take(tokens), component = scratch.take(tokens);
    const auto weights = scratch.take(tokens * points), states = scratch;
    const auto weights_at = [&](int point) { return weights.after(tokens * point); };
    const auto state_at = [&](int point) { return states.after(states_per_point * point); };
    const auto norms_at = [&](int point) { return values.after(detail::gradient_norms * point); };

    detail::draw_component(scores, stream, 0, tokens);
    const Lanes<std::int32_t, W> top = detail::find_top(scores, tokens);
    const Lanes<T, W> top_score = detail::subtract_top(scores, tokens, top);
    const detail::ScoreMoments<T, W> moments = detail::moments_of(scores, tokens);
    detail::draw_component(second, stream, 1, tokens);
    (void)detail::subtract_top(second, tokens, top);
    for (int point = 0; point < points && !stop_requested(); ++point) {
      weigh(scores, second, moments.variance, score_stddevs[point], weights_at(point), state_at(point));
      begin(state_at(point), top_score, upstream, norms_at(point));
    }
    for (std::int64_t c = 1; c < dimension && !stop_requested(); ++c) {
      detail::draw_component(component, stream, c, tokens);
      const Lanes<T, W> top_value = detail::subtract_top(component, tokens, top);
      Lanes<T, W> slope(T(0));
      if (map == GradientMap::normsoftmax) slope = detail::regress(scores, component, tokens, moments);
      for (int point = 0; point < points; ++point) {
        const Component<W> sums = average(scores, second, component, weights_at(point), state_at(point));
        add(sums, state_at(point), top_value, slope, upstream, norms_at(point));
      }
    }
    for (int point = 0; point < points; ++point) finish(state_at(point), norms_at(point));
  }

 private:
  /// What is kept of each x. `narrow` is 1 where the row's own standard deviation is the temperature, else 0.
  enum class State {
    inverse_temperature,
    mean_score,   // sum a (g - g_top)
    mean_second,  // sum a (y - y_top) of component 1
    variance,     // C_00
    covariance,   // C_01
    narrow
  };
  static constexpr int states_per_point = 6;

  /// The direction h = cosine e_0 + sine e_1.
  template <int W>
  struct Direction {
    Lanes<T, W> cosine;
    Lanes<T, W> sine;
  };

  /// One component of \bar x_a relative to the top token, and of C_a e_0 and C_a e_1.
  template <int W>
  struct Component {
    Lanes<T, W> token;
    Lanes<T, W> parallel;
    Lanes<T, W> orthogonal;
  };

  /// Draws an isotropic direction, turned into the plane of e_0 and e_1 by a rotation that leaves w unchanged.
  template <int W>
  INCONTEXT_HD Direction<W> draw_direction(random::Trials<W> trials) const {
    constexpr int per_block = random::normals_per_block<T>;
    const random::LaneStream stream(trials, GradientStream::upstream);
    Lanes<T, W> normal[per_block], along(T(0)), across_square(T(0));
    for (std::int64_t i = 0; i < dimension && !stop_requested(); ++i) {
      if (i % per_block == 0) random::normals(stream, static_cast<std::uint32_t>(i / per_block), normal);
      if (i == 0) {
        along = normal[0];
      } else {
        add_product(across_square, normal[i % per_block], normal[i % per_block]);
      }
    }
    const Lanes<T, W> length = sqrt(along * along + across_square);
    return {along / length, sqrt(across_square) / length};
  }

  /// The weights at one x, and the state that every component needs.
  template <int W>
  INCONTEXT_HD void weigh(LaneArray<T, W> scores, LaneArray<T, W> second, const Lanes<T, W>& score_variance,
                          T score_stddev, LaneArray<T, W> weights, LaneArray<T, W> own) const {
    using std::sqrt;
    fill(own, states_per_point, T(0));
    for (int lane = 0; lane < W; ++lane) {
      const bool narrow = map == GradientMap::normsoftmax && score_stddev * score_stddev * score_variance[lane] < T(1);
      own[State::inverse_temperature][lane] = narrow ? T(1) / sqrt(score_variance[lane]) : score_stddev;
      own[State::narrow][lane] = narrow ? T(1) : T(0);
    }
    Lanes<T, W> sum(T(0));
    for (std::int64_t j = 0; j < tokens; ++j) {
      weights[j] = Lanes<T, W>::each(
          [&](int lane) { return elementary::exp(own[State::inverse_temperature][lane] * scores[j][lane]); });
      sum += weights[j];
    }
    sum = T(1) / sum;
    for (std::int64_t j = 0; j < tokens; ++j) {
      weights[j] *= sum;
      add_product(own[State::mean_score], weights[j], scores[j]);
      add_product(own[State::mean_second], weights[j], second[j]);
    }
    for (std::int64_t j = 0; j < tokens; ++j) {
      const Lanes<T, W> tilted = weights[j] * (scores[j] - own[State::mean_score]);
      add_product(own[State::variance], tilted, scores[j]);
      add_product(own[State::covariance], tilted, second[j]);
    }
  }

  /// Component 0, along w.
  template <int W>
  INCONTEXT_HD static void begin(LaneArray<T, W> own, const Lanes<T, W>& top_score, const Direction<W>& upstream,
                                 LaneArray<T, W> norms) {
    fill(norms, detail::gradient_norms, T(0));
    const Lanes<T, W> kept = T(1) - own[State::narrow];
    add_squares({top_score + own[State::mean_score], kept * own[State::variance], kept * own[State::covariance]},
                upstream, norms);
  }

  /// The sums over the tokens of one component.
  template <int W>
  INCONTEXT_HD Component<W> average(LaneArray<T, W> scores, LaneArray<T, W> second, LaneArray<T, W> component,
                                    LaneArray<T, W> weights, LaneArray<T, W> own) const {
    Component<W> sums{T(0), T(0), T(0)};
    const Lanes<T, W>& __restrict__ mean = own[State::mean_score];
    const Lanes<T, W>& __restrict__ second_mean = own[State::mean_second];
    for (std::int64_t j = 0; j < tokens; ++j) {
      const Lanes<T, W>& __restrict__ g = scores[j];
      const Lanes<T, W>& __restrict__ y = second[j];
      const Lanes<T, W>& __restrict__ x = component[j];
      const Lanes<T, W>& __restrict__ weight = weights[j];
      for (int lane = 0; lane < W; ++lane) {
        const T share = weight[lane] * x[lane];
        sums.token[lane] += share;
        sums.parallel[lane] += (g[lane] - mean[lane]) * share;
        sums.orthogonal[lane] += (y[lane] - second_mean[lane]) * share;
      }
    }
    return sums;
  }

  template <int W>
  INCONTEXT_HD static void add(const Component<W>& sums, LaneArray<T, W> own, const Lanes<T, W>& top_value,
                               const Lanes<T, W>& slope, const Direction<W>& upstream, LaneArray<T, W> norms) {
    const Lanes<T, W> lost = own[State::narrow] * slope;
    add_squares({top_value + sums.token, sums.parallel - lost * own[State::variance],
                 sums.orthogonal - lost * own[State::covariance]},
                upstream, norms);
  }

  template <int W>
  INCONTEXT_HD static void add_squares(const Component<W>& part, const Direction<W>& upstream, LaneArray<T, W> norms) {
    const Lanes<T, W> along = upstream.cosine * part.parallel + upstream.sine * part.orthogonal;
    add_product(norms[GradientNorm::value], part.token, part.token);
    add_product(norms[GradientNorm::key], along, along);
    add_product(norms[GradientNorm::key_parallel], part.parallel, part.parallel);
    add_product(norms[GradientNorm::key_orthogonal], part.orthogonal, part.orthogonal);
  }

  template <int W>
  INCONTEXT_HD static void finish(LaneArray<T, W> own, LaneArray<T, W> norms) {
    const Lanes<T, W> square = own[State::inverse_temperature] * own[State::inverse_temperature];
    const Lanes<T, W> value = norms[GradientNorm::value], key = square * norms[GradientNorm::key];
    norms[GradientNorm::key] = key;
    norms[GradientNorm::product] = key * value;
    norms[GradientNorm::ratio] = sqrt(key / value);
    norms[GradientNorm::key_parallel] *= square;
    norms[GradientNorm::key_orthogonal] *= square;
  }
};

}  // namespace incontext::simulate
