#pragma once

#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/device_types.hpp"

namespace incontext::training::detail {

/// The device of a training that runs on CPUs alone: `automatic` is the first available one of them.
inline simulate::Device host_device(std::string_view where, simulate::Device device) {
  using simulate::Device;
  if (device == Device::cuda) {
    throw_invalid_argument(where, "device is not available for this training", simulate::name(device),
                           "serial, openmp or tbb");
  }
  const Device resolved = simulate::resolve(device);
  if (resolved != Device::cuda) return resolved;
  for (const Device candidate : {Device::openmp, Device::tbb}) {
    if (simulate::is_available(candidate)) return candidate;
  }
  return Device::serial;
}

}  // namespace incontext::training::detail
