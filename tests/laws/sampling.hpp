#pragma once

#include <cmath>
#include <vector>

#include "support/sample_mean.hpp"

/// Sampled rows, and integrals by a fine trapezoidal rule, with which the laws are compared.
namespace incontext::testing {

/// E f(g), g standard normal.
template <class Function>
double normal_mean(const Function& f, double step = 1.0 / 256) {
  double sum = 0;
  for (double g = -12; g <= 12; g += step) sum += std::exp(-g * g / 2) * f(g);
  return sum * step / std::sqrt(2 * 3.14159265358979323846);
}

inline double logistic(double y) { return 1 / (1 + std::exp(-y)); }

/// Softmax weights of x times the scores, and log Z.
struct SampledRow {
  std::vector<double> weights;
  double log_partition;

  SampledRow(const std::vector<double>& g, double x) : weights(g.size()) {
    double top = g[0];
    for (const double score : g) top = score > top ? score : top;
    double sum = 0;
    for (std::size_t i = 0; i < g.size(); ++i) sum += weights[i] = std::exp(x * (g[i] - top));
    for (double& a : weights) a /= sum;
    log_partition = std::log(sum) + x * top;
  }

  double sum_of_powers(double power) const {
    double sum = 0;
    for (const double a : weights) sum += std::pow(a, power);
    return sum;
  }
};

}  // namespace incontext::testing
