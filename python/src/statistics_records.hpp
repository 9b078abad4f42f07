#pragma once

#include "incontext/core/interval.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/estimate.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::statistics::Verdict, "statistics", "Verdict")
INCONTEXT_RECORD(incontext::Interval<double>, "statistics", "Interval", lower, upper)
INCONTEXT_RECORD(incontext::statistics::Estimate, "statistics", "Estimate", count, mean, standard_error, non_finite,
                 rounding)
INCONTEXT_RECORD(incontext::statistics::Agreement, "statistics", "Agreement", theory, theory_error, estimate, excess, z,
                 reason)
