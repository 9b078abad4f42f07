#pragma once

/// The foundations of all other headers: the mark of device functions, the concept of a scalar, checks of arguments,
/// counts, packs and lanes of numbers, elementary functions, compensated sums and intervals.

#include "incontext/core/compiled.hpp"
#include "incontext/core/constants.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/elementary.hpp"
#include "incontext/core/floating_point.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/core/real.hpp"
#include "incontext/core/two_sum.hpp"
