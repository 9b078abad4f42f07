#pragma once

#include <vector>

#include "examples/softmax_error/options.hpp"
#include "examples/support/judgement.hpp"

/// The tables of incontext-softmax-error: errors, and optimal parameters.
namespace incontext::examples::softmax_error {

/// The state that the parts of a run share.
struct Run {
  const SoftmaxErrorOptions& options;
  Simulator& simulator;
  Judgement& judgement;
};

std::vector<Table> softmax_error_tables(Run& run);

}  // namespace incontext::examples::softmax_error
