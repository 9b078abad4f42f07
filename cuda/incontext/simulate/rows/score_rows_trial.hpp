#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/rows/score_rows_types.hpp"

namespace incontext::simulate {

using random::RowStream;

namespace detail {

/// What is kept of the scores of a row, or of a segment of it, at every inverse temperature of a grid: compensated sums
/// relative to the largest score so far. Two of them merge to that of all their scores.
///
/// Source    the running maximum after Milakov and Gimelshein 2018; Kahan's compensated summation.
/// Units     log Z and entropy in nats, the rest dimensionless.
/// Runs on   host and device
template <class T>
struct ScoreRowSums {
  const T* inverse_temperatures;
  int points;

  INCONTEXT_HD std::int64_t rows() const { return row_variables + 2 * sums_per_point * std::int64_t{points}; }

  /// No scores yet.
  template <int W>
  INCONTEXT_HD void start(LaneArray<T, W> row) const {
    fill(row, rows(), T(0));
    row[RowState::largest] = T(-1e30);  // below every score, and finite: no infinity minus infinity
  }

  /// Adds the needle, a score that is remembered.
  template <int W>
  INCONTEXT_HD void add_needle(LaneArray<T, W> row, const Lanes<T, W>& score) const {
    row[RowState::needle] = score;
    add(row, &row[RowState::needle], 1);
  }

  /// Adds a tile of scores. A new largest score first shrinks what has been summed.
  template <int W>
  INCONTEXT_HD void add(LaneArray<T, W> row, const Lanes<T, W>* scores, int count) const {
    Lanes<T, W> highest = row[RowState::largest];
    for (int k = 0; k < count; ++k) highest = larger(highest, scores[k]);
    const Lanes<T, W> drop = row[RowState::largest] - highest;
    row[RowState::largest] = highest;
    for (int point = 0; point < points; ++point) {
      const T beta = inverse_temperatures[point];
      const auto own = sums(row, point), lost = own.after(sums_per_point);
      shrink(own, beta, drop);
      shrink(lost, beta, drop);
      Lanes<T, W> weights(T(0)), tilted(T(0)), squares(T(0)), cubes(T(0));
      for (int k = 0; k < count; ++k) {
        for (int lane = 0; lane < W; ++lane) {
          const T exponent = (scores[k][lane] - highest[lane]) * beta;
          const T weight = elementary::exp(exponent);
          const T square = weight * weight;
          weights[lane] += weight;
          tilted[lane] += weight * exponent;
          squares[lane] += square;
          cubes[lane] += square * weight;
        }
      }
      add_compensated(own[Sum::weights], lost[Sum::weights], weights);
      add_compensated(own[Sum::tilted], lost[Sum::tilted], tilted);
      add_compensated(own[Sum::squares], lost[Sum::squares], squares);
      add_compensated(own[Sum::cubes], lost[Sum::cubes], cubes);
    }
  }

  /// Adds the sums of the scores that follow in the row.
  template <int W>
  INCONTEXT_HD void merge(LaneArray<T, W> row, LaneArray<T, W> next) const {
    const Lanes<T, W> highest = larger(row[RowState::largest], next[RowState::largest]);
    const Lanes<T, W> drop = row[RowState::largest] - highest, next_drop = next[RowState::largest] - highest;
    row[RowState::largest] = highest;
    for (int point = 0; point < points; ++point) {
      const T beta = inverse_temperatures[point];
      const auto own = sums(row, point), lost = own.after(sums_per_point);
      const auto other = sums(next, point), other_lost = other.after(sums_per_point);
      shrink(own, beta, drop);
      shrink(lost, beta, drop);
      shrink(other, beta, next_drop);
      shrink(other_lost, beta, next_drop);
      for (int sum = 0; sum < sums_per_point; ++sum) {
        lost[sum] += other_lost[sum];
        add_compensated(own[sum], lost[sum], other[sum]);
      }
    }
  }

  /// The functionals of the row at one inverse temperature, the needle's only if the row has one.
  template <int W>
  INCONTEXT_HD void read(LaneArray<T, W> row, int point, bool has_needle, LaneArray<T, W> values) const {
    const T beta = inverse_temperatures[point];
    const auto own = sums(row, point);
    const Lanes<T, W>& largest = row[RowState::largest];
    const Lanes<T, W> share = T(1) / own[Sum::weights];
    const auto log_sum = Lanes<T, W>::each(
        [&](int lane) { return static_cast<T>(elementary::log(static_cast<double>(own[Sum::weights][lane]))); });
    const Lanes<T, W> ipr = own[Sum::squares] * share * share;
    values[RowFunctional::ipr] = ipr;
    values[RowFunctional::cubed_weights] = own[Sum::cubes] * share * share * share;
    values[RowFunctional::squared_ipr] = ipr * ipr;
    values[RowFunctional::largest_weight] = share;
    values[RowFunctional::entropy] = log_sum - own[Sum::tilted] * share;
    values[RowFunctional::log_partition] = log_sum + beta * largest;
    if (has_needle) {
      values[RowFunctional::needle_weight] = Lanes<T, W>::each([&](int lane) {
        return elementary::exp((row[RowState::needle][lane] - largest[lane]) * beta) * share[lane];
      });
    }
  }

