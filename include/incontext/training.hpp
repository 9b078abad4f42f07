#pragma once

/// Gradients of attention layers, and the papers' training tasks.

#include "incontext/training/affine_task.hpp"
#include "incontext/training/layer_gradients.hpp"
#include "incontext/training/quantifier_task.hpp"
#include "incontext/training/reasoning_task.hpp"
