#pragma once

#include "incontext/numerics/minimum.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::numerics::SearchPlace, "laws", "SearchPlace")