 private:
  /// The largest score so far and the needle, and then the sums of each inverse temperature.
  enum class RowState { largest, needle };
  static constexpr int row_variables = 2;

  /// Compensated sums over the scores so far, in units of the largest one's exponential, with
  /// u = beta (z - max) <= 0: e^u, u e^u, e^(2u), e^(3u). After them comes what each has lost to rounding.
  enum class Sum { weights, tilted, squares, cubes };
  static constexpr int sums_per_point = 4;

  template <int W>
  INCONTEXT_HD static LaneArray<T, W> sums(LaneArray<T, W> row, int point) {
    return row.after(row_variables + 2 * sums_per_point * std::int64_t{point});
  }

  /// Rescales sums that are relative to the former largest score, so that they are relative to the present one.
  template <int W>
  INCONTEXT_HD static void shrink(LaneArray<T, W> own, T beta, const Lanes<T, W>& __restrict__ drop) {
    Lanes<T, W>& __restrict__ weights = own[Sum::weights];
    Lanes<T, W>& __restrict__ tilted = own[Sum::tilted];
    Lanes<T, W>& __restrict__ squares = own[Sum::squares];
    Lanes<T, W>& __restrict__ cubes = own[Sum::cubes];
    for (int lane = 0; lane < W; ++lane) {
      const T exponent = beta * drop[lane];
      const T kept = elementary::exp(exponent);
      tilted[lane] = kept * (tilted[lane] + exponent * weights[lane]);
      weights[lane] *= kept;
      squares[lane] *= kept * kept;
      cubes[lane] *= kept * kept * kept;
    }
  }
};

}  // namespace detail

/// Each trial draws one row of scores, a tile at a time and without keeping it, and measures how softmax distributes
/// its weight over the row at every inverse temperature of a grid. The row consists of segments of 4096 scores, which
/// are summed one by one and merged in a binary tree of a fixed shape: a GPU sums segments of one row side by side.
///
/// \f[ a_j = \frac{e^{\beta z_j}}{\sum_k e^{\beta z_k}} \f]
///
/// Scores are location + scale g, with g standard normal, uniform on (0, 1), or k / (N - 1). A needle token has its own
/// normal score.
///
/// Source    derived: docs/theory/laws.md#notation; the sums are ScoreRowSums.
/// Shapes    functionals() values for each inverse temperature, in the order of RowFunctional.
/// Units     log Z and entropy in nats, the rest dimensionless.
/// Domain    1 <= competitors <= 4e9; inverse_temperatures > 0.
/// Accuracy  trial by trial against the whole row in double, tests/simulate/rows/score_rows.cpp.
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
  NeedleToken needle_token;
  T needle, needle_stddev;
  const T* inverse_temperatures;
  int points;

