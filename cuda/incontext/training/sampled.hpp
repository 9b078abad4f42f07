#pragma once

/// Training of attention on samples: on contexts and sequences that are drawn as they are needed, and on batches of the
/// reasoning task. The gradients, optimizers and tasks themselves are in incontext/training.hpp, without Thrust.

#include "incontext/training/context_batches.hpp"
#include "incontext/training/context_training.hpp"
#include "incontext/training/needle_training.hpp"
#include "incontext/training/reasoning_training.hpp"
#include "incontext/training/regression_training.hpp"
#include "incontext/training/sequence_training.hpp"
#include "incontext/training/sphere_sequences.hpp"
#include "incontext/training/task_sequences.hpp"
