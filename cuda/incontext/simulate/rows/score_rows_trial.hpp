#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/rows/score_row_sums.hpp"
#include "incontext/simulate/rows/score_rows_types.hpp"

namespace incontext::simulate {

using random::RowStream;

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
    for (std::int64_t first = begin; first < end && !stop_requested(); first += tile) {
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
