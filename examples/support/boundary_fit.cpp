#include "examples/support/boundary_fit.hpp"

#include <incontext/numerics/minimum.hpp>
#include <incontext/training/affine_task.hpp>

#include <cmath>

namespace incontext::examples {

ShiftFit fitted_to(const std::vector<ShiftedError>& errors, const std::function<double(double, double)>& model) {
  const auto residual = [&](double log_parameter, const ShiftedError& at) {
    return std::log(model(std::exp(log_parameter), at.stddev) / at.error);
  };
  const auto sum = [&](double log_parameter) {
    double squares = 0;
    for (const ShiftedError& at : errors) squares += std::pow(residual(log_parameter, at), 2);
    return squares;
  };
  const auto found = numerics::minimum_between<double>(sum, std::log(1e-3), std::log(100.0), 26);
  const double best = found.inside(), least = found.value;
  ShiftFit fit{.parameter = std::exp(best)};
  if (std::isnan(best))
    return {.parameter = best, .error = best, .residual = best, .ratios = std::vector<double>(errors.size(), best)};
  double slopes = 0;
  for (const ShiftedError& at : errors) {
    slopes += std::pow((residual(best + 1e-4, at) - residual(best - 1e-4, at)) / 2e-4, 2);
    fit.ratios.push_back(std::exp(residual(best, at)));
  }
  const auto points = static_cast<double>(errors.size());
  fit.residual = std::sqrt(least / points);
  fit.error = fit.parameter * std::sqrt(least / (points - 1) / slopes);
  return fit;
}

double clipped_metric(double bound, double function_stddev) {
  return affine_metric * training::clipped_affine_error(training::AffineTask<double>{1, function_stddev}, bound).value;
}

double shrunk_metric(double share, double function_stddev) {
  return affine_metric * 2 * share * function_stddev * function_stddev;
}

}  // namespace incontext::examples
