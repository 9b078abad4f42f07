#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// One number per token: element j of a LaneArray is token j.
namespace incontext::simulate::detail {

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

}  // namespace incontext::simulate::detail
