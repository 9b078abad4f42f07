#pragma once

/// What reads a context of linear regression in the reference curves, run on drawn contexts.

#include "incontext/simulate/baselines/baseline_errors.hpp"
