#pragma once

#include <vector>

#include "examples/temperature/situation.hpp"

/// Real inputs: contexts and queries are rows of a file, drawn with replacement.
namespace incontext::examples {

std::vector<Table> data_tables(Run& run);

}  // namespace incontext::examples
