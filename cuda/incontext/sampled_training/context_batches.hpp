#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/device_types.hpp"

namespace incontext::training {

/// The contexts on which the gradients are computed, and the device. Step t uses the contexts t * batch to
/// (t + 1) * batch - 1 of the seed. Contexts from number held_out on are for evaluations: no training reaches them.
///
/// Domain    1 <= batch <= 2^24; 0 <= threads (0: all).
struct ContextBatches {
  std::int64_t batch = 512;
  std::uint64_t seed = 1;
  simulate::Device device = simulate::Device::automatic;
  int threads = 0;
  int gpu = 0;  ///< which of several; last, because it came last: four values in braces keep their meaning

  static constexpr std::int64_t held_out = std::int64_t{1} << 60;
};

/// Refuses batches outside their domain.
///
/// Errors    std::invalid_argument that names the field.
inline void validate(const ContextBatches& batches, std::string_view where = "training::ContextBatches") {
  require_at_least(where, "batch", batches.batch, std::int64_t{1});
  if (batches.batch > (1 << 24)) throw_invalid_argument(where, "batch is too large", batches.batch, "at most 2^24");
  simulate::require_threads(where, batches.threads);
}

}  // namespace incontext::training
