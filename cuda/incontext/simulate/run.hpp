#pragma once

/// Runs a trial of your own, with any number of outputs: run() estimates their means, sample() keeps every trial.
/// docs/extending.md has a complete example.

#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
