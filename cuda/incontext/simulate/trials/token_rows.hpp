#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// One number a token: row j of a Scratch is token j.
namespace incontext::simulate::detail {

/// One component of all tokens: consecutive numbers from a block of its own.
template <int W, class T>
INCONTEXT_HD void draw_component(const random::LaneStream<W>& stream, std::int64_t component, std::int64_t tokens,
                                 Scratch<T, W> out) {
  constexpr int per_block = random::normals_per_block<T>;
  const std::int64_t blocks = (tokens + per_block - 1) / per_block;
  alignas(W >= 16 ? 64 : 8) T normal[per_block][W];
  for (std::int64_t first = 0; first < tokens; first += per_block) {
    random::normals(stream, static_cast<std::uint32_t>(component * blocks + first / per_block), normal);
    for (int k = 0; k < per_block && first + k < tokens; ++k) {
      T* row = out.row(first + k);
      for (int lane = 0; lane < W; ++lane) row[lane] = normal[k][lane];
    }
  }
}

/// Each lane's highest score.
template <int W, class T>
INCONTEXT_HD void find_top(Scratch<T, W> scores, std::int64_t tokens, std::int32_t* top) {
  alignas(W >= 16 ? 64 : 8) T highest[W];
  for (int lane = 0; lane < W; ++lane) {
    highest[lane] = scores.row(0)[lane];
    top[lane] = 0;
  }
  for (std::int64_t j = 1; j < tokens; ++j) {
    const T* row = scores.row(j);
    for (int lane = 0; lane < W; ++lane) {
      const bool higher = row[lane] > highest[lane];
      highest[lane] = higher ? row[lane] : highest[lane];
      top[lane] = higher ? static_cast<std::int32_t>(j) : top[lane];
    }
  }
}

/// Makes one token the origin; `value` keeps what it was.
template <int W, class T>
INCONTEXT_HD void subtract_top(Scratch<T, W> rows, std::int64_t tokens, const std::int32_t* top, T* value) {
  for (int lane = 0; lane < W; ++lane) value[lane] = rows.row(top[lane])[lane];
  for (std::int64_t j = 0; j < tokens; ++j) {
    T* row = rows.row(j);
    for (int lane = 0; lane < W; ++lane) row[lane] -= value[lane];
  }
}

/// Mean and population variance of the scores.
template <int W, class T>
INCONTEXT_HD void spread_of_row(Scratch<T, W> scores, std::int64_t tokens, T* mean, T* variance) {
  const T share = T(1) / static_cast<T>(tokens);
  fill<W>(mean, T(0));
  fill<W>(variance, T(0));
  for (std::int64_t j = 0; j < tokens; ++j) add_scaled<W>(mean, share, scores.row(j));
  for (std::int64_t j = 0; j < tokens; ++j) {
    const T* g = scores.row(j);
    for (int lane = 0; lane < W; ++lane) variance[lane] += share * (g[lane] - mean[lane]) * (g[lane] - mean[lane]);
  }
}

/// How a component of the tokens goes with the scores: what NormSoftmax' own spread takes away.
template <int W, class T>
INCONTEXT_HD void regress(Scratch<T, W> scores, Scratch<T, W> component, std::int64_t tokens, const T* mean,
                          const T* variance, T* slope) {
  fill<W>(slope, T(0));
  for (std::int64_t j = 0; j < tokens; ++j) {
    const T* g = scores.row(j);
    const T* y = component.row(j);
    for (int lane = 0; lane < W; ++lane) slope[lane] += (g[lane] - mean[lane]) * y[lane];
  }
  for (int lane = 0; lane < W; ++lane) slope[lane] /= static_cast<T>(tokens) * variance[lane];
}

}  // namespace incontext::simulate::detail
