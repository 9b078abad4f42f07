#pragma once

/// All simulators: one header per model, and what trials of one's own and several devices need from the engine. A
/// program compiles faster if it includes only the header of its model, or the header in its folder that it needs.
/// The types of parameters and results are in headers named *_types.hpp and in engine/records/, without Thrust, for the
/// files of a program that do not simulate. Programs whose processes share simulations by MPI include
/// simulate/engine/distributed.hpp, too.

#include "incontext/simulate/baselines.hpp"
#include "incontext/simulate/classification.hpp"
#include "incontext/simulate/engine/devices.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/simulate/gradients.hpp"
#include "incontext/simulate/regression.hpp"
#include "incontext/simulate/rows.hpp"
