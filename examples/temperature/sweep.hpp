#pragma once

#include "examples/temperature/situation.hpp"

/// The default report: one shifted law and many temperatures.
namespace incontext::examples::temperature {

std::vector<Table> sweep_tables(Run& run, const LinearTask& training);

}  // namespace incontext::examples::temperature
