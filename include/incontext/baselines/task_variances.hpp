#pragma once

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::baselines {

/// The variances of linear regression in context as most of the literature has it: inputs N(0, I), tasks w of
/// independent N(0, psi^2) entries, labels w x + N(0, sigma^2). Nothing is centered, unlike in regression::LinearTask.
///
/// Units     noise_variance: label units squared; task_variance: that over squared input units. Inputs of variance c
///           are inputs of variance 1 with c times the task variance.
template <Real T>
struct TaskVariances {
  T noise_variance;  ///< sigma^2 >= 0
  T task_variance;   ///< psi^2 >= 0
};

/// Refuses variances that are negative or not finite.
///
/// Errors    std::domain_error that names the field.
template <Real T>
void require_task_variances(const char* where, const TaskVariances<T>& task) {
  require_non_negative(where, "noise_variance", task.noise_variance);
  require_non_negative(where, "task_variance", task.task_variance);
}

}  // namespace incontext::baselines
