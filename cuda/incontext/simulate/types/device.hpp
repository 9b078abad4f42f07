#pragma once

#include <string_view>

#include "incontext/core/contracts.hpp"

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

/// The largest number of threads that may be requested.
///
/// Runs on   host
inline constexpr int most_threads = 4096;

}  // namespace incontext::simulate
