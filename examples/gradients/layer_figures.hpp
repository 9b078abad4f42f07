#pragma once

#include <vector>

#include "examples/gradients/figures.hpp"

/// Figures of a layer at initialization beyond the ratio of W_K to W_V.
namespace incontext::examples::gradients {

/// W_Q beside W_K and W_V.
std::vector<Table> queries_figure(GradientRun& run);

/// Two groups of tokens, one attended to: which feeds the gradient of W_K.
std::vector<Table> groups_figure(GradientRun& run);

/// The Jacobian from even to frozen attention, and the temperature sqrt(d_k).
std::vector<Table> ends_figure(GradientRun& run);

}  // namespace incontext::examples::gradients
