#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "incontext/calibration/head_measurement.hpp"

/// Heads whose truth is known: rows of scores by their construction.
namespace incontext::testing {

/// Scores of queries x keys of one head.
struct Head {
  std::int64_t queries, keys;
  std::vector<double> scores;

  calibration::ScoreArray array() const {
    return calibration::dense_scores(scores.data(), calibration::NumberType::float64,
                                     std::vector<std::int64_t>{queries, keys});
  }
  calibration::HeadMeasurement measured(const calibration::MeasurementOptions& options = {}) const {
    return calibration::measure_heads(array(), options).front();
  }
};

/// score(query, key) for every query and key.
template <class Score>
Head head_of(std::int64_t queries, std::int64_t keys, const Score& score) {
  Head head{queries, keys, {}};
  for (std::int64_t q = 0; q < queries; ++q) {
    for (std::int64_t k = 0; k < keys; ++k) head.scores.push_back(score(q, k));
  }
  return head;
}

inline std::vector<calibration::ScoreArray> arrays_of(const std::vector<Head>& prompts) {
  std::vector<calibration::ScoreArray> arrays;
  for (const Head& one : prompts) arrays.push_back(one.array());
  return arrays;
}

inline Head normal_head(std::int64_t queries, std::int64_t keys, double stddev, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0.25, stddev);
  return head_of(queries, keys, [&](std::int64_t, std::int64_t) { return normal(generator); });
}

inline Head student_head(std::int64_t queries, std::int64_t keys, double freedom, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::student_t_distribution<double> student(freedom);
  return head_of(queries, keys, [&](std::int64_t, std::int64_t) { return student(generator); });
}

/// Rows of normal scores of which one is higher by `gap`: always key 0 (a sink), or any (retrieval).
inline Head needle_head(std::int64_t queries, std::int64_t keys, double gap, bool sink, std::uint64_t seed) {
  Head head = normal_head(queries, keys, 1, seed);
  std::mt19937_64 generator(seed + 1);
  for (std::int64_t q = 0; q < queries; ++q) {
    const auto key = sink ? 0 : static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(keys));
    head.scores[static_cast<std::size_t>(q * keys + key)] += gap;
  }
  return head;
}

/// Scores that fall with the distance between query and key.
inline Head local_head(std::int64_t queries, std::int64_t keys, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, 0.5);
  return head_of(queries, keys, [&](std::int64_t q, std::int64_t k) {
    return normal(generator) - 0.03 * static_cast<double>(std::abs(q - k));
  });
}

}  // namespace incontext::testing
