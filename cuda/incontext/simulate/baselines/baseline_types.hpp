#pragma once

#include <cstdint>
#include <vector>

#include "incontext/baselines/task_variances.hpp"

namespace incontext::simulate {

/// Contexts of linear regression, inputs N(0, I), and what estimates the task from them.
///
/// Units     learning rates: 1 over squared input units; penalties: squared input units times examples; variances as
///           baselines::TaskVariances.
struct BaselineSetting {
  std::int64_t dimension;
  std::int64_t examples;
  baselines::TaskVariances<double> task;
  std::vector<std::vector<double>> descents = {};  ///< the learning rates of each descent, layer by layer
  std::vector<double> penalties = {};              ///< of ridge regressions; 0 is least squares
};

}  // namespace incontext::simulate
