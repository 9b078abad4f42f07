#pragma once

#include "examples/evaluate/registry.hpp"

/// The kinds of in-context classification: how their inputs are spelled in JSON and which closed form answers.
namespace incontext::examples::evaluate {

void register_classification(Registry& registry);

}  // namespace incontext::examples::evaluate
