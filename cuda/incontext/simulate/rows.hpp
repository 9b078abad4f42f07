#pragma once

/// Rows of random scores: the weights that softmax gives them, and the papers' tasks as streams of rows.

#include "incontext/simulate/rows/score_rows.hpp"
#include "incontext/simulate/rows/task_streams.hpp"
