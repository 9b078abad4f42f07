#pragma once

/// Training of attention layers on contexts that are drawn as they are needed.

#include "incontext/train/context_attention.hpp"
#include "incontext/train/context_batches.hpp"
#include "incontext/train/regression.hpp"
