#pragma once

/// All simulators. A program compiles faster if it includes only the header of the simulator that it needs. The types
/// of parameters and results are in types/, without Thrust, for the files of a program that do not simulate. Programs
/// whose processes share simulations by MPI include simulate/distributed.hpp, too.

#include "incontext/simulate/adaptive_onset.hpp"
#include "incontext/simulate/bayes_ridge.hpp"
#include "incontext/simulate/classification.hpp"
#include "incontext/simulate/classification_contrasts.hpp"
#include "incontext/simulate/classification_grid.hpp"
#include "incontext/simulate/classification_partition_function.hpp"
#include "incontext/simulate/classification_search.hpp"
#include "incontext/simulate/context_attention.hpp"
#include "incontext/simulate/devices.hpp"
#include "incontext/simulate/gradient_norms.hpp"
#include "incontext/simulate/reduced_softmax.hpp"
#include "incontext/simulate/regression.hpp"
#include "incontext/simulate/regression_on_rows.hpp"
#include "incontext/simulate/run.hpp"
#include "incontext/simulate/score_rows.hpp"
#include "incontext/simulate/sphere_task.hpp"
#include "incontext/simulate/task_streams.hpp"
