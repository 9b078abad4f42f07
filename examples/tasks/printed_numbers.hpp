#pragma once

#include <vector>

#include "examples/support/claims.hpp"
#include "examples/support/table.hpp"

namespace incontext::examples::tasks {

/// What the numbers that papers print say by themselves: counts of runs, scores of the same probes, losses beside
/// perplexities, and what is printed twice. `claims` gets what must be true of them if we copied them rightly.
std::vector<Table> printed_numbers(Claims& claims);

}  // namespace incontext::examples::tasks
