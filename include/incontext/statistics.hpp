#pragma once

/// Estimates with their standard errors, and the comparison of a theory with a simulation.

#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/comparison.hpp"
#include "incontext/statistics/confidence_interval.hpp"
#include "incontext/statistics/controls.hpp"
#include "incontext/statistics/effect.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/family_verdict.hpp"
#include "incontext/statistics/holm.hpp"
#include "incontext/statistics/kolmogorov_smirnov.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"
#include "incontext/statistics/relations.hpp"
