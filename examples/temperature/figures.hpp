#pragma once

#include <vector>

#include "examples/temperature/situation.hpp"

/// The figures of arXiv 2511.01292 as tables. Attention is pretrained at its own context length on the training law and
/// meets the training law with one quantity shifted.
namespace incontext::examples::temperature {

std::vector<Table> figure_tables(Run& run, const LinearTask& training);

}  // namespace incontext::examples::temperature
