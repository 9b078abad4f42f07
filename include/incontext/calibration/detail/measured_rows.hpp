#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "incontext/calibration/batch_means.hpp"
#include "incontext/calibration/row_statistics.hpp"
#include "incontext/calibration/score_array.hpp"
#include "incontext/calibration/visible_scores.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::calibration {

struct HeadMeasurement;
struct MeasurementOptions;

namespace detail {

/// The largest number that is accepted as a score, far above those of half precision (65504). Far beyond it, squares
/// overflow and the integrals of `laws` do not converge.
inline constexpr double largest_score = 1e10;

/// Heads that are read together, numbered layer * heads + head, and the number of queries read at a time.
struct HeadGroup {
  std::vector<std::int64_t> heads;
  std::int64_t queries_at_a_time;
};

inline std::int64_t offset_of(const ScoreArray& scores, std::int64_t head) {
  return head / scores.heads() * scores.strides[0] + head % scores.heads() * scores.strides[1];
}

/// One head at a time if its keys are side by side in memory, otherwise heads or queries that are near each other.
inline std::vector<HeadGroup> head_groups(const ScoreArray& scores) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(scores.layers() * scores.heads()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  constexpr std::int64_t together = 64;
  std::int64_t heads = 1, queries = 1;
  if (scores.strides[3] != size_of(scores.type)) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return offset_of(scores, a) < offset_of(scores, b); });
    (order.size() > 1 && (std::min)(scores.strides[0], scores.strides[1]) < scores.strides[2] ? heads : queries) =
        together;
  }
  std::vector<HeadGroup> groups;
  for (std::size_t at = 0; at < order.size(); at += static_cast<std::size_t>(heads)) {
    const std::size_t end = (std::min)(order.size(), at + static_cast<std::size_t>(heads));
    groups.push_back(
        {{order.begin() + static_cast<std::ptrdiff_t>(at), order.begin() + static_cast<std::ptrdiff_t>(end)}, queries});
  }
  return groups;
}

/// Measures the rows of one head, prompt by prompt, in the order of their queries. Of one prompt the batches are
/// successive rows; of several, each prompt is a batch.
template <class Head, class Options>
class MeasuredRows {
 public:
  MeasuredRows(std::span<const ScoreArray> prompts, const Options& options, std::int64_t number, Head& head)
      : prompts_(prompts), options_(options), head_(head) {
    head_.layer = number / prompts.front().heads();
    head_.head = number % prompts.front().heads();
    head_.prompts = static_cast<std::int64_t>(prompts.size());
  }

  void begin(std::size_t prompt) {
    prompt_ = prompt;
    weights_.resize(static_cast<std::size_t>(prompts_[prompt].keys()));
  }

  void add(std::int64_t query, std::span<double> row) {
    if (options_.poll) options_.poll();
    const VisibleScores visible = keep_visible(row, options_.finite_masks);
    refuse_problems(visible, query);
    lowest_ = (std::min)(lowest_, visible.lowest);
    highest_ = (std::max)(highest_, visible.highest);
    sum_ += visible.sum;
    all_sum_to_one_ = all_sum_to_one_ && (visible.count < 2 || visible.sums_to_one());
    if (visible.count == 0) {
      ++head_.masked_rows;
    } else if (visible.count == 1) {
      ++head_.single_key_rows;
    } else {
      measure(row.first(static_cast<std::size_t>(visible.count)));
    }
  }

  /// Ends a prompt: where there are several, its means become a batch.
  void end() {
    for (auto& [octave, sums] : sums_) {
      Bucket& bucket = buckets_.at(octave);
      for (const auto& [sum, batches] : {std::pair(&sums.full, &bucket.full), {&sums.quarter, &bucket.quarter}}) {
        for (double& value : *sum) value /= static_cast<double>(sums.rows);
        if (batches == &bucket.full || octave > shortest_quartered) batches->add(*sum);
      }
    }
    for (auto& [octave, bucket] : buckets_) bucket.prompts += bucket.rows > rows_before_[octave];
    for (auto& [octave, bucket] : buckets_) rows_before_[octave] = bucket.rows;
    sums_.clear();
  }

  void finish() {
    for (auto& [octave, bucket] : buckets_) head_.buckets.push_back(std::move(bucket));
    if (head_.buckets.empty()) {
      throw_domain_error(where, place() + ": no row has two visible keys", 0, "at least one such row");
    }
    if (all_sum_to_one_) {
      throw_domain_error(where, place() + ": the numbers are weights after softmax", "every row sums to 1",
                         "scores before softmax");
    }
    std::int64_t rows = head_.single_key_rows;
    for (const Bucket& bucket : head_.buckets) rows += bucket.rows;
    constexpr double most_summed = 1.1;
    head_.looks_like_weights =
        lowest_ >= 0 && highest_ > 0 && (highest_ <= 1 || sum_ <= most_summed * static_cast<double>(rows));
  }

 private:
  using Bucket = typename decltype(Head::buckets)::value_type;
  static constexpr auto where = "calibration::measure_heads";
  static constexpr int shortest_quartered = 3;  // the octave of the longest rows that have no quarter of two keys

  struct Sums {
    RowStatistics full{}, quarter{};
    std::int64_t rows = 0;
  };

  std::string place() const { return "layer " + std::to_string(head_.layer) + ", head " + std::to_string(head_.head); }
  std::string place_in_prompt() const {
    return place() + (prompts_.size() > 1 ? ", prompt " + std::to_string(prompt_) : "");
  }

