#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/rows/score_rows_types.hpp"

namespace incontext::simulate::detail {

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
    for (int k = 0; k < count; ++k) highest = max(highest, scores[k]);
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
    const Lanes<T, W> highest = max(row[RowState::largest], next[RowState::largest]);
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

}  // namespace incontext::simulate::detail
