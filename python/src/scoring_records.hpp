#pragma once

#include "incontext/scoring/scoring.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::scoring::Visibility, "scoring", "Visibility")
