#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// A layer's row, the gradients measured at it, and what a run gives.
namespace incontext::simulate {

/// Which map the layer's attention is: softmax(S / tau), or NormSoftmax, softmax(S / min(sigma(S), tau)).
///
/// Runs on   host and device
enum class GradientMap { softmax, normsoftmax };

/// A layer's row: how many tokens of which dimension, and its map.
///
/// Domain    tokens >= 1 (NormSoftmax: 2), dimension >= 1, tokens x dimension <= 4e9.
struct GradientRow {
  std::int64_t tokens = 0;
  std::int64_t dimension = 0;
  GradientMap map = GradientMap::softmax;
};

/// What a trial measures at every x: the squared norm of one query's contribution to the gradient of W_V, over |g|^2;
/// the same for W_K, if W_K and W_V have equal variances; the product of the two; the ratio of the norms; and the
/// squared norm for W_K with the direction h along w and orthogonal to w (GradientNormsTrial).
///
/// Runs on   host and device
enum class GradientNorm { value, key, product, ratio, key_parallel, key_orthogonal };

namespace detail {

inline constexpr int gradient_norms = 6;

}  // namespace detail

/// Estimates of every squared norm at every x = |W_K q| / tau, all on the same draws.
struct GradientNormsSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t point, GradientNorm norm) const {
    return run.estimates.at(point * detail::gradient_norms + static_cast<std::size_t>(norm));
  }

  /// The ratio of the root mean squares of dW_K and dW_V, with its standard error by the delta method.
  ///
  /// \f[ R = \sqrt{K / V},\qquad \frac{\mathrm{se}^2}{R^2} = \frac14 \Bigl(\frac{\mathrm{se}_K^2}{K^2} +
  /// \frac{\mathrm{se}_V^2}{V^2} - \frac{2}{n - 1} \Bigl[\frac{\overline{kv}}{K V} - 1\Bigr]\Bigr) \f]
  [[nodiscard]] statistics::Estimate imbalance(std::size_t point) const {
    const auto &key = at(point, GradientNorm::key), &value = at(point, GradientNorm::value);
    const auto& product = at(point, GradientNorm::product);
    const double k = key.relative_error(), v = value.relative_error();
    const double common = (product.mean / (key.mean * value.mean) - 1) / static_cast<double>(key.count - 1);
    statistics::Estimate ratio = key;
    ratio.mean = std::sqrt(key.mean / value.mean);
    ratio.standard_error = ratio.mean * std::sqrt(std::fmax(0, k * k + v * v - 2 * common)) / 2;
    ratio.rounding = ratio.mean * (key.rounding / key.mean + value.rounding / value.mean) / 2;
    return ratio;
  }
};

}  // namespace incontext::simulate
