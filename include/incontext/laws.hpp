#pragma once

/// Laws of a row of scores: how much weight softmax and its relatives give to one large score, the moments of the
/// weights, and the gradients of an attention layer.

#include "incontext/laws/critical_length.hpp"
#include "incontext/laws/fading.hpp"
#include "incontext/laws/fading_by_map.hpp"
#include "incontext/laws/fading_grid.hpp"
#include "incontext/laws/fading_thresholds.hpp"
#include "incontext/laws/frozen_imbalance.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_needle_approximations.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/gradient_flow.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/laws/needle_cross_entropy.hpp"
#include "incontext/laws/normsoftmax_gradient_flow.hpp"
#include "incontext/laws/poisson_dirichlet.hpp"
#include "incontext/laws/retrieval.hpp"
#include "incontext/laws/retrieval_threshold.hpp"
#include "incontext/laws/row_moments.hpp"
#include "incontext/laws/ssa_row.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/laws/two_group_row.hpp"
#include "incontext/laws/two_level_jacobian.hpp"
#include "incontext/laws/uniform_needle.hpp"
