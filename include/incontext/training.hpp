#pragma once

/// Gradients of attention layers, optimizers, and the papers' training tasks.

#include "incontext/training/adam.hpp"
#include "incontext/training/affine_task.hpp"
#include "incontext/training/checkpoint.hpp"
#include "incontext/training/gradient_flow.hpp"
#include "incontext/training/layer_gradients.hpp"
#include "incontext/training/learned_map.hpp"
#include "incontext/training/learning_rate.hpp"
#include "incontext/training/output_bound.hpp"
#include "incontext/training/parameter_layout.hpp"
#include "incontext/training/quantifier_task.hpp"
#include "incontext/training/reasoning_layout.hpp"
#include "incontext/training/reasoning_measurement.hpp"
#include "incontext/training/reasoning_task.hpp"
#include "incontext/training/reasoning_transformer.hpp"
#include "incontext/training/regression_parameters.hpp"
#include "incontext/training/sequence_examples.hpp"
#include "incontext/training/sequence_layout.hpp"
#include "incontext/training/sequence_transformer.hpp"
#include "incontext/training/trainer.hpp"
#include "incontext/training/transformer_parts.hpp"
