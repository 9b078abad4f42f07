#pragma once

/// Linear regression in context: the Bayes ridge, exact errors of attention, optimal temperatures.

#include "incontext/regression/any_law_error.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/bayes_ridge.hpp"
#include "incontext/regression/bayes_risk.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/input_rows.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/least_squares_task.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/moment_ratio.hpp"
#include "incontext/regression/moment_ratio_from_scores.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "incontext/regression/regressable.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/regression/softmax_optimum.hpp"
#include "incontext/regression/softmax_second_order.hpp"
