#pragma once

#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/cuda.hpp"
#include "incontext/simulate/types/device.hpp"

namespace incontext::simulate {

/// Whether this program was built with the device and, for CUDA, whether a GPU answers.
///
/// Runs on   host
inline bool is_available(Device device) {
  switch (device) {
    case Device::automatic:
    case Device::serial:
      return true;
#if defined(INCONTEXT_SIMULATE_OMP)
    case Device::openmp:
      return true;
#endif
#if defined(INCONTEXT_SIMULATE_TBB)
    case Device::tbb:
      return true;
#endif
#if defined(INCONTEXT_SIMULATE_CUDA)
    case Device::cuda:
      return detail::gpu_count() > 0;
#endif
    default:
      return false;
  }
}

/// The device that `automatic` means on this machine: the first available one of CUDA, OpenMP, TBB, serial. Any other
/// device is itself.
///
/// Errors    std::invalid_argument if the device is not available.
/// Runs on   host
inline Device resolve(Device device) {
  if (device == Device::automatic) {
    for (const Device candidate : {Device::cuda, Device::openmp, Device::tbb}) {
      if (is_available(candidate)) return candidate;
    }
    return Device::serial;
  }
  if (!is_available(device)) {
    throw_invalid_argument("simulate::resolve", "device is not available in this program or on this machine",
                           name(device), "a device it was built with; serial always is");
  }
  return device;
}

/// Refuses a number of threads that is negative or above most_threads.
///
/// Errors    std::invalid_argument for such a number.
/// Runs on   host
inline void require_threads(std::string_view where, int threads) {
  require_at_least(where, "threads", threads, 0);
  if (threads > most_threads) {
    throw_invalid_argument(where, "threads is too large", threads, "at most " + std::to_string(most_threads));
  }
}

}  // namespace incontext::simulate
