#pragma once

#include "examples/support/table.hpp"
#include "examples/temperature/options.hpp"

/// The moment-ratio temperature of a matrix of raw attention scores, one query per row.
namespace incontext::examples::temperature {

Table scores_table(const TemperatureOptions& o);

}  // namespace incontext::examples::temperature
