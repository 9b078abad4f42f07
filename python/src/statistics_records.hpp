#pragma once

#include <nanobind/stl/optional.h>

#include "incontext/core/interval.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/comparison.hpp"
#include "incontext/statistics/controls.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/relations.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::statistics::Verdict, "statistics", "Verdict")
INCONTEXT_RECORD(incontext::Interval<double>, "statistics", "Interval", lower, upper)
INCONTEXT_RECORD(incontext::statistics::Estimate, "statistics", "Estimate", count, mean, standard_error, non_finite,
                 rounding)
INCONTEXT_RECORD(incontext::statistics::Agreement, "statistics", "Agreement", theory, theory_error, estimate, excess, z,
                 reason)
INCONTEXT_CHOICE(incontext::statistics::Relation, "statistics", "Relation")
INCONTEXT_CHOICE(incontext::statistics::ControlOutcome, "statistics", "ControlOutcome")
INCONTEXT_RECORD(incontext::statistics::Control, "statistics", "Control", z, outcome)
INCONTEXT_RECORD(incontext::statistics::Comparison, "statistics", "Comparison", agreement, trials, is_tested, verdict)
INCONTEXT_RECORD(incontext::statistics::FamilyVerdict, "statistics", "FamilyVerdict", tested, judged, disagreements,
                 bound, farthest, coarsest, median_resolution)
