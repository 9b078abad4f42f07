#pragma once

#include <cstddef>
#include <cstdint>

#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// Rows of scores, what is measured of their softmax weights, and what a run gives.
namespace incontext::simulate {

/// What the competitors of a row of scores are: independent normal or uniform scores, or an even grid.
///
/// Runs on   host and device
enum class ScoreLaw { normal, uniform, grid };

/// Whether a row has a needle besides its competitors.
///
/// Runs on   host and device
enum class NeedleToken { absent, present };

/// A row of scores: `competitors` of one law and, perhaps, a needle among them.
///
/// Units     of the scores.
/// Domain    1 <= competitors <= 4e9, scale >= 0, needle_stddev >= 0, all finite.
struct ScoreRow {
  ScoreLaw law = ScoreLaw::normal;
  std::int64_t competitors = 0;
  double location = 0;  ///< normal: the mean; uniform and grid: the lower edge
  double scale = 1;     ///< normal: the standard deviation; uniform and grid: the width
  NeedleToken needle_token = NeedleToken::absent;
  double needle = 0;
  double needle_stddev = 0;

  /// The same row with one more token, whose score is N(score, stddev^2).
  [[nodiscard]] ScoreRow with_needle(double score, double stddev = 0) const {
    ScoreRow row = *this;
    row.needle_token = NeedleToken::present;
    row.needle = score;
    row.needle_stddev = stddev;
    return row;
  }
};

/// What a trial measures of one row of softmax weights a_j, at every inverse temperature: sum a^2, sum a^3,
/// (sum a^2)^2, max a, -sum a log a, log Z, and the needle's weight where there is a needle.
///
/// Runs on   host and device
enum class RowFunctional { ipr, cubed_weights, squared_ipr, largest_weight, entropy, log_partition, needle_weight };

/// Estimates of every functional at every inverse temperature, all on the same draws.
struct ScoreRowSimulation {
  Simulation run;
  int functionals = 0;

  [[nodiscard]] const statistics::Estimate& at(std::size_t point, RowFunctional functional) const {
    return run.estimates.at(point * static_cast<std::size_t>(functionals) + static_cast<std::size_t>(functional));
  }
};

}  // namespace incontext::simulate
