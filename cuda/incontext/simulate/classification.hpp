#pragma once

/// Classification on the sphere: rules and attention on drawn contexts, their losses, differences, grids and searches,
/// and the partition function around a query.

#include "incontext/simulate/classification/adaptive_onset.hpp"
#include "incontext/simulate/classification/classification_contrasts.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classification_search.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/classification/context_attention.hpp"
#include "incontext/simulate/classification/partition_function.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
