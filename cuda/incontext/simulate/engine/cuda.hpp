#pragma once

#include "incontext/core/host_device.hpp"
#include "incontext/statistics/moments.hpp"

#if defined(INCONTEXT_SIMULATE_CUDA)
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "incontext/simulate/engine/cuda_memory.hpp"

/// What the engine needs of a GPU, for nvcc alone: its memory, and loops over indices. A test puts a header of its own
/// in the place of this one, whose GPU is the host (tests/simulate/host_gpu), so that the GPU's path runs where there
/// is none.
namespace incontext::simulate::detail {

/// The number of GPUs that the driver reports; 0 without a driver.
inline int gpu_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

/// Threads per block, and the blocks that a multiprocessor must have registers for: 128 registers per thread. Without
/// the second number ptxas leaves the literal trial 96 and spills.
inline constexpr int gpu_block = 128, gpu_blocks_at_once = 4;

/// One index per thread. Thrust's loops give a thread two, unrolled, for which a trial's registers do not suffice.
template <class Function>
__global__ void __launch_bounds__(gpu_block, gpu_blocks_at_once)
    call_for_each(std::int64_t count, const __grid_constant__ Function function) {
  const std::int64_t index = std::int64_t{blockIdx.x} * gpu_block + threadIdx.x;
  if (index < count) function(index);
}

/// What a function does, for the message if it fails.
template <class Function>
constexpr std::string_view task_of() {
  if constexpr (requires { std::string_view(Function::task); }) return Function::task;
  return "a kernel";
}

/// The number of blocks for that many threads.
inline unsigned gpu_blocks(std::int64_t threads) {
  const std::int64_t blocks = (threads + gpu_block - 1) / gpu_block;
  return static_cast<unsigned>(std::min<std::int64_t>(blocks, std::numeric_limits<unsigned>::max()));
}

/// Waits for a kernel; its launch and its run are checked.
inline void require_finished(std::string_view task) {
  require_done(cudaGetLastError(), task);
  require_done(cudaDeviceSynchronize(), task);
}

/// Calls function(index) for every index below count.
///
/// Errors    std::runtime_error that names Function::task.
template <class Function>
void for_each_on_gpu(std::int64_t count, const Function& function) {
  if (count <= 0) return;
  call_for_each<<<gpu_blocks(count), gpu_block>>>(count, function);
  require_finished(task_of<Function>());
}

/// The ways of statistics::moments_of, one per thread of half a warp: neighbors read neighboring values. What a thread
/// adds up and how the sixteen sums are folded are the operations of statistics::SerialWays in its order, so that the
/// bits are the same.
struct HalfWarpWays {
  template <class T, class Term>
  INCONTEXT_HD double sum([[maybe_unused]] const T* values, [[maybe_unused]] std::int64_t count,
                          [[maybe_unused]] const Term& term) const {
#if defined(__CUDA_ARCH__)
    constexpr int ways = statistics::moment_ways;
    const unsigned half_warp = 0xffffu << (threadIdx.x % 32 / ways * ways);
    double own = statistics::sum_of_way(values, count, static_cast<int>(threadIdx.x % ways), term);
    // After add(half), ways from `half` on hold what nothing reads.
    statistics::fold_ways([&](int half) { own += __shfl_down_sync(half_warp, own, half, ways); });
    return __shfl_sync(half_warp, own, 0, ways);
#else
    return 0;
#endif
  }
};

template <class Function>
__global__ void __launch_bounds__(gpu_block, gpu_blocks_at_once)
    call_by_ways(std::int64_t count, const __grid_constant__ Function function) {
  const std::int64_t index = (std::int64_t{blockIdx.x} * gpu_block + threadIdx.x) / statistics::moment_ways;
  if (index < count) function(index, HalfWarpWays{});
}

/// Calls function(index, ways) for every index below count by as many threads as there are ways; all get the same sums.
///
/// Errors    as for_each_on_gpu.
template <class Function>
void for_each_by_ways_on_gpu(std::int64_t count, const Function& function) {
  if (count <= 0) return;
  call_by_ways<<<gpu_blocks(count * statistics::moment_ways), gpu_block>>>(count, function);
  require_finished(task_of<Function>());
}

struct Nothing {
  static constexpr std::string_view task = "a first kernel";
  INCONTEXT_HD void operator()(std::int64_t) const {}
};

/// Selects the calling thread's GPU.
inline void use_gpu(int gpu) { require_done(cudaSetDevice(gpu), "selecting the GPU"); }

/// Why a kernel of this program does not run on a GPU, for one without code for it, say; empty if it runs. It is tried
/// once.
inline std::string why_gpu_fails(int gpu) {
  static std::mutex mutex;
  static std::map<int, std::string> known;
  const std::lock_guard one(mutex);
  const auto [found, is_new] = known.try_emplace(gpu);
  if (!is_new) return found->second;
  int before = 0;
  const bool has_before = cudaGetDevice(&before) == cudaSuccess;
  try {
    use_gpu(gpu);
    for_each_on_gpu(1, Nothing{});
  } catch (const std::exception& error) {
    found->second = error.what();
  }
  if (has_before) (void)cudaSetDevice(before);
  (void)cudaGetLastError();
  return found->second;
}

}  // namespace incontext::simulate::detail
#endif
