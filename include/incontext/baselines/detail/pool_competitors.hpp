#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <vector>

#include "incontext/core/floating_point.hpp"

/// The law of one wrong task of a pool on a given context, as an integral along a line of the complex plane.
namespace incontext::baselines::detail {

/// log Gamma(z) for Re z > 0, up to multiples of 2 pi i: Stirling's series eight steps further right.
inline std::complex<double> log_gamma(std::complex<double> z) {
  constexpr std::array<double, 8> stirling = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                              1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  std::complex<double> steps = 0;
  for (int i = 0; i < 8; ++i) {
    steps += std::log(z);
    z += 1.0;
  }
  const std::complex<double> inverse = 1.0 / z, square = inverse * inverse;
  std::complex<double> series = 0, power = inverse;
  for (const double coefficient : stirling) {
    series += coefficient * power;
    power *= square;
  }
  return (z - 0.5) * std::log(z) - z + std::log(2 * std::numbers::pi) / 2 + series - steps;
}

/// By how much a wrong task fits a context worse than the right one, in nats: D is half of
/// constant + sum_i (sqrt(offsets_i) - sqrt(slopes_i) g_i)^2 with independent g_i ~ N(0, 1).
struct EnergyGap {
  double constant;
  std::vector<double> offsets, slopes;

  /// log E e^(z D), Re z <= 0.
  std::complex<double> log_moment(std::complex<double> z) const {
    std::complex<double> sum = z * constant;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::complex<double> shrunk = 1.0 - z * slopes[i];
      sum += z * offsets[i] / shrunk - std::log(shrunk);
    }
    return 0.5 * sum;
  }
};

/// 1 - E exp(-s e^-D) as a function of log s, which falls like s as s tends to 0, with its relative digits.
///
/// It is -1/(2 pi) int dt Gamma(z) s^-z E e^(z D), z = c + i t, for every c between -1 and 0 (Mellin and Barnes). Of a
/// few lines c, each log s takes the one on which the integrand at t = 0, which bounds the result, is least.
class LostShare {
 public:
  explicit LostShare(const EnergyGap& gap) {
    for (std::size_t line = 0; line < lines.size(); ++line) {
      for (std::size_t k = 0; k < nodes; ++k) {
        const std::complex<double> z(lines[line], step * static_cast<double>(k));
        // -Gamma(z) = Gamma(z + 1) / -z is positive on the real line
        logs_[line][k] = log_gamma(z + 1.0) - std::log(-z) + gap.log_moment(z);
      }
    }
  }

  double operator()(double log_s) const {
    std::size_t best = 0;
    const auto bound = [&](std::size_t line) { return logs_[line][0].real() - lines[line] * log_s; };
    for (std::size_t line = 1; line < lines.size(); ++line) {
      if (bound(line) < bound(best)) best = line;
    }
    const double scale = bound(best);
    double sum = 0.5;
    for (std::size_t k = 1; k < nodes; ++k) {
      const std::complex<double> log_term =
          logs_[best][k] - std::complex<double>(lines[best], step * static_cast<double>(k)) * log_s;
      sum += std::exp(log_term.real() - scale) * std::cos(log_term.imag());
    }
    return std::exp(scale) * step / std::numbers::pi * sum;
  }

 private:
  static constexpr std::array<double, 4> lines = {-0.8, -0.6, -0.4, -0.2};
  /// The trapezoidal rule's error is exp(-2 pi 0.2 / step), from the poles at -1 and 0; |Gamma| falls like
  /// exp(-pi t / 2).
  static constexpr double step = 1.0 / 32;
  static constexpr std::size_t nodes = 26 * 32;

  std::array<std::array<std::complex<double>, nodes>, lines.size()> logs_;
};

}  // namespace incontext::baselines::detail
