#pragma once

/// Gradients of an attention layer with respect to its keys and values, on drawn tokens.

#include "incontext/simulate/gradients/gradient_norms.hpp"
