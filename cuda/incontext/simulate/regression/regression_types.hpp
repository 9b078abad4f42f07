#pragma once

#include "incontext/regression/linear_algebra.hpp"

/// How the error of attention is simulated, and the labels of resampled rows.
namespace incontext::simulate {

/// How a trial estimates the error: by the model itself, with the labels averaged given the inputs, or with the labels
/// averaged given the context's sufficient statistics. All three have the same mean.
///
/// Source    design: literal is the referee; the others are faster and tested against it.
enum class Estimator { literal, conditional, sufficient_statistics };

/// The law of the labels of resampled rows: a linear task with Gaussian noise, or the rows' own labels.
///
/// Shapes    task_mean: d; task_covariance: d x d, positive semidefinite; labels: empty, or one per row (then the other
///           three do not matter).
/// Units     as regression::LinearTask.
struct RowLabels {
  regression::Vector<double> task_mean = {};
  regression::Matrix<double> task_covariance = {};
  double noise_variance = 0;
  regression::Vector<double> labels = {};
};

}  // namespace incontext::simulate
