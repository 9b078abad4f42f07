#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/types/score_rows.hpp"

namespace incontext::simulate {

/// Streams of a row's trial, apart from those of regression. Part of the reproducibility contract.
///
/// Runs on   host and device
enum class RowStream : std::uint32_t { scores = 16, signal = 17 };

namespace detail {

/// Scores drawn at once: enough to make the running maximum cheap, few enough for the nearest cache.
inline constexpr int row_tile = 16;

/// Compensated sums over the scores met so far, in units of the largest one's exponential: sum e^u, sum u e^u,
/// sum e^(2u), sum e^(3u) with u = beta (z - max) <= 0, and what each lost to rounding.
inline constexpr int row_sums = 4;

}  // namespace detail

/// One trial of a row of scores: draw them a tile at a time, keep none, and say how softmax spreads its weight at every
/// inverse temperature of a grid.
///
/// \f[ a_j = \frac{e^{\beta z_j}}{\sum_k e^{\beta z_k}} \f]
///
/// Scores are location + scale g, with g standard normal, uniform on (0, 1), or k / (N - 1). A signal token has its own
/// normal score.
///
/// Source    derived: docs/theory/laws.md#notation; the running maximum after Milakov and Gimelshein 2018.
/// Shapes    functionals() values for each inverse temperature, in the order of RowFunctional.
/// Units     log Z and entropy in nats, the rest dimensionless.
/// Domain    1 <= competitors <= 4e9; inverse_temperatures > 0.
/// Accuracy  trial by trial against the whole row in double, tests/simulate/score_rows.cpp.
/// Random    streams of RowStream; score j is number j of its stream, from counter j / normals_per_block.
/// Runs on   host and device
template <class T>
struct ScoreRowTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 32;  // without the rounding of the exponents, which score_rows adds
  static constexpr std::string_view grows_with = "inverse temperatures";
  ScoreLaw law;
  std::int64_t competitors;
  T location, scale;
  bool has_signal;
  T signal, signal_stddev;
  const T* inverse_temperatures;
  int points;

