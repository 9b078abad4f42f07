#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/packed_derivatives.hpp"
#include "incontext/scoring/detail/row_moments.hpp"
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
  bool equal = false;
  std::ptrdiff_t count = 0;
  RowExtent<T> extent;  // of the one row of a matrix, once packs have measured it

  INCONTEXT_HD bool valid() const { return count > 0; }
  /// Whether the divisor is tau: where the scale reaches it, and where equal scores have no scale.
  INCONTEXT_HD bool capped() const { return equal || temperature <= scale; }

  /// Softmax over a row with the common divisor.
  INCONTEXT_HD auto softmax(Row<const T> scores) const { return softmax_pass<T>(Quotient<T>{divisor}, scores); }

  INCONTEXT_HD void weights(Row<const T> scores, Row<T> out) const {
    const Quotient<T> phi{divisor};
    if constexpr (PackedPhi<Quotient<T>, T>) {
      if (extent.count > 0 && write_packed_softmax<T>(phi, extent, scores, out)) return;
    }
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
    if (capped()) return T(0);
    if constexpr (Packed<T>) {
      if (shortest_packed_row <= scores.columns) return slope * sum_of_products<T>(scores, center, direction);
    }
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

  /// (z - mean) . y / D^2 over all rows; 0 where the divisor does not change with the scores.
  INCONTEXT_HD T project(MatrixView<const T> scores, MatrixView<const T> cotangent) const {
    if (capped()) return T(0);
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

  /// Reads a row over packs once, then calls visit(readings, mean, function); function(z) is z less the largest score.
  template <bool stored, class Visit>
  INCONTEXT_HD bool with_readings(Row<const T> row, Row<const T> cotangent, Row<T> out, const Visit& visit) const {
    const Quotient<T> phi{divisor};
    const auto begin = [&](const auto&, const auto& exponent, const T& reference, bool careful) {
      using Exponent = std::remove_cvref_t<decltype(exponent)>;
      const DirectionRate<T> rate;
      const ConstantFactor<T> factor = phi.slopes();
      const CenteredRow<stored, T, Exponent, DirectionRate<T>, ConstantFactor<T>> readings{
          exponent, rate, factor, careful, row, cotangent, out};
      RowCenter<T> mean = readings.begin(first_place_of<T>(reference, row));
      visit(readings, mean, FromReference<T>{reference});
    };
    const auto phi_for = [&](std::ptrdiff_t) { return phi; };
    if (extent.count > 0) return with_exponent<T, true>(phi_for, row, extent, begin);
    return with_exponent<T, true>(phi_for, row, begin);
  }

  /// product = (z - mean) . y of one row.
  INCONTEXT_HD bool project_packed(Row<const T> row, Row<const T> cotangent, T& product) const {
    return with_readings<false>(row, cotangent, {}, [&](const auto& readings, auto& mean, const auto& function) {
      product = readings.project(mean, function);
    });
  }

  /// The whole of `vjp` where the matrix is one row, whose product and result then share their readings.
  template <bool stored>
  INCONTEXT_HD bool vjp_packed(Row<const T> row, Row<const T> cotangent, Row<T> out) const {
    return with_readings<stored>(row, cotangent, out, [&](const auto& readings, auto& mean, const auto& function) {
      const T common = readings.project(mean, function) / divisor / divisor;
      readings.end(mean, LessDivisorChange<T>{center, T(slope * common)});
    });
  }

  /// The whole of `vjp` for a matrix of one row; false, and nothing written, without packs or where the divisor is tau.
  INCONTEXT_HD bool vjp_of_one_row(MatrixView<const T> scores, MatrixView<const T> cotangent, MatrixView<T> out) const {
    if constexpr (PackedSlopes<Quotient<T>, T>) {
      if (scores.rows != 1 || capped()) return false;
      const bool apart = out.data != scores.data && out.data != cotangent.data;
      return apart ? vjp_packed<true>(scores.row(0), cotangent.row(0), out.row(0))
                   : vjp_packed<false>(scores.row(0), cotangent.row(0), out.row(0));
    }
    return false;
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

  INCONTEXT_HD T temperature_derivative_along(Row<const T> scores, Row<const T> cotangent, Row<T> scratch) const {
    if (!capped()) return T(0);
    const Quotient<T> phi{divisor};
    return softmax_derivative_along<T>([&](std::ptrdiff_t) { return phi; }, parameter::Temperature{}, scores, cotangent,
                                       scratch);
  }
};

/// A sum of squared deviations, sum unit^2.
template <Real T>
struct ScaledSquares {
  T unit = T(0);
  T sum = T(0);
};

/// The unit is the largest deviation, so that a row of tiny or huge scores neither under- nor overflows.
template <Real T>
INCONTEXT_HD ScaledSquares<T> scaled_squares(const Center<T>& center, MatrixView<const T> scores) {
  T largest = T(0);
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
    for (std::ptrdiff_t i = 0; i < scores.columns; ++i) {
      if (!is_visible(scores(r, i))) continue;
      const T size = math::magnitude(center.deviation(scores(r, i)));
      if (largest < size) largest = size;
    }
  }
  if (!(T(0) < largest)) return {};
  Sum<T> sum;
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) {
    for (std::ptrdiff_t i = 0; i < scores.columns; ++i) {
      if (!is_visible(scores(r, i))) continue;
      const T ratio = center.deviation(scores(r, i)) / largest;
      sum.add(ratio * ratio);
    }
  }
  return {largest, sum.value()};
}

template <Real T>
INCONTEXT_HD NormSoftmaxPass<T> normsoftmax_pass(const T& temperature, ScoreScale scale, MatrixView<const T> scores) {
  using std::sqrt;
  NormSoftmaxPass<T> pass;
  ScaledSquares<T> squares;
  pass.temperature = temperature;
  const auto measure = [&] {
    if constexpr (Packed<T>) {
      Moments<T> moments;
      if (find_moments<T>(scores, moments)) {
        pass.center = moments.center;
        if (scores.rows == 1) pass.extent = moments.extent;
        squares = {T(1), moments.squares};
        return;
      }
    }
    pass.center = center_of(scores);
    if (pass.center.valid()) squares = scaled_squares(pass.center, scores);
  };
  measure();
  if (!pass.center.valid() || !(T(0) < temperature)) return pass;
  pass.count = pass.center.count;
  pass.equal = true;
  if (pass.count > 1 && T(0) < squares.sum) {
    const T freedom = math::from_count<T>(scale == ScoreScale::sample_stddev ? pass.count - 1 : pass.count);
    const T variance = squares.sum / freedom;
    const T stddev = squares.unit * sqrt(variance);
    // equal scores that were rounded deviate by a last digit
    pass.equal = stddev <= math::epsilon<T>() * math::magnitude(pass.center.value);
    if (scale == ScoreScale::population_variance) {
      pass.scale = squares.unit * variance * squares.unit;
      pass.slope = T(2) / freedom;
      // the variance of scores below 1e-150 underflows, and all weight is on the largest
      const T least = math::smallest<T>();
      if (pass.scale < least) pass.scale = least;
    } else {
      pass.scale = stddev;
      pass.slope = T(1) / freedom / stddev;
    }
  }
  pass.divisor = pass.capped() ? temperature : pass.scale;
  if (pass.capped()) pass.slope = T(0);
  return pass;
}

}  // namespace detail

}  // namespace incontext::scoring
