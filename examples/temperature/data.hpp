#pragma once

#include <vector>

#include "examples/temperature/situation.hpp"

/// Real inputs: contexts and queries are rows of a file, drawn with replacement.
namespace incontext::examples::temperature {

std::vector<Table> data_tables(Run& run);

}  // namespace incontext::examples::temperature