  INCONTEXT_HD int functionals() const { return has_signal ? 7 : 6; }
  INCONTEXT_HD int outputs() const { return points * functionals(); }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 2 + 2 * detail::row_sums * std::int64_t{points}; }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    constexpr int tile = detail::row_tile;
    alignas(W >= 16 ? 64 : 8) T scores[tile][W];
    detail::fill<W>(scratch.row(0), T(-1e30));  // below every score, and finite: no infinity minus infinity
    for (std::int64_t i = 1; i < scratch_rows(); ++i) detail::fill<W>(scratch.row(i), T(0));
    if (has_signal) {
      draw_signal<W>({seed, first_trial, static_cast<std::uint32_t>(RowStream::signal)}, scores[0]);
      for (int lane = 0; lane < W; ++lane) scratch.row(1)[lane] = scores[0][lane];
      add<W>(scratch, scores, 1);
    }
    const random::LaneStream<W> stream(seed, first_trial, static_cast<std::uint32_t>(RowStream::scores));
    for (std::int64_t first = 0; first < competitors && !stop_requested(); first += tile) {
      const int count = competitors - first < tile ? static_cast<int>(competitors - first) : tile;
      draw<W>(stream, first, count, scores);
      add<W>(scratch, scores, count);
    }
    for (int point = 0; point < points; ++point) {
      read<W>(scratch, point, values + point * functionals() * value_stride, value_stride);
    }
  }

 private:
  template <int W>
  INCONTEXT_HD static detail::Scratch<T, W> sums(detail::Scratch<T, W> scratch, int point) {
    return scratch.after(2 + 2 * detail::row_sums * std::int64_t{point});
  }

  template <int W>
  INCONTEXT_HD void draw_signal(const random::LaneStream<W>& stream, T* score) const {
    alignas(W >= 16 ? 64 : 8) T normal[random::normals_per_block<T>][W];
    random::normals(stream, 0u, normal);
    for (int lane = 0; lane < W; ++lane) score[lane] = signal + signal_stddev * normal[0][lane];
  }

  /// Scores first ... first + count - 1.
  template <int W>
  INCONTEXT_HD void draw(const random::LaneStream<W>& stream, std::int64_t first, int count, T (&scores)[16][W]) const {
    constexpr int per_block = random::normals_per_block<T>;
    if (law == ScoreLaw::grid) {
      const double share = competitors > 1 ? 1.0 / static_cast<double>(competitors - 1) : 0.0;
      for (int k = 0; k < count; ++k) {
        const double step = static_cast<double>(first + k) * share;
        detail::fill<W>(scores[k], static_cast<T>(static_cast<double>(location) + static_cast<double>(scale) * step));
      }
      return;
    }
    alignas(W >= 16 ? 64 : 8) T drawn[per_block][W];
    for (int k = 0; k < count; k += per_block) {
      const auto block = static_cast<std::uint32_t>((first + k) / per_block);
      if (law == ScoreLaw::normal) {
        random::normals(stream, block, drawn);
      } else {
        uniforms<W>(stream, block, drawn);
      }
      for (int i = 0; i < per_block; ++i) {
        for (int lane = 0; lane < W; ++lane) scores[k + i][lane] = location + scale * drawn[i][lane];
      }
    }
  }

  template <int W>
  INCONTEXT_HD static void uniforms(const random::LaneStream<W>& stream, std::uint32_t block, T (*out)[W]) {
    alignas(W >= 16 ? 64 : 4) std::uint32_t words[4][W];
    stream.words(block, words);
    for (int i = 0; i < random::normals_per_block<T>; ++i) {
      for (int lane = 0; lane < W; ++lane) {
        if constexpr (sizeof(T) == 4) {
          out[i][lane] = random::uniform_open(words[i][lane]);
        } else {
          out[i][lane] = random::uniform_open(words[2 * i][lane], words[2 * i + 1][lane]);
        }
      }
    }
  }

  /// Takes a tile of scores in: a higher maximum first shrinks what has been summed.
  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> scratch, const T (&scores)[16][W], int count) const {
    T* __restrict__ maximum = scratch.row(0);
    alignas(W >= 16 ? 64 : 8) T drop[W];
    for (int lane = 0; lane < W; ++lane) {
      T highest = maximum[lane];
      for (int k = 0; k < count; ++k) highest = scores[k][lane] > highest ? scores[k][lane] : highest;
      drop[lane] = maximum[lane] - highest;
      maximum[lane] = highest;
    }
    alignas(W >= 16 ? 64 : 8) T part[detail::row_sums][W];
    for (int point = 0; point < points; ++point) {
      const T beta = inverse_temperatures[point];
      const auto state = sums<W>(scratch, point);
      shrink<W>(state, beta, drop);
      for (int i = 0; i < detail::row_sums; ++i) detail::fill<W>(part[i], T(0));
      for (int k = 0; k < count; ++k) {
        for (int lane = 0; lane < W; ++lane) {
          const T exponent = (scores[k][lane] - maximum[lane]) * beta;
          const T weight = elementary::exp(exponent);
          const T square = weight * weight;
          part[0][lane] += weight;
          part[1][lane] += weight * exponent;
          part[2][lane] += square;
          part[3][lane] += square * weight;
        }
      }
      for (int i = 0; i < detail::row_sums; ++i) {
        detail::add_compensated<W>(state.row(i), state.row(detail::row_sums + i), part[i]);
      }
    }
  }

  template <int W>
  INCONTEXT_HD static void shrink(detail::Scratch<T, W> state, T beta, const T* drop) {
    for (int half = 0; half < 2; ++half) {  // the sums, then what they lost
      T* __restrict__ first = state.row(detail::row_sums * half);
      T* __restrict__ tilted = state.row(detail::row_sums * half + 1);
      T* __restrict__ second = state.row(detail::row_sums * half + 2);
      T* __restrict__ third = state.row(detail::row_sums * half + 3);
      for (int lane = 0; lane < W; ++lane) {
        const T exponent = beta * drop[lane];
        const T kept = elementary::exp(exponent);
        tilted[lane] = kept * (tilted[lane] + exponent * first[lane]);
        first[lane] *= kept;
        second[lane] *= kept * kept;
        third[lane] *= kept * kept * kept;
      }
    }
  }

  template <int W>
  INCONTEXT_HD void read(detail::Scratch<T, W> scratch, int point, T* out, std::int64_t stride) const {
    const T beta = inverse_temperatures[point];
    const auto state = sums<W>(scratch, point);
    for (int lane = 0; lane < W; ++lane) {
      const T share = T(1) / state.row(0)[lane];
      const T log_sum = static_cast<T>(elementary::log(static_cast<double>(state.row(0)[lane])));
      const T participation = state.row(2)[lane] * share * share;
      out[lane] = participation;
      out[stride + lane] = state.row(3)[lane] * share * share * share;
      out[2 * stride + lane] = participation * participation;
      out[3 * stride + lane] = share;
      out[4 * stride + lane] = log_sum - state.row(1)[lane] * share;
      out[5 * stride + lane] = log_sum + beta * scratch.row(0)[lane];
      if (has_signal) {
        out[6 * stride + lane] = elementary::exp((scratch.row(1)[lane] - scratch.row(0)[lane]) * beta) * share;
      }
    }
  }
};

}  // namespace incontext::simulate