  void refuse_problems(const VisibleScores& visible, std::int64_t query) const {
    const auto refuse = [&](const char* problem, double value, const std::string& needs) {
      throw_domain_error(where, place_in_prompt() + ", query " + std::to_string(query) + ": " + problem, value, needs);
    };
    if (visible.problem == RowProblem::not_a_number) refuse("a score is not a number", visible.problem_value, "scores");
    if (visible.problem == RowProblem::infinite) {
      refuse("a score is infinite", visible.problem_value, "finite scores, or -inf for a masked key");
    }
    if (visible.problem == RowProblem::between_score_and_mask) {
      refuse("a score is too low for a score and too near to the others for a mask", visible.problem_value,
             instead_of_finite_masks(options_.all_scores_option));
    }
    if (visible.count > 0 && visible.highest > largest_score) {
      refuse("a score is too large", visible.highest, "at most 1e10");
    }
    if (visible.count == 0 && options_.masked_rows == decltype(options_.masked_rows){}) {
      refuse("every key is masked, by -inf or by the rule of finite masks", 0,
             "a visible key, or " + std::string(options_.leave_out_option) + "; " +
                 instead_of_finite_masks(options_.all_scores_option));
    }
  }

  void measure(std::span<double> row) {
    for (double& score : row) score *= options_.inverse_temperature;
    const auto length = static_cast<std::int64_t>(row.size());
    const int octave = octave_of(length);
    Bucket& bucket = buckets_.try_emplace(octave, Bucket{length, length, 0, 0, {}, {}}).first->second;
    bucket.shortest = (std::min)(bucket.shortest, length);
    bucket.longest = (std::max)(bucket.longest, length);
    ++bucket.rows;
    const RowStatistics full = row_statistics(row, weights_, options_.needle_gap);
    RowStatistics quarter{};
    if (octave > shortest_quartered) quarter = row_statistics(row.first(row.size() / 4), weights_, options_.needle_gap);
    if (prompts_.size() == 1) {
      bucket.full.add(full);
      if (octave > shortest_quartered) bucket.quarter.add(quarter);
      return;
    }
    Sums& sums = sums_[octave];
    ++sums.rows;
    for (std::size_t i = 0; i < row_statistic_count; ++i) {
      sums.full.data()[i] += full.data()[i];
      sums.quarter.data()[i] += quarter.data()[i];
    }
  }

  std::span<const ScoreArray> prompts_;
  std::size_t prompt_ = 0;
  const Options& options_;
  Head& head_;
  std::vector<double> weights_ = {};
  std::map<int, Bucket> buckets_ = {};
  std::map<int, Sums> sums_ = {};                 // of the prompt that is being read
  std::map<int, std::int64_t> rows_before_ = {};  // of a bucket, in the prompts before it
  bool all_sum_to_one_ = true;
  double lowest_ = std::numeric_limits<double>::infinity();
  double highest_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0;
};

/// Gives the scores of the keys that each query sees to add(head, query, scores) in the order of the queries. The head
/// is its place in the group, and the query its place in the prompt.
template <class Add>
void read_group(const ScoreArray& scores, const HeadGroup& group, bool causal, const Add& add) {
  const std::int64_t keys = scores.keys(), queries = scores.queries();
  const std::int64_t at_a_time = (std::min)(group.queries_at_a_time, queries);
  const auto visibility = causal ? scoring::Visibility::causal : scoring::Visibility::all;
  std::vector<double> values(group.heads.size() * static_cast<std::size_t>(at_a_time * keys));
  std::vector<const std::byte*> starts;
  for (std::int64_t first = 0; first < queries; first += at_a_time) {
    const std::int64_t some = (std::min)(at_a_time, queries - first);
    starts.clear();
    for (const std::int64_t head : group.heads) {
      for (std::int64_t q = first; q < first + some; ++q) {
        starts.push_back(static_cast<const std::byte*>(scores.data) + offset_of(scores, head) + q * scores.strides[2]);
      }
    }
    const auto read = scores.other_byte_order ? read_rows<true> : read_rows<false>;
    read(starts.data(), static_cast<std::int64_t>(starts.size()), keys, scores.strides[3], scores.type, values.data());
    double* row = values.data();
    for (std::size_t head = 0; head < group.heads.size(); ++head) {
      for (std::int64_t query = first; query < first + some; ++query, row += keys) {
        add(head, query,
            std::span(row, static_cast<std::size_t>(scoring::visible_keys(visibility, query, queries, keys))));
      }
    }
  }
}

template <class Head, class Options>
void measure_group(std::span<const ScoreArray> prompts, const HeadGroup& group, const Options& options, Head* heads) {
  std::vector<MeasuredRows<Head, Options>> rows;
  rows.reserve(group.heads.size());
  for (const std::int64_t head : group.heads) rows.emplace_back(prompts, options, head, heads[head]);
  for (std::size_t prompt = 0; prompt < prompts.size(); ++prompt) {
    for (auto& one : rows) one.begin(prompt);
    read_group(prompts[prompt], group, options.causal,
               [&](std::size_t head, std::int64_t query, std::span<double> row) { rows[head].add(query, row); });
    for (auto& one : rows) one.end();
  }
  for (auto& one : rows) one.finish();
}

}  // namespace detail

}  // namespace incontext::calibration
