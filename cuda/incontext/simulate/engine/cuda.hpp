#pragma once

#include "incontext/core/host_device.hpp"

#if defined(INCONTEXT_SIMULATE_CUDA)
#include <cuda_runtime_api.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "incontext/simulate/engine/cuda_loops.hpp"
#include "incontext/simulate/engine/cuda_memory.hpp"

/// What the engine needs of a GPU, for nvcc alone: its memory, and loops over indices. A test replaces this header with
/// one in which the host acts as the GPU (tests/simulate/host_gpu), so that the GPU's path runs on machines without
/// one.
namespace incontext::simulate::detail {

/// The number of GPUs that the driver reports; 0 without a driver.
inline int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

struct Nothing {
  static constexpr std::string_view task = "a first kernel";
  INCONTEXT_HD void operator()(std::int64_t) const {}
};

/// Selects the calling thread's GPU.
inline void use_gpu(int gpu) { require_done(cudaSetDevice(gpu), "selecting the GPU"); }

/// Why a kernel of this program does not run on a GPU, for example because the program has no code for that GPU; empty
/// if it runs. A GPU on which it runs is tried once; that also loads the variables of all source files there, so that
/// none is loaded while a kernel runs. One on which it does not run is tried again, because its memory may have been
/// full for a moment.
inline std::string why_gpu_fails(int gpu) {
  static std::mutex mutex;
  static std::set<int> known;
  const std::lock_guard one(mutex);
  if (known.contains(gpu)) return "";
  int before = 0;
  const bool has_before = cudaGetDevice(&before) == cudaSuccess;
  std::string failure;
  try {
    use_gpu(gpu);
    for_each_on_gpu(1, Nothing{});
    set_gpu_stop(0);
    known.insert(gpu);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  if (has_before) (void)cudaSetDevice(before);
  (void)cudaGetLastError();
  return failure;
}

}  // namespace incontext::simulate::detail
#endif
