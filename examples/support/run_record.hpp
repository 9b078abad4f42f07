#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace incontext::examples {

/// How a report came about. What does not apply is absent: a program that simulates nothing has no device and no seed.
struct RunRecord {
  bool complete = true;  ///< whether everything that was asked for was run, not stopped before
  std::optional<std::int64_t> trials = {};
  double seconds = 0;
  std::optional<std::string> device = {};  ///< where the trials ran, not what `automatic` was asked for
  std::optional<std::int64_t> threads = {};
  std::optional<std::uint64_t> seed = {};
};

}  // namespace incontext::examples
