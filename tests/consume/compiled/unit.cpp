// Matrices go in and out of the library, and through Eigen's products and decompositions.
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/scoring/softmax.hpp>

double UNIT() {
  namespace regression = incontext::regression;
  regression::Matrix<double> covariance(3, 3);
  covariance << 2, 0.5, 0, 0.5, 1, 0.25, 0, 0.25, 1.5;
  const regression::Vector<double> mean = regression::Vector<double>::Zero(3);
  const regression::LinearTask<double> task({.input_mean = mean,
                                             .input_covariance = covariance,
                                             .task_mean = mean,
                                             .task_covariance = covariance / 4,
                                             .noise_variance = 0.1});
  const auto attention = regression::pretrained_attention(task, 40);
  const double best = regression::generalization_error(attention, task, 40).optimal_temperature();
  return regression::softmax_error(attention, task, 40, incontext::scoring::Softmax<double>{best}).value;
}
