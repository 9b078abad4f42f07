#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/score_array.hpp"
#include "incontext/calibration/visible_scores.hpp"
#include "incontext/regression/moment_ratio.hpp"

namespace incontext::calibration {

/// The moment-ratio temperatures of one head on a training sample and on a shifted one, and the quotient: the
/// temperature for the shifted data, if the head is right at temperature 1 for its training data.
///
/// Units     temperatures of the scores, quotient dimensionless.
struct ShiftedTemperature {
  regression::MomentRatioEstimate<double> training;
  regression::MomentRatioEstimate<double> shifted;
  double quotient;
  double quotient_error;
};

/// The moment-ratio temperature of one head, read query by query, so that the head may be larger than memory.
///
/// \f[ r = \frac{\mathrm{mean}_i\, \mathrm{mean}_{j \in V_i}\, z_{ij}^2}{\mathrm{mean}_i\, z_{ii}} \f]
///
/// V_i are the other keys that query i sees.
///
/// Source    regression::moment_ratio_of_queries.
/// Shapes    scores: one head of as many queries as keys
/// Units     of the scores times the inverse temperature.
/// Domain    the mean score of a query on itself is more than two of its standard errors above 0.
/// Errors    std::invalid_argument for a head that is not square; std::domain_error as
///           regression::moment_ratio_from_scores, whose name is in the message.
/// Accuracy  as regression::moment_ratio_from_scores of the matrix: tests/calibration/shifted_temperature.cpp.
inline regression::MomentRatioEstimate<double> moment_ratio_of_head(const ScoreArray& head,
                                                                    const MeasurementOptions& options = {}) {
  constexpr auto where = "calibration::moment_ratio_of_head";
  const std::int64_t keys = head.keys();
  if (head.queries() != keys) {
    throw_invalid_argument(where, "the scores are not square, so that no score of a query on itself is known",
                           std::to_string(head.queries()) + " x " + std::to_string(keys), "as many keys as queries");
  }
  std::vector<double> row(static_cast<std::size_t>(keys)), scores, squares, selves;
  const auto read = head.other_byte_order ? detail::read_rows<true> : detail::read_rows<false>;
  for (std::int64_t q = 0; q < keys; ++q) {
    if (options.poll) options.poll();
    const auto* const start = static_cast<const std::byte*>(head.data) + q * head.strides[2];
    read(&start, 1, keys, head.strides[3], head.type, row.data());
    const std::int64_t seen = options.causal ? q + 1 : keys;
    scores.assign(row.begin(), row.begin() + seen);
    const VisibleScores kept = keep_visible(scores, options.finite_masks);
    const auto refuse = [&](const char* problem, double score) {
      throw_domain_error(where, "query " + std::to_string(q) + ": " + problem, score,
                         instead_of_finite_masks(options.all_scores_option));
    };
    if (kept.problem == RowProblem::between_score_and_mask) {
      refuse("a score is too low for a score and too near to the others for a mask", kept.problem_value);
    }
    const double first = scores.front();
    if (kept.count == 0 && first > -INFINITY && options.masked_rows == MaskedRows::refused) {
      refuse("every score is low enough for a mask", first);
    }
    double sum = 0, self = -INFINITY;
    std::int64_t visible = 0;
    for (std::int64_t k = 0; k < seen; ++k) {
      const double score = options.inverse_temperature * row[static_cast<std::size_t>(k)];
      if (row[static_cast<std::size_t>(k)] < kept.lowest) continue;
      if (!(score < INFINITY)) {
        throw_domain_error(where, "query " + std::to_string(q) + ": a score is not finite", score,
                           "a finite number, or -inf for a masked key");
      }
      if (k == q) {
        self = score;
        continue;
      }
      sum += score * score;
      ++visible;
    }
    if (visible == 0 || !(self > -INFINITY)) continue;
    squares.push_back(sum / static_cast<double>(visible));
    selves.push_back(self);
  }
  return regression::moment_ratio_of_queries<double>(squares, selves);
}

/// The quotient of the moment-ratio temperatures of one head on a training sample and on a shifted one.
///
/// \f[ q = \frac{r_{\mathrm{shifted}}}{r_{\mathrm{training}}},\qquad
///     \mathrm{se}^2 = q^2 \Bigl(\frac{\mathrm{se}_1^2}{r_1^2} + \frac{\mathrm{se}_2^2}{r_2^2}\Bigr) \f]
///
/// Source    arXiv 2511.01292 eq. (20); the error of a quotient of independent samples to first order.
/// Domain    estimates from moment_ratio_of_head.
/// Limits    the same sample twice: quotient 1.
/// Accuracy  4 eps: tests/calibration/shifted_temperature.cpp.
inline ShiftedTemperature shifted_temperature(const regression::MomentRatioEstimate<double>& training,
                                              const regression::MomentRatioEstimate<double>& shifted) {
  const double quotient = shifted.ratio / training.ratio;
  const double relative = std::hypot(training.standard_error / training.ratio, shifted.standard_error / shifted.ratio);
  return {training, shifted, quotient, quotient * relative};
}

}  // namespace incontext::calibration
