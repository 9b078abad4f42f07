#pragma once

/// Linear regression in context: errors of attention and the risks of posterior mean and centered ridge, on drawn
/// contexts and on rows of data.

#include "incontext/simulate/regression/multihead_error.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/simulate/regression/regression_error_on_rows.hpp"
#include "incontext/simulate/regression/ridge_risk.hpp"
