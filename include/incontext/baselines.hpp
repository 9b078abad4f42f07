#pragma once

/// The reference curves of in-context regression, exact at finite size.

#include "incontext/baselines/corrected_bayes_risk.hpp"
#include "incontext/baselines/correlated_context.hpp"
#include "incontext/baselines/descent_layers.hpp"
#include "incontext/baselines/diagonal_sgd.hpp"
#include "incontext/baselines/flow_course.hpp"
#include "incontext/baselines/mixer.hpp"
#include "incontext/baselines/mixer_momentum.hpp"
#include "incontext/baselines/neighbor_averages.hpp"
#include "incontext/baselines/pool_averages.hpp"
#include "incontext/baselines/pool_posterior.hpp"
#include "incontext/baselines/reference_curves.hpp"
#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/baselines/sequence_mixers.hpp"
#include "incontext/baselines/sgd_tasks.hpp"
#include "incontext/baselines/task_pool.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
