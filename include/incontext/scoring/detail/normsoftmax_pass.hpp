#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/packed_derivatives.hpp"
#include "incontext/scoring/detail/softmax_pass.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// What NormSoftmax divides by: the standard deviation with divisor n or n - 1, or the variance with divisor n.
///
/// Runs on   host and device
enum class ScoreScale { population_stddev, sample_stddev, population_variance };

namespace detail {

/// The direction less the part of it that changes the divisor.
template <class T>
struct RescaledRate {
  T reference;
  T rate;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>& direction) const {
    return direction - (z - reference) * rate;
  }
};

/// A score less the reference.
template <class T>
struct FromReference {
  T reference;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>&) const { return z - reference; }
};

/// A change of a score less what the change of the divisor takes back.
template <class T>
struct LessDivisorChange {
  Center<T> center;
  T rate;
  INCONTEXT_HD Pack<T> operator()(const Pack<T>& z, const Pack<T>& change) const {
    return change - ((z - center.value) - center.offset) * rate;
  }
};

/// What NormSoftmax keeps of its scores: their center, their scale and the divisor min(scale, tau).
template <Real T>
struct NormSoftmaxPass {
  Center<T> center;
  T temperature = T(1);
  T scale = T(0);
  T divisor = T(0);
  T slope = T(0);  // nabla D = slope (z - mean)
  std::ptrdiff_t count = 0;

  INCONTEXT_HD bool valid() const { return count > 0; }
  INCONTEXT_HD bool constant() const { return !(T(0) < scale); }
  INCONTEXT_HD bool capped() const { return temperature <= scale; }

  /// Softmax over a row with the common divisor. A constant row has equal weights, whatever the divisor.
  INCONTEXT_HD auto softmax(Row<const T> scores) const {
    return softmax_pass<T>(Quotient<T>{constant() ? math::infinity<T>() : divisor}, scores);
  }

  INCONTEXT_HD void weights(Row<const T> scores, Row<T> out) const {
    const Quotient<T> phi{constant() ? math::infinity<T>() : divisor};
    write_softmax<T>([&](std::ptrdiff_t) { return phi; }, scores, out);
  }

