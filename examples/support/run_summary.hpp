#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace incontext::examples {

class RecordFile;

/// What a report says of its run. What does not apply is absent: without a simulation there is no device or seed.
struct RunSummary {
  bool complete = true;   ///< false if the run was stopped early
  bool simulated = true;  ///< false if the user asked for exact values alone
  std::optional<std::int64_t> trials = {};
  double seconds = 0;
  std::optional<std::string> device = {};  ///< where the trials ran: what `automatic` selected
  std::optional<std::int64_t> threads = {};
  std::optional<std::string> instructions = {};  ///< of the processor, that the trials were compiled for
  std::optional<std::uint64_t> seed = {};
  std::optional<std::int64_t> processes = {};  ///< that shared the run, if several did
  std::shared_ptr<RecordFile> file = {};       ///< in which the run is kept, if it is
};

}  // namespace incontext::examples
