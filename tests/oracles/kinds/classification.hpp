#pragma once

#include "tests/oracles/kinds/registry.hpp"

/// The kinds of in-context classification: reads their inputs from JSON and calls the closed form that computes them.
namespace incontext::oracles {

void register_classification(Registry& registry);

}  // namespace incontext::oracles
