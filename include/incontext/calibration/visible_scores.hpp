#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/hardmax.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/softmax.hpp"

namespace incontext::calibration {

/// A finite score above this number is never a mask; masks are written as -1e4 plus the score, as -65504, as -1e9, or
/// lower.
///
/// Units     of the scores.
inline constexpr double highest_mask = -5000;

/// A finite mask is at most this many times the lowest score above highest_mask: -1e4 is a mask beside scores down to
/// -50, and -65504 beside scores down to -327.
inline constexpr double mask_over_score = 200;

/// What a finite score of at most highest_mask is: a mask, by the rule of is_mask_beside, or a score like any other.
enum class FiniteMasks { by_rule, none };

/// Whether a score of at most highest_mask is low enough, beside the lowest score above it, to be a mask. Otherwise it
/// may be a score, and a row with it is refused: taken for one or the other, it would give other weights.
///
/// Source    definition.
/// Domain    lowest_visible above highest_mask, or infinity for none.
/// Limits    no visible score, or a score of -infinity: a mask.
/// Accuracy  exact: tests/calibration/visible_scores.cpp.
template <class T>
constexpr bool is_mask_beside(const T& score, const T& lowest_visible) {
  return score <= static_cast<T>(mask_over_score) * lowest_visible;
}

/// What a message about a finite mask says is needed. `option` is the caller's way to FiniteMasks::none.
///
/// Source    the rule of keep_visible in words.
inline std::string instead_of_finite_masks(std::string_view option) {
  const auto whole = [](double number) { return std::to_string(static_cast<int>(number)); };
  return "-inf for a masked key, or " + std::string(option) +
         " if every finite score is a score; a finite mask is at most " + whole(highest_mask) + " and at most " +
         whole(mask_over_score) + " times the lowest score above " + whole(highest_mask);
}

/// Whether a key of a very low finite score changes the weights of the others: by the number of visible keys, by a mean
/// or by a deviation, or because its weight is small and not 0. In the other maps its weight is 0 already, and no rule
/// about masks is needed.
template <class Map>
inline constexpr bool counts_keys = true;
template <class T>
inline constexpr bool counts_keys<scoring::Softmax<T>> = false;
template <class T>
inline constexpr bool counts_keys<scoring::Sparsemax<T>> = false;
template <class T>
inline constexpr bool counts_keys<scoring::Hardmax<T>> = false;
template <class T>
inline constexpr bool counts_keys<scoring::SaSoftmax<T>> = false;

/// What keeps a row of scores from being used.
enum class RowProblem { none, not_a_number, infinite, between_score_and_mask };

/// The visible scores of a row, which keep_visible has put first.
///
/// Units     lowest, highest, sum and problem_value those of the scores.
struct VisibleScores {
  std::int64_t count = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  RowProblem problem = RowProblem::none;
  double problem_value = 0;

  /// Whether the row could be weights after softmax: numbers from 0 on that sum to 1, up to half precision.
  bool sums_to_one() const { return count > 1 && lowest >= 0 && sum > 0.998 && sum < 1.002; }
};

/// Puts the visible scores of a row first, in their order, and leaves out masked ones.
///
/// A score of -infinity is a mask. By the rule, a finite score of at most -5000 is a mask if it is at most 200 times the
/// lowest score above -5000. It is also a mask if no score of its row is above -5000: then every key is masked. Otherwise
/// it is a problem, because it may be a score or a mask. With FiniteMasks::none every finite score is a score.
///
/// Source    the masks of common libraries: -inf, finfo.min, -1e9, -1e4 added to the score.
/// Shapes    row: n scores -> their visible ones, `count` of them, in front.
/// Units     of the scores.
/// Domain    every number; NaN and +infinity are named as a problem.
/// Limits    no visible score: count 0.
/// Accuracy  exact: tests/calibration/visible_scores.cpp.
inline VisibleScores keep_visible(std::span<double> row, FiniteMasks finite = FiniteMasks::by_rule) {
  const double highest_masked_score =
      finite == FiniteMasks::by_rule ? highest_mask : -std::numeric_limits<double>::infinity();
  VisibleScores kept;
  double highest_masked = -std::numeric_limits<double>::infinity();
  for (const double score : row) {
    if (score > highest_masked_score) {
      row[static_cast<std::size_t>(kept.count++)] = score;
      kept.lowest = score < kept.lowest ? score : kept.lowest;
      kept.highest = score > kept.highest ? score : kept.highest;
      kept.sum += score;
    } else if (score <= highest_masked_score) {
      highest_masked = score > highest_masked ? score : highest_masked;
    } else {
      kept.problem = RowProblem::not_a_number;
      kept.problem_value = score;
    }
  }
  if (kept.problem != RowProblem::none) return kept;
  if (kept.highest > (std::numeric_limits<double>::max)()) {
    kept.problem = RowProblem::infinite;
    kept.problem_value = kept.highest;
  } else if (kept.count > 0 && !is_mask_beside(highest_masked, kept.lowest)) {
    kept.problem = RowProblem::between_score_and_mask;
    kept.problem_value = highest_masked;
  }
  return kept;
}

}  // namespace incontext::calibration
