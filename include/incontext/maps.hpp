#pragma once

/// The maps of scoring/ by their names, and one type for all of them.

#include "incontext/maps/any_map.hpp"
