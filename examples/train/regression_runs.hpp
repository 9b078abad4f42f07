#pragma once

#include <incontext/regression/attention.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/training/regression_parameters.hpp>
#include <incontext/training/trainer.hpp>

#include <cstdint>
#include <vector>

/// Runs of training on regression in context, as plain data.
namespace incontext::examples::train {

/// How scores become weights in a layer for regression.
enum class RegressionMap { linear, approximate, softmax };

/// One run of training: Adam with a cosine that ends at 0, or plain gradient descent at a constant rate.
struct RegressionRun {
  regression::LinearTask<double> task;
  std::int64_t context_length = 12;
  RegressionMap map = RegressionMap::softmax;
  training::RegressionParameters parameters = training::RegressionParameters::layer;
  regression::Attention<double> fixed = {};
  int heads = 1;
  std::vector<double> initial = {};  ///< random weights if empty
  bool plain_descent = false;
  std::int64_t batch = 256;
  std::int64_t steps = 1000;
  double rate = 0.02;
  std::uint64_t seed = 1;
  std::int64_t held_out = 0;  ///< contexts on which the end is tested
};

/// The parameters after some steps.
struct TrainedRegression {
  std::int64_t step = 0;
  std::vector<double> parameters = {};
  double loss = 0;  ///< on the held-out contexts, at the end of training
};

}  // namespace incontext::examples::train
