#pragma once

#include <incontext/simulate/detail/memory.hpp>

#include <cstdint>
#include <string>

#include "examples/support/text.hpp"

namespace incontext::examples {

/// Refuses a dimension whose square matrices, so many at once, this machine cannot hold, before anything is computed.
inline void require_matrices(std::int64_t dimension, double matrices) {
  const double bytes = 8 * matrices * static_cast<double>(dimension) * static_cast<double>(dimension);
  if (bytes > simulate::detail::memory_of_machine()) {
    throw_input_error("--dimension", "takes more memory than there is", dimension,
                      "less: its matrices take " + simulate::detail::bytes_text(bytes));
  }
}

}  // namespace incontext::examples
