#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/calibration/batch_means.hpp"
#include "incontext/calibration/detail/measured_rows.hpp"
#include "incontext/calibration/detail/parallel_tasks.hpp"
#include "incontext/calibration/score_array.hpp"
#include "incontext/calibration/visible_scores.hpp"

namespace incontext::calibration {

/// The rows of a head whose lengths are in one octave: the whole rows, and the same rows cut to the first quarter of
/// their visible keys.
///
/// Units     lengths in visible keys.
struct LengthBucket {
  std::int64_t shortest;
  std::int64_t longest;
  std::int64_t rows;
  std::int64_t prompts;  ///< that have such rows
  BatchMeans full;
  BatchMeans quarter;  ///< of the same rows in the same batches; empty for rows of at most 8 keys
};

/// What one head does, by row length.
struct HeadMeasurement {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t prompts = 1;
  std::int64_t masked_rows = 0;            ///< rows without a visible key
  std::int64_t single_key_rows = 0;        ///< rows with one, whose weight is 1
  bool looks_like_weights = false;         ///< see measure_heads
  std::vector<LengthBucket> buckets = {};  ///< by length, shortest first; none is empty
};

/// What is done with rows without a visible key, which padded queries have.
enum class MaskedRows { refused, left_out };

/// How scores are measured.
///
/// Units     inverse_temperature in one over those of the scores.
struct MeasurementOptions {
  double inverse_temperature = 1;  ///< multiplies every score: 1 for scores as softmax gets them
  double needle_gap = 0;           ///< the gap of the needle that needle_weight is about, times the inverse temperature
  bool causal = false;             ///< query i sees keys 0 to i + keys - queries alone
  MaskedRows masked_rows = MaskedRows::refused;
  FiniteMasks finite_masks = FiniteMasks::by_rule;
  std::string_view leave_out_option = "MaskedRows::left_out";  ///< how the message about such a row calls it
  std::string_view all_scores_option = "FiniteMasks::none";    ///< how the messages about finite masks call it
  int threads = 0;  ///< 0: as many as the machine has; the result does not depend on it
  std::function<void(std::int64_t done, std::int64_t planned)> progress = {};  ///< called by one thread at a time
  std::function<void()> poll = {};  ///< called by every thread after each row; what it throws ends the measurement
};

namespace detail {

/// Refuses shapes that do not fit together, and an inverse temperature that is not positive.
inline void require_prompts(std::string_view where, std::span<const ScoreArray> prompts,
                            const MeasurementOptions& options) {
  require_at_least(where, "the number of prompts", prompts.size(), std::size_t{1});
  require_positive(where, "inverse_temperature", options.inverse_temperature);
  const ScoreArray& first = prompts.front();
  for (const ScoreArray& scores : prompts) {
    require_at_least(where, "the number of keys", scores.keys(), std::int64_t{2});
    if (scores.layers() != first.layers() || scores.heads() != first.heads()) {
      throw_invalid_argument(
          where, "the prompts have different numbers of layers x heads",
          std::to_string(scores.layers()) + " x " + std::to_string(scores.heads()),
          std::to_string(first.layers()) + " x " + std::to_string(first.heads()) + ", as the first prompt has");
    }
    if (options.causal && scores.queries() > scores.keys()) {
      throw_invalid_argument(where, "a causal mask needs at least as many keys as queries", scores.keys(),
                             "at least " + std::to_string(scores.queries()));
    }
  }
}

}  // namespace detail

/// Measures every head in one pass over the scores, in memory that does not grow with the number of rows.
///
/// `prompts` are the scores of one or several prompts, which may have different lengths. Errors are those of means over
/// batches of successive rows if there is one prompt. If there are several, every prompt is a batch, with the mean over
/// its own rows of an octave, so that the errors are those between prompts: rows of a prompt share its keys, and
/// however many there are, they do not tell how another prompt differs.
///
/// Rows that all sum to 1 are weights after softmax, and are refused. Weights without a sink or under dropout do not
/// sum to 1, nor do those of which a causal mask hides a part. A head looks like weights if no score of its rows is
/// negative, and all are at most 1 or the rows sum to at most 1.1 on average: dropout divides the weights it keeps by
/// their share, which can make them more than 1, and keeps the mean of the sums.
///
///     const std::vector<double> scores{1, 2, 0.5, -1, 0, 3};
///     const auto heads = calibration::measure_heads(calibration::dense_scores(
///         scores.data(), calibration::NumberType::float64, std::vector<std::int64_t>{2, 3}));
///
/// Source    derived: docs/theory/calibration.md#batch-means.
/// Shapes    of each prompt: layers x heads x queries x keys -> layers * heads measurements, the heads of a layer side
///           by side
/// Domain    scores at most 1e10, or masked as keep_visible describes; two keys or more; queries <= keys where causal.
/// Errors    std::invalid_argument for shapes and for prompts that differ in layers or heads; std::domain_error for a
///           score that is NaN, +infinity or above 1e10, or that may be a score or a mask (keep_visible), for a row
///           without a visible key, for a head without a row of two visible keys, and for rows that all sum to 1, which
///           are weights after softmax. The message names layer, head, prompt and query, counted from 0.
/// Accuracy  as row_statistics; the same bits for every order of the array and every number of threads:
///           tests/calibration/head_measurement.cpp.
inline std::vector<HeadMeasurement> measure_heads(std::span<const ScoreArray> prompts,
                                                  const MeasurementOptions& options = {}) {
  constexpr auto where = "calibration::measure_heads";
  detail::require_prompts(where, prompts, options);
  const ScoreArray& first = prompts.front();
  const std::vector<detail::HeadGroup> groups = detail::head_groups(first);
  std::vector<HeadMeasurement> heads(static_cast<std::size_t>(first.layers() * first.heads()));
  detail::run_tasks(
      static_cast<std::int64_t>(groups.size()), options.threads,
      [&](std::int64_t task) {
        detail::measure_group(prompts, groups[static_cast<std::size_t>(task)], options, heads.data());
      },
      options.progress);
  return heads;
}

/// As above, of one prompt.
inline std::vector<HeadMeasurement> measure_heads(const ScoreArray& scores, const MeasurementOptions& options = {}) {
  return measure_heads(std::span(&scores, 1), options);
}

}  // namespace incontext::calibration
