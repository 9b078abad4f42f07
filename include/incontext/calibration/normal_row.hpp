#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "incontext/calibration/centered_needle.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/row_statistics.hpp"
#include "incontext/core/floating_point.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/statistics/agreement.hpp"

namespace incontext::calibration {

/// The quantities of a row's weights that are predicted from its length and its scores' standard deviation, for the
/// rows of one octave.
///
/// Units     score_stddev that of the scores times the inverse temperature; entropy in nats, the rest dimensionless.
struct NormalRowComparison {
  double score_stddev;
  statistics::Agreement entropy;
  statistics::Agreement ipr;
  statistics::Agreement largest_weight;
  std::optional<statistics::Agreement> needle_weight = {};  ///< absent where no gap is given
};

namespace detail {

/// At most four whole lengths of an octave, evenly placed in the logarithm.
inline std::vector<std::int64_t> length_nodes(std::int64_t shortest, std::int64_t longest) {
  std::vector<std::int64_t> nodes;
  const double ratio = std::log(static_cast<double>(longest) / static_cast<double>(shortest));
  for (const double place : {0.0, 1.0 / 3, 2.0 / 3, 1.0}) {
    const auto length =
        static_cast<std::int64_t>(std::llround(static_cast<double>(shortest) * std::exp(ratio * place)));
    if (nodes.empty() || nodes.back() < length) nodes.push_back(length);
  }
  return nodes;
}

/// A polynomial of at most third degree in u = log n - log 2^octave, through values at the nodes by Newton's divided
/// differences. Its mean over rows needs the mean powers of u alone, which RowStatistics has.
class LengthPolynomial {
 public:
  LengthPolynomial(const std::vector<std::int64_t>& nodes, std::vector<double> values) {
    const int octave = octave_of(nodes.back());
    std::vector<double> u;
    u.reserve(nodes.size());
    for (const std::int64_t n : nodes) u.push_back(std::log(std::ldexp(static_cast<double>(n), -octave)));
    for (std::size_t order = 1; order < u.size(); ++order) {
      for (std::size_t i = u.size() - 1; i >= order; --i) {
        values[i] = (values[i] - values[i - 1]) / (u[i] - u[i - order]);
      }
    }
    // Horner's scheme from Newton's form to powers of u
    for (std::size_t i = u.size(); i-- > 0;) {
      for (std::size_t k = 3; k > 0; --k) powers_[k] = powers_[k - 1] - u[i] * powers_[k];
      powers_[0] = values[i] - u[i] * powers_[0];
    }
    const double width = u.back() - u.front();
    if (u.size() == 4) cubic_part_ = std::abs(values[3]) * width * width * width / 16;
  }

  double mean(const RowStatistics& rows) const {
    return powers_[0] + powers_[1] * rows[RowStatistic::log_length] +
           powers_[2] * rows[RowStatistic::log_length_squared] + powers_[3] * rows[RowStatistic::log_length_cubed];
  }

  /// The most that the third order contributes. The fourth order, which is left out, would contribute less.
  double error() const { return cubic_part_; }

 private:
  std::array<double, 4> powers_{};
  double cubic_part_ = 0;
};

}  // namespace detail

/// The law of rows of independent normal scores over the lengths of a bucket, and how it changes with the variance.
///
/// \f[ \frac{\partial}{\partial x^2}\,E H = -\frac{E V}{2},\qquad
///     \frac{\partial}{\partial x^2}\,Y_2 = \frac{1}{2 x^2} \Bigl(\frac{E M}{x} - E V\Bigr) \f]
///
/// The derivatives follow from those of log Z, E M = x (1 - Y_2). Those of the largest weight and of a needle's weight
/// are central differences. The needle's gap is fixed, and measured from the row's own mean.
///
/// Source    derived: docs/theory/calibration.md#prediction-with-error.
/// Units     as NormalRowComparison; slopes per unit of the squared standard deviation.
/// Domain    2 <= shortest <= longest <= 2 shortest, score_stddev >= 0.
/// Limits    score_stddev = 0: entropy log n, ipr and largest weight 1/n, slopes 0.
/// Errors    std::domain_error, numerics::QuadratureError as the laws.
/// Accuracy  slopes agree with differences of the laws to 1e-5: tests/calibration/normal_row.cpp.
class NormalRows {
 public:
  NormalRows(std::int64_t shortest, std::int64_t longest, double score_stddev, std::optional<double> gap = {});

  /// Predicts `which` (entropy, ipr, largest_weight, or with a gap needle_weight) for rows of which the mean powers of
  /// the log length are given.
  statistics::Theory predict(RowStatistic which, const RowStatistics& rows) const {
    const Law& law = law_of(which);
    return {law.value.mean(rows), law.value.error() + law.error};
  }
  /// The derivative of that by the squared standard deviation of the scores.
  double slope(RowStatistic which, const RowStatistics& rows) const { return law_of(which).slope.mean(rows); }

