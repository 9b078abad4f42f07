#pragma once

#include <vector>

#include "examples/temperature/situation.hpp"

/// The default report: one shifted law and many temperatures.
namespace incontext::examples::temperature {

const std::vector<double>& usual_temperatures();

std::vector<Table> sweep_tables(Run& run, const LinearTask& training);

}  // namespace incontext::examples::temperature
