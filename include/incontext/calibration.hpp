#pragma once

/// Attention scores of real models: what a head does, whether the laws of normal rows describe it, and which inverse
/// temperature keeps it the same in longer rows.

#include "incontext/calibration/advice.hpp"
#include "incontext/calibration/batch_means.hpp"
#include "incontext/calibration/centered_needle.hpp"
#include "incontext/calibration/continued_row.hpp"
#include "incontext/calibration/head_calibration.hpp"
#include "incontext/calibration/head_detail.hpp"
#include "incontext/calibration/head_limits.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/head_summary.hpp"
#include "incontext/calibration/held_out.hpp"
#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/judged_quantity.hpp"
#include "incontext/calibration/length_summary.hpp"
#include "incontext/calibration/longer_row_temperatures.hpp"
#include "incontext/calibration/longer_rows.hpp"
#include "incontext/calibration/named_rules.hpp"
#include "incontext/calibration/normal_row.hpp"
#include "incontext/calibration/normality.hpp"
#include "incontext/calibration/phase.hpp"
#include "incontext/calibration/row_statistics.hpp"
#include "incontext/calibration/score_array.hpp"
#include "incontext/calibration/shifted_temperature.hpp"
#include "incontext/calibration/temperature_rules.hpp"
#include "incontext/calibration/visible_scores.hpp"