 private:
  struct Law {
    detail::LengthPolynomial value, slope;
    double error;
  };
  const Law& law_of(RowStatistic which) const {
    return laws_[which == RowStatistic::entropy          ? 0
                 : which == RowStatistic::ipr            ? 1
                 : which == RowStatistic::largest_weight ? 2
                                                         : 3];
  }
  std::vector<Law> laws_;
};

/// Compares measured rows with the law of normal rows that have the same mean variance.
///
/// \f[ \hat x^2 = \frac1B \sum_b v_b,\qquad r_b = y_b - P(u_b; \hat x^2) - P'(\hat x^2)\,(v_b - \hat x^2),\qquad
///     z = \frac{\bar r}{\mathrm{sd}(r_b) / \sqrt B} \f]
///
/// y_b and v_b are a batch's mean entropy (IPR, largest weight) and mean variance, and P is the prediction for its
/// lengths. The second term takes into account that the variance is estimated from the same rows. The theory has no
/// parameter that is fitted to what it predicts.
///
/// Source    derived: docs/theory/calibration.md#prediction-with-error.
/// Units     as NormalRowComparison; gap that of the measurement, times the inverse temperature.
/// Domain    a bucket with at least two batches.
/// Limits    scores that do not vary: theory and measurement log n and 1/n, not judged, as there is no error.
/// Errors    as NormalRows.
/// Accuracy  |z| of normal rows has Student's law, and heavy tails are rejected: tests/calibration/normal_row.cpp.
inline NormalRowComparison compare_with_normal_rows(const LengthBucket& bucket, std::optional<double> gap = {}) {
  const double variance = bucket.full.estimate(RowStatistic::variance).mean;
  const NormalRows law(bucket.shortest, bucket.longest, std::sqrt(variance), gap);
  const auto compare = [&](RowStatistic which) {
    const auto residual = [&](const RowStatistics& batch) {
      return batch[which] - law.predict(which, batch).value -
             law.slope(which, batch) * (batch[RowStatistic::variance] - variance);
    };
    const statistics::Estimate off = bucket.full.estimate(residual);
    statistics::Estimate measured = bucket.full.estimate(which);
    const double theory = measured.mean - off.mean;
    measured.standard_error = off.standard_error;
    measured.rounding = 1e-12 * (1 + std::abs(measured.mean));
    return statistics::agree({theory, law.predict(which, bucket.full.batches().front()).error}, measured);
  };
  NormalRowComparison compared{std::sqrt(variance), compare(RowStatistic::entropy), compare(RowStatistic::ipr),
                               compare(RowStatistic::largest_weight)};
  if (gap) compared.needle_weight = compare(RowStatistic::needle_weight);
  return compared;
}

inline NormalRows::NormalRows(std::int64_t shortest, std::int64_t longest, double score_stddev,
                              std::optional<double> gap) {
  const std::vector<std::int64_t> nodes = detail::length_nodes(shortest, longest);
  const double x = score_stddev;
  std::vector<double> entropy, entropy_slope, ipr, ipr_slope, largest;
  double error = 0, largest_error = 0;
  for (const std::int64_t n : nodes) {
    const auto row = laws::gaussian_row<double>(n, x);
    const auto maximum = laws::largest_weight<double>(n, x);
    entropy.push_back(row.entropy);
    entropy_slope.push_back(-row.score_variance / 2);
    ipr.push_back(row.ipr);
    ipr_slope.push_back(x > 0 ? (row.mean_score / x - row.score_variance) / (2 * x * x) : 0.0);
    largest.push_back(maximum.value);
    error = (std::max)(error, row.error_estimate * row.entropy);
    largest_error = (std::max)(largest_error, maximum.error_estimate);
  }
  const double step = x / 256;
  const std::int64_t middle = nodes[nodes.size() / 2];
  const auto slopes_of = [&](const auto& at) {
    return std::vector<double>(nodes.size(), x > 0 ? (at(x + step) - at(x - step)) / (4 * x * step) : 0.0);
  };
  const auto largest_slopes =
      slopes_of([&](double stddev) { return laws::largest_weight<double>(middle, stddev).value; });
  laws_ = {{{nodes, entropy}, {nodes, entropy_slope}, error},
           {{nodes, ipr}, {nodes, ipr_slope}, error},
           {{nodes, largest}, {nodes, largest_slopes}, largest_error}};
  if (!gap) return;
  std::vector<double> needle;
  double needle_error = 0;
  for (const std::int64_t n : nodes) {
    const auto weight = centered_needle_weight(n, x, *gap);
    needle.push_back(weight.value);
    needle_error = (std::max)(needle_error, weight.error_estimate);
  }
  const auto needle_slopes =
      slopes_of([&](double stddev) { return centered_needle_weight(middle, stddev, *gap).value; });
  laws_.push_back({{nodes, needle}, {nodes, needle_slopes}, needle_error});
}

}  // namespace incontext::calibration
