#pragma once

#include <vector>

#include "examples/softmax_error/options.hpp"
#include "examples/support/judgment.hpp"

/// The tables of incontext softmax-error: errors, and optimal parameters.
namespace incontext::examples::softmax_error {

/// The state that the parts of a run share.
struct Run {
  const SoftmaxErrorOptions& options;
  Simulator& simulator;
  Judgment& judgment;
};

std::vector<Table> softmax_error_tables(Run& run);

}  // namespace incontext::examples::softmax_error