  /// Without a needle there is no needle_weight, the last of them.
  INCONTEXT_HD int functionals() const {
    return static_cast<int>(RowFunctional::needle_weight) + (has_needle() ? 1 : 0);
  }
  INCONTEXT_HD int outputs() const { return points * functionals(); }
  INCONTEXT_HD std::int64_t scratch_rows() const { return sums().rows() * states_of(segments()); }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    run_segments(trials, scratch, 0, segments());
    finish(scratch, values);
  }

  // The parts of run, for a SegmentedTrial (engine/segments.hpp).
  INCONTEXT_HD std::int64_t segments() const { return (competitors + segment_scores - 1) / segment_scores; }

  /// The needle is the first score of the first segment.
  template <int W>
  INCONTEXT_HD void run_segments(random::Trials<W> trials, LaneArray<T, W> scratch, std::int64_t first,
                                 std::int64_t count) const {
    // A binary counter: after segment s, the states of the last 1, 2, 4, ... segments merge as often as s + 1 is even.
    std::int64_t states = 0;
    for (std::int64_t done = 1; done <= count && !stop_requested(); ++done) {
      run_segment(trials, scratch.after(sums().rows() * states++), first + done - 1);
      for (std::int64_t even = done; even % 2 == 0; even /= 2) merge_last(scratch, states--);
    }
    while (states > 1) merge_last(scratch, states--);
  }

  template <int W>
  INCONTEXT_HD void merge(LaneArray<T, W> row, LaneArray<T, W> next) const {
    sums().merge(row, next);
  }

  template <int W>
  INCONTEXT_HD void finish(LaneArray<T, W> row, LaneArray<T, W> values) const {
    for (int point = 0; point < points; ++point) {
      sums().read(row, point, has_needle(), values.after(point * functionals()));
    }
  }

 private:
  INCONTEXT_HD bool has_needle() const { return needle_token == NeedleToken::present; }

  /// Scores per segment: so many that a merge costs nothing beside them, and few enough to fill a GPU with one row.
  static constexpr std::int64_t segment_scores = 4096;
  /// Scores drawn at once: enough to make the running maximum cheap, few enough for the nearest cache.
  static constexpr int tile = 16;

  INCONTEXT_HD detail::ScoreRowSums<T> sums() const { return {inverse_temperatures, points}; }

  /// The most states of a binary counter at a time.
  INCONTEXT_HD static std::int64_t states_of(std::int64_t count) {
    std::int64_t states = 1;
    for (std::int64_t left = count - 1; left > 0; left /= 2) ++states;
    return states;
  }

  template <int W>
  INCONTEXT_HD void merge_last(LaneArray<T, W> scratch, std::int64_t states) const {
    merge(scratch.after(sums().rows() * (states - 2)), scratch.after(sums().rows() * (states - 1)));
  }

  template <int W>
  INCONTEXT_HD void run_segment(random::Trials<W> trials, LaneArray<T, W> row, std::int64_t segment) const {
    sums().start(row);
    if (has_needle() && segment == 0) sums().add_needle(row, draw_needle(trials));
    const random::LaneStream stream(trials, RowStream::scores);
    Lanes<T, W> scores[tile];
    const std::int64_t begin = segment * segment_scores;
    const std::int64_t end = competitors - begin < segment_scores ? competitors : begin + segment_scores;
    for (std::int64_t first = begin; first < end && !stop_requested_at(first); first += tile) {
      const int count = end - first < tile ? static_cast<int>(end - first) : tile;
      draw(stream, first, count, scores);
      sums().add(row, scores, count);
    }
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> draw_needle(random::Trials<W> trials) const {
    Lanes<T, W> normal[random::normals_per_block<T>];
    random::normals(random::LaneStream(trials, RowStream::needle), 0, normal);
    return needle + needle_stddev * normal[0];
  }

  /// Scores first ... first + count - 1.
  template <int W>
  INCONTEXT_HD void draw(const random::LaneStream<W>& stream, std::int64_t first, int count,
                         Lanes<T, W> (&scores)[tile]) const {
    constexpr int per_block = random::normals_per_block<T>;
    if (law == ScoreLaw::grid) return set_grid(first, count, scores);
    Lanes<T, W> drawn[per_block];
    for (int k = 0; k < count; k += per_block) {
      const auto block = static_cast<std::uint32_t>((first + k) / per_block);
      if (law == ScoreLaw::normal) {
        random::normals(stream, block, drawn);
      } else {
        draw_uniforms(stream, block, drawn);
      }
      for (int i = 0; i < per_block; ++i) scores[k + i] = location + scale * drawn[i];
    }
  }

  template <int W>
  INCONTEXT_HD void set_grid(std::int64_t first, int count, Lanes<T, W> (&scores)[tile]) const {
    const double share = competitors > 1 ? 1.0 / static_cast<double>(competitors - 1) : 0.0;
    for (int k = 0; k < count; ++k) {
      const double step = static_cast<double>(first + k) * share;
      scores[k] = static_cast<T>(static_cast<double>(location) + static_cast<double>(scale) * step);
    }
  }

  template <int W, int size>
  INCONTEXT_HD static void draw_uniforms(const random::LaneStream<W>& stream, std::uint32_t block,
                                         Lanes<T, W> (&out)[size]) {
    Lanes<std::uint32_t, W> words[4];
    stream.words(block, words);
    for (int i = 0; i < size; ++i) {
      for (int lane = 0; lane < W; ++lane) {
        if constexpr (sizeof(T) == 4) {
          out[i][lane] = random::uniform_open(words[i][lane]);
        } else {
          out[i][lane] = random::uniform_open(words[2 * i][lane], words[2 * i + 1][lane]);
        }
      }
    }
  }
};

}  // namespace incontext::simulate
