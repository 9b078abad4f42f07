#pragma once

/// What every room stands on: the mark of device functions, the concept of a scalar, contracts, counts, packs of
/// numbers and elementary functions.

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/elementary.hpp"
#include "incontext/core/floating_point.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/real.hpp"
