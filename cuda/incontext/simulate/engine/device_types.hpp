#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "incontext/core/contracts.hpp"

namespace incontext::simulate {

/// Where the trials run. The numbers do not depend on it.
enum class Device { automatic, serial, openmp, tbb, cuda };

/// The name a command line uses for a device.
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

/// In place of the number of a GPU: every GPU of the machine. For all_gpus in simulate/engine/devices.hpp.
inline constexpr int every_gpu = -1;

/// The name of a device and, of several GPUs, of one: cuda:1, or of all: cuda:all. The first GPU is cuda.
inline std::string name(Device device, int gpu) {
  const std::string plain(name(device));
  if (device != Device::cuda || gpu == 0) return plain;
  return plain + ":" + (gpu == every_gpu ? "all" : std::to_string(gpu));
}

/// The number of the GPU that `text` names, as 1 in cuda:1, every_gpu for cuda:all; 0 for any other device.
///
/// Errors    std::invalid_argument if what is behind the colon is no number of a GPU.
inline int gpu_named(std::string_view text) {
  constexpr std::string_view prefix = "cuda:";
  if (text.substr(0, prefix.size()) != prefix) return 0;
  const std::string_view digits = text.substr(prefix.size());
  if (digits == "all") return every_gpu;
  int gpu = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), gpu);
  if (error != std::errc() || end != digits.data() + digits.size() || gpu < 0) {
    throw_invalid_argument("simulate::gpu_named", "GPU is unknown", text, "cuda:0, cuda:1 and so on, or cuda:all");
  }
  return gpu;
}

/// The device of that name, which for CUDA may name a GPU or all of them as well.
///
/// Errors    std::invalid_argument for any other name.
inline Device device_named(std::string_view text) {
  for (const Device device : {Device::automatic, Device::serial, Device::openmp, Device::tbb, Device::cuda}) {
    if (text == name(device)) return device;
  }
  if (text.substr(0, 5) == "cuda:") return gpu_named(text), Device::cuda;
  throw_invalid_argument("simulate::device_named", "device is unknown", text,
                         "automatic, serial, openmp, tbb, cuda or, of several GPUs, cuda:1 or cuda:all");
}

/// The largest number of threads that may be requested.
inline constexpr int most_threads = 4096;

}  // namespace incontext::simulate
