#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/rounding.hpp"

/// Bounds on the rounding of a simulated error of regression. Labels, values and scores may be far larger than the
/// error that remains after a prediction is subtracted from a label, and their rounding errors remain with it.
namespace incontext::simulate::detail {

/// Root mean squares of the terms that a trial adds before it subtracts: a query's label; a token's value, and its
/// deviation from the mean of a context; a score's deviation from its mean over the inputs, and the score itself.
struct RegressionScales {
  double label = 0;
  double value = 0;
  double value_deviation = 0;
  double score = 0;
  double raw_score = 0;
};

/// The number of tokens that contribute to a prediction, over which the rounding of their products averages out.
enum class RoundingOver { context, few_tokens };

/// \f$ \mathrm{tr}(A B) \f$, not below 0.
inline double trace_of_product(const regression::Matrix<double>& a, const regression::Matrix<double>& b) {
  double sum = 0;
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    double entry = 0;
    for (Eigen::Index k = 0; k < a.cols(); ++k) entry += a(i, k) * b(k, i);
    sum += entry;
  }
  return sum > 0 ? sum : 0;
}

/// The scales for inputs of this second moment and covariance, and labels of this mean square and context variance.
inline RegressionScales regression_scales(const regression::Attention<double>& attention,
                                          const regression::Matrix<double>& moment,
                                          const regression::Matrix<double>& covariance, double label_square,
                                          double label_variance) {
  const regression::Matrix<double> input_value = attention.input_value;
  const regression::Matrix<double> values = plain_product(input_value, input_value.transpose());
  const regression::Matrix<double> keyed =
      plain_product(attention.key_query, plain_product(moment, attention.key_query.transpose()));
  const double gain = std::abs(attention.label_value);
  return {std::sqrt(label_square), gain * std::sqrt(label_square) + std::sqrt(trace_of_product(values, moment)),
          gain * std::sqrt(label_variance) + std::sqrt(trace_of_product(values, covariance)),
          std::sqrt(trace_of_product(covariance, keyed)), std::sqrt(trace_of_product(moment, keyed))};
}

/// The factor by which a map may enlarge scores and their rounding errors: the largest of |phi'(z)| and of |phi(z)|
/// over the larger of |z| and s, at scores z up to four times their root mean square s = score.
template <class Phi>
double largest_factor(const Phi& phi, double score) {
  constexpr int points = 32;
  double largest = 0;
  for (int i = -points; i <= points; ++i) {
    const double at = 4 * score * i / points;
    const auto z = static_cast<decltype(phi.slope(0))>(at);
    const double size = score > 0 ? std::abs(static_cast<double>(phi.value(z))) / std::fmax(std::abs(at), score) : 0;
    const double slope = std::abs(static_cast<double>(phi.slope(z)));
    if (size > largest) largest = size;
    if (slope > largest) largest = slope;
  }
  return largest;
}

/// Replaces the rounding of mean squared errors. In units of eps sqrt(d), the rounding error of a prediction minus its
/// label is the sum of both sizes and of the scores' rounding times the values' deviation. Where weights are affine in
/// the scores, it has the products of scores and values, averaged over the context. A map multiplies scores by a
/// factor.
template <class T>
void set_regression_rounding(Simulation& simulation, const RegressionScales& scales, std::int64_t dimension,
                             std::int64_t context_length, RoundingOver over, const std::vector<double>& factors) {
  const double unit = (2 + std::sqrt(static_cast<double>(dimension)) / 2) * eps_of<T>;
  const double product = over == RoundingOver::context
                             ? (scales.value * scales.score + scales.value_deviation * scales.raw_score) /
                                   std::sqrt(static_cast<double>(context_length))
                             : scales.value_deviation * scales.raw_score;
  for (std::size_t i = 0; i < simulation.estimates.size(); ++i) {
    statistics::Estimate& estimate = simulation.estimates[i];
    if (estimate.count == 0) continue;
    const double by_scores = factors[i] * product;
    const double amplitude = unit * (scales.label + std::sqrt(estimate.mean) + scales.value + by_scores);
    estimate.rounding =
        rounding_of_square(estimate.mean, amplitude) + static_cast<double>((std::numeric_limits<T>::min)());
  }
}

}  // namespace incontext::simulate::detail
