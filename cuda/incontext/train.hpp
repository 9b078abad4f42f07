#pragma once

/// Training of attention layers: on contexts that are drawn as they are needed, and on the reasoning task.

#include "incontext/train/context_attention.hpp"
#include "incontext/train/context_batches.hpp"
#include "incontext/train/reasoning.hpp"
#include "incontext/train/regression.hpp"
