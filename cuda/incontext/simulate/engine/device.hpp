#pragma once

#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/cuda.hpp"
#include "incontext/simulate/engine/device_types.hpp"

namespace incontext::simulate {

/// The instructions of the processor that this translation unit was compiled for: "AVX-512" (x86-64-v4), "AVX2"
/// (x86-64-v3) or "plain". They change the speed of simulations and none of their digits.
static constexpr const char* instructions() {  // static: a program and its libraries must not share it
#if defined(__AVX512F__)
  return "AVX-512";
#elif defined(__AVX2__)
  return "AVX2";
#else
  return "plain";
#endif
}

/// Whether this program was built with the device and, for CUDA, whether the GPU of that number runs a kernel of it.
inline bool is_available(Device device, [[maybe_unused]] int gpu = 0) {
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
      return gpu >= 0 && gpu < detail::gpu_count() && detail::why_gpu_fails(gpu).empty();
#endif
    default:
      return false;
  }
}

namespace detail {

/// Refuses a device that is not available. A GPU is asked once, so that the message has the answer that decided.
inline void require_available(Device device, int gpu) {
  constexpr auto where = "simulate::resolve";
#if defined(INCONTEXT_SIMULATE_CUDA)
  const int gpus = device == Device::cuda ? gpu_count() : 0;
  if (gpus > 0) {
    if (gpu < 0 || gpu >= gpus) {
      throw_invalid_argument(where, "there is no such GPU", name(device, gpu),
                             "a number below " + std::to_string(gpus) + ", the number of GPUs here");
    }
    const std::string failure = why_gpu_fails(gpu);
    if (failure.empty()) return;
    throw_invalid_argument(where, "this program does not run on the GPU: " + failure, name(device, gpu),
                           "a GPU and driver it was built for");
  }
#endif
  if (device != Device::cuda && is_available(device, gpu)) return;
  throw_invalid_argument(where, "device is not available in this program or on this machine", name(device, gpu),
                         "a device it was built with; serial always is");
}

}  // namespace detail

/// The device that `automatic` means on this machine: the first available one of CUDA, OpenMP, TBB, serial. Any other
/// device is itself. If that is CUDA, the calling thread's runs are on the GPU of that number from here on.
///
/// Errors    std::invalid_argument if the device is not available.
inline Device resolve(Device device, int gpu = 0) {
  if (device == Device::automatic) {
    device = Device::serial;
    for (const Device candidate : {Device::tbb, Device::openmp, Device::cuda}) {
      if (is_available(candidate, gpu)) device = candidate;
    }
  }
  detail::require_available(device, gpu);
#if defined(INCONTEXT_SIMULATE_CUDA)
  if (device == Device::cuda) detail::use_gpu(gpu);
#endif
  return device;
}

/// Refuses a number of threads that is negative or above most_threads.
///
/// Errors    std::invalid_argument for such a number.
inline void require_threads(std::string_view where, int threads) {
  require_at_least(where, "threads", threads, 0);
  if (threads > most_threads) {
    throw_invalid_argument(where, "threads is too large", threads, "at most " + std::to_string(most_threads));
  }
}

}  // namespace incontext::simulate
