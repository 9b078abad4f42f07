#pragma once

#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"

#if defined(INCONTEXT_SIMULATE_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace incontext::simulate {

/// Where the trials run. The numbers do not depend on it.
///
/// Runs on   host
enum class Device { automatic, serial, openmp, tbb, cuda };

/// The name a command line uses for a device.
///
/// Runs on   host
inline std::string_view name(Device device) {
  switch (device) {
    case Device::automatic:
      return "automatic";
    case Device::serial:
      return "serial";
    case Device::openmp:
      return "openmp";
    case Device::tbb:
      return "tbb";
    case Device::cuda:
      return "cuda";
  }
  return "unknown";
}

/// The device of that name.
///
/// Errors    std::invalid_argument for any other name.
/// Runs on   host
inline Device device_named(std::string_view text) {
  for (const Device device : {Device::automatic, Device::serial, Device::openmp, Device::tbb, Device::cuda}) {
    if (text == name(device)) return device;
  }
  throw_invalid_argument("simulate::device_named", "device is unknown", text, "automatic, serial, openmp, tbb or cuda");
}

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
    case Device::cuda: {
      int count = 0;
      return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    }
#endif
    default:
      return false;
  }
}

/// The device that `automatic` stands for here: CUDA, OpenMP, TBB, serial, whichever comes first; any other is itself.
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

/// The largest number of threads that may be requested.
///
/// Runs on   host
inline constexpr int most_threads = 4096;

/// Refuses a number of threads that is negative or above most_threads.
///
/// Errors    std::invalid_argument.
/// Runs on   host
inline void require_threads(std::string_view where, int threads) {
  require_at_least(where, "threads", threads, 0);
  if (threads > most_threads) {
    throw_invalid_argument(where, "threads is too large", threads, "at most " + std::to_string(most_threads));
  }
}

}  // namespace incontext::simulate
