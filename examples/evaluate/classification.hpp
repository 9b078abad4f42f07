#pragma once

#include "examples/evaluate/registry.hpp"

/// The kinds of in-context classification: reads their inputs from JSON and calls the closed form that computes them.
namespace incontext::examples::evaluate {

void register_classification(Registry& registry);

}  // namespace incontext::examples::evaluate
