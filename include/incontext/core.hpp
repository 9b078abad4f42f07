#pragma once

/// What every room stands on: the mark of device functions, the concept of a scalar, contracts, counts, packs and lanes
/// of numbers and elementary functions.

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/elementary.hpp"
#include "incontext/core/floating_point.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/real.hpp"