  INCONTEXT_HD void log_weights(Row<const T> scores, Row<T> out) const {
    const auto pass = softmax(scores);
    if (!pass.valid) return fill(out, math::not_a_number<T>());
    const T log_total = math::log_one_plus(pass.others);
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
      out[i] = is_visible(scores[i]) ? T(pass.relative(scores[i]) - log_total) : T(-math::infinity<T>());
    }
  }

  /// nabla D . u; the mean of u drops out.
  INCONTEXT_HD T divisor_rate(MatrixView<const T> scores, MatrixView<const T> direction) const {
    const Center<T> mean = center_of(scores, direction);
    Sum<T> sum;
    for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
      for (std::ptrdiff_t i = 0; i < scores.columns; ++i) {
        if (is_visible(scores(r, i))) sum.add(center.deviation(scores(r, i)) * mean.deviation(direction(r, i)));
      }
    }
    return slope * sum.value();
  }

  INCONTEXT_HD void jvp(Row<const T> scores, Row<const T> direction, const T& rate, Row<T> out) const {
    if constexpr (PackedSlopes<Quotient<T>, T>) {
      const Quotient<T> phi{divisor};
      if (write_packed_centered<T>([&](std::ptrdiff_t) { return phi; },
                                   [&](const auto&, const T& reference) {
                                     return RescaledRate<T>{reference, rate};
                                   },
                                   [](const auto& quotient) { return quotient.slopes(); }, scores, direction, out)) {
        return;
      }
    }
    const auto pass = softmax(scores);
    if (!pass.valid) return fill(out, math::not_a_number<T>());
    const T by = divisor;
    write_centered(pass, scores, out,
                   [=](std::ptrdiff_t i) -> T { return (direction[i] - (scores[i] - pass.reference) * rate) / by; });
  }

  /// (z - mean) . y / D^2 over all rows.
  INCONTEXT_HD T project(MatrixView<const T> scores, MatrixView<const T> cotangent) const {
    Sum<T> sum;
    for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
      const Row<const T> row = scores.row(r);
      const Row<const T> g = cotangent.row(r);
      if constexpr (PackedSlopes<Quotient<T>, T>) {
        T product = T(0);
        if (project_packed(row, g, product)) {
          sum.add(product / divisor);
          continue;
        }
      }
      const auto pass = softmax(row);
      if (!pass.valid) continue;
      const auto change = pass.center(row, [=](std::ptrdiff_t i) -> T { return g[i]; });
      for (std::ptrdiff_t i = 0; i < row.size; ++i) {
        if (is_visible(row[i])) sum.add((row[i] - pass.reference) / divisor * (pass.weight(row[i]) * change(i)));
      }
    }
    return sum.value() / divisor;
  }

  /// product = (z - mean) . y of one row.
  INCONTEXT_HD bool project_packed(Row<const T> row, Row<const T> cotangent, T& product) const {
    const Quotient<T> phi{divisor};
    const auto sum = [&](const auto&, const auto& exponent, const T& reference, bool careful) {
      using Exponent = std::remove_cvref_t<decltype(exponent)>;
      const DirectionRate<T> rate;
      const ConstantFactor<T> one{T(1)};
      const CenteredRow<false, T, Exponent, DirectionRate<T>, ConstantFactor<T>> rows{exponent, rate,      one, careful,
                                                                                      row,      cotangent, {}};
      product = rows.project(rows.begin(first_place_of<T>(reference, row)), FromReference<T>{reference});
    };
    return with_exponent<T, true>([&](std::ptrdiff_t) { return phi; }, row, sum);
  }

  INCONTEXT_HD void vjp(Row<const T> scores, Row<const T> cotangent, const T& common, Row<T> out) const {
    if constexpr (PackedSlopes<Quotient<T>, T>) {
      const Quotient<T> phi{divisor};
      if (write_packed_centered<T>([&](std::ptrdiff_t) { return phi; },
                                   [](const auto&, const T&) { return DirectionRate<T>{}; },
                                   [](const auto& quotient) { return quotient.slopes(); }, scores, cotangent, out,
                                   LessDivisorChange<T>{center, T(slope * common)})) {
        return;
      }
    }
    const auto pass = softmax(scores);
    if (!pass.valid) return fill(out, math::not_a_number<T>());
    const auto change = pass.center(scores, [=](std::ptrdiff_t i) -> T { return cotangent[i]; });
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
      const T z = scores[i];
      const T y = pass.weight(z) * change(i);
      out[i] = is_visible(z) ? T(y / divisor - slope * center.deviation(z) * common) : T(0);
    }
  }

  INCONTEXT_HD void temperature_derivative(Row<const T> scores, Row<T> out) const {
    if (!capped()) return fill(out, count_visible(scores) == 0 ? math::not_a_number<T>() : T(0));
    const Quotient<T> phi{divisor};
    write_softmax_derivative<T>([&](std::ptrdiff_t) { return phi; }, parameter::Temperature{}, scores, out);
  }
};

template <Real T>
INCONTEXT_HD NormSoftmaxPass<T> normsoftmax_pass(const T& temperature, ScoreScale scale, MatrixView<const T> scores) {
  using std::sqrt;
  NormSoftmaxPass<T> pass;
  pass.center = center_of(scores);
  pass.temperature = temperature;
  if (!pass.center.valid() || !(T(0) < temperature)) return pass;
  pass.count = pass.center.count;

  // Relative to the largest deviation, so that a row of tiny or huge scores neither under- nor overflows.
  T largest = T(0);
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
    for (std::ptrdiff_t i = 0; i < scores.columns; ++i) {
      if (!is_visible(scores(r, i))) continue;
      const T size = math::magnitude(pass.center.deviation(scores(r, i)));
      if (largest < size) largest = size;
    }
  }
  if (pass.count > 1 && T(0) < largest) {
    Sum<T> sum;
    for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
      for (std::ptrdiff_t i = 0; i < scores.columns; ++i) {
        if (!is_visible(scores(r, i))) continue;
        const T ratio = pass.center.deviation(scores(r, i)) / largest;
        sum.add(ratio * ratio);
      }
    }
    const T freedom = math::from_count<T>(scale == ScoreScale::sample_stddev ? pass.count - 1 : pass.count);
    const T variance = sum.value() / freedom;
    if (scale == ScoreScale::population_variance) {
      pass.scale = largest * variance * largest;
      pass.slope = T(2) / freedom;
    } else {
      pass.scale = largest * sqrt(variance);
      pass.slope = T(1) / freedom / pass.scale;
    }
  }
  pass.divisor = pass.capped() ? temperature : pass.scale;
  if (pass.capped()) pass.slope = T(0);
  return pass;
}

}  // namespace detail

}  // namespace incontext::scoring
