#pragma once

#include <incontext/simulate/engine/memory.hpp>

#include <cstdint>
#include <string>

#include "examples/support/text.hpp"

namespace incontext::examples {

/// Refuses, before anything is computed, a dimension for which this number of square matrices does not fit into memory.
inline void require_matrices(std::int64_t dimension, double matrices) {
  const double bytes = 8 * matrices * static_cast<double>(dimension) * static_cast<double>(dimension);
  if (bytes > simulate::detail::memory_of_machine()) {
    throw_input_error("--dimension", "needs more memory than this machine has", dimension,
                      "a smaller value: its matrices take " + simulate::detail::bytes_text(bytes));
  }
}

}  // namespace incontext::examples
