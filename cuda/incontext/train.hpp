#pragma once

/// Training of attention: on contexts and sequences that are drawn as they are needed, and on the reasoning task.

#include "incontext/train/context_attention.hpp"
#include "incontext/train/context_batches.hpp"
#include "incontext/train/needle.hpp"
#include "incontext/train/reasoning.hpp"
#include "incontext/train/regression.hpp"
#include "incontext/train/sequence.hpp"
#include "incontext/train/sphere_sequences.hpp"
#include "incontext/train/task_sequences.hpp"
