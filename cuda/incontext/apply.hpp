#pragma once

/// Whole matrices of scores: weights, derivatives and attention.

#include "incontext/apply/attention.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/apply/derivative.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/apply/rows.hpp"
