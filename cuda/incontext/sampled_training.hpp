#pragma once

/// Training of attention on samples: on contexts and sequences that are drawn as they are needed, and on batches of the
/// reasoning task. The gradients, optimizers and tasks themselves are in incontext/training.hpp, without Thrust.

#include "incontext/sampled_training/context_batches.hpp"
#include "incontext/sampled_training/context_training.hpp"
#include "incontext/sampled_training/needle_training.hpp"
#include "incontext/sampled_training/reasoning_training.hpp"
#include "incontext/sampled_training/regression_training.hpp"
#include "incontext/sampled_training/sequence_training.hpp"
#include "incontext/sampled_training/sphere_sequences.hpp"
#include "incontext/sampled_training/task_sequences.hpp"
