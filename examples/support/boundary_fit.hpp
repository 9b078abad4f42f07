#pragma once

#include <functional>
#include <vector>

/// Fits one parameter to the errors of a model over shifted tests.
namespace incontext::examples {

/// An error measured, or printed, at a standard deviation sigma of the functions.
struct ShiftedError {
  double stddev, error;
};

/// The least squares fit of log errors: the parameter, its standard error from the residuals, their root mean square,
/// and model / error of each point.
struct ShiftFit {
  double parameter = 0, error = 0, residual = 0;
  std::vector<double> ratios = {};
};

/// Fits model(parameter, sigma) > 0 for a parameter between 0.001 and 100; at an end of these the parameter is NaN. Two
/// points are needed for an error.
ShiftFit fitted_to(const std::vector<ShiftedError>& errors, const std::function<double(double, double)>& model);

/// The clip model in the metric of arXiv 2508.14685, eq. 2, for inputs N(0, 1): the points 3 to 40, divided by 40.
double clipped_metric(double bound, double function_stddev);

/// That of a model which answers a fixed part of the truth: in proportion to sigma^2.
double shrunk_metric(double share, double function_stddev);

/// 38/40, the points of that metric over its divisor.
inline constexpr double affine_metric = 38.0 / 40;

}  // namespace incontext::examples
