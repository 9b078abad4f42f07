#pragma once

#include <algorithm>

#include "incontext/calibration/batch_means.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/holm.hpp"

namespace incontext::calibration {

/// The result of a test of whether the scores of each row are a sample of a normal law.
///
/// Units     dimensionless; NaN where the scores of a row do not vary.
struct NormalityTest {
  statistics::Agreement skewness;         ///< mean over rows, beside 0
  statistics::Agreement excess_kurtosis;  ///< mean over rows, beside 0
  double p_value;                         ///< of the two together
};

/// Tests the mean over rows of the two moments that Jarque and Bera test in one sample.
///
/// \f[ E\,\frac{m_3}{m_2^{3/2}} = 0,\qquad E\,\frac{m_4}{m_2^2} = \frac{3 (n - 1)}{n + 1},\qquad
///     p = \min(1, 2 \min(p_{\mathrm{skewness}}, p_{\mathrm{kurtosis}})) \f]
///
/// Under the hypothesis, a row is n independent normal scores of its own mean and variance, and both means are exact at
/// every n. Rows may be correlated within a batch; the means of batches are taken as independent and normal, so that
/// each deviation over its standard error has Student's law with one degree of freedom less than there are batches.
/// Rows of one prompt share their keys: the test then is about the law given these keys.
///
/// Source    derived: docs/theory/calibration.md#normality; Jarque and Bera 1980; Bonferroni.
/// Domain    at least two batches.
/// Limits    rows of two or three scores: every excess kurtosis is exactly 0, and only the skewness is tested.
/// Errors    a p-value of NaN where no row varies.
/// Accuracy  false alarms and power by simulation: tests/calibration/normality.cpp.
inline NormalityTest test_normality(const BatchMeans& rows) {
  NormalityTest test{statistics::agree(0.0, rows.estimate(RowStatistic::skewness)),
                     statistics::agree(0.0, rows.estimate(RowStatistic::excess_kurtosis)), 0};
  const double skewness = statistics::p_value(test.skewness), kurtosis = statistics::p_value(test.excess_kurtosis);
  test.p_value = (std::min)(1.0, 2 * (std::min)(skewness, kurtosis));
  if (!(0 < rows.estimate(RowStatistic::variance).mean)) test.p_value = std::numeric_limits<double>::quiet_NaN();
  return test;
}

}  // namespace incontext::calibration
