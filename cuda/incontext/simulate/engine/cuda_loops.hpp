#pragma once

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/statistics/moments.hpp"

#if defined(INCONTEXT_SIMULATE_CUDA)
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "incontext/simulate/engine/cuda_memory.hpp"

/// Loops over indices on a GPU, by a thread, half a warp or a block per index. Only engine/cuda.hpp includes it.
namespace incontext::simulate::detail {

/// Threads per block, and the number of blocks whose registers a multiprocessor must hold, which allows a thread 128
/// registers. Without the second number ptxas gives the literal trial 96 registers and spills.
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
  return static_cast<unsigned>((std::min<std::int64_t>)(blocks, (std::numeric_limits<int>::max)()));
}

/// Sets the gpu_stop of a source file.
using GpuStopSetter = cudaError_t (*)(const int* value, cudaStream_t stream);

/// Those of all source files with kernels. A file has its own gpu_stop, and its kernels may be launched by a function
/// of another file, because the linker keeps one of the files' versions of every inline function.
inline std::vector<GpuStopSetter>& gpu_stop_setters() {
  static std::vector<GpuStopSetter> all;
  return all;
}

static inline cudaError_t set_own_gpu_stop(const int* value, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(gpu_stop, value, sizeof *value, 0, cudaMemcpyHostToDevice, stream);
}
[[maybe_unused]] static const bool own_gpu_stop_is_known = (gpu_stop_setters().push_back(&set_own_gpu_stop), true);

/// Sets the number that stop_requested() reads on the calling thread's GPU, while a kernel may run there.
inline void set_gpu_stop(int value) {
  cudaStream_t aside = nullptr;
  if (cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking) != cudaSuccess) return (void)cudaGetLastError();
  for (const GpuStopSetter set : gpu_stop_setters()) {
    if (set(&value, aside) != cudaSuccess) (void)cudaGetLastError();
  }
  (void)cudaStreamSynchronize(aside);
  (void)cudaStreamDestroy(aside);
}

/// Whether the trials of the calling thread's GPU have been told to end.
struct GpuStop {
  std::mutex mutex = {};  // held while the GPU is told
  std::atomic<bool> is_told = false;
};

inline GpuStop& own_gpu_stop() {
  constexpr std::size_t most_gpus = 64;
  static std::array<GpuStop, most_gpus> all;
  int gpu = 0;
  if (cudaGetDevice(&gpu) != cudaSuccess) (void)cudaGetLastError();
  return all[static_cast<std::size_t>(gpu) % most_gpus];
}

/// Tells the GPU what the threads that wait for it are told, if it does not know. A run that is stopped ends before
/// another is launched there, so that no thread lets another's trials go on.
inline void tell_gpu() {
  GpuStop& stop = own_gpu_stop();
  if (stop.is_told == InterruptGuard::requested()) return;
  const std::lock_guard one(stop.mutex);
  const bool requested = InterruptGuard::requested();
  if (stop.is_told != requested) set_gpu_stop(requested ? 1 : 0);
  stop.is_told = requested;
}

/// Waits for a kernel, unless the thread has an OwnStream, and passes a stop request on to it meanwhile. Its launch and,
/// if it is waited for, its run are checked. After a millisecond it asks every 50 microseconds, and lets other threads
/// run in between.
inline void require_finished(std::string_view task) {
  require_done(cudaGetLastError(), task);
  if (!own_waits()) return;
  using Clock = std::chrono::steady_clock;
  const auto soon = Clock::now() + std::chrono::milliseconds(1);
  cudaError_t status = cudaStreamQuery(gpu_stream());
  for (; status == cudaErrorNotReady; status = cudaStreamQuery(gpu_stream())) {
    (void)cudaGetLastError();
    if (InterruptGuard::requested()) tell_gpu();
    if (Clock::now() < soon) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  require_done(status, task);
}

/// Calls function(index) for every index below count.
///
/// Errors    std::runtime_error that names Function::task; under an OwnStream only for a launch that fails.
template <class Function>
void for_each_on_gpu(std::int64_t count, const Function& function) {
  if (count <= 0) return;
  tell_gpu();
  call_for_each<<<gpu_blocks(count), gpu_block, 0, gpu_stream()>>>(count, function);
  require_finished(task_of<Function>());
}

/// One of the sixteen threads of half a warp, which know each other's numbers.
struct HalfWarp {
  static constexpr int lanes = statistics::moment_ways;

  [[nodiscard]] INCONTEXT_HD int lane() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x % lanes);
#else
    return 0;
#endif
  }

  /// The number that the thread of that lane calls this with; all sixteen must call it.
  template <class T>
  INCONTEXT_HD T from(int lane, const T& own) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(mask(), own, lane, lanes);
#else
    return lane == 0 ? own : T();
#endif
  }

  /// The number of the thread `distance` lanes further on; its own if there is none.
  template <class T>
  INCONTEXT_HD T from_after([[maybe_unused]] int distance, const T& own) const {
#if defined(__CUDA_ARCH__)
    return __shfl_down_sync(mask(), own, distance, lanes);
#else
    return own;
#endif
  }

  /// The sum of statistics::moments_of with a way per thread: neighbors read neighboring values. What a thread adds up
  /// and how the sums are folded are the operations of statistics::SerialWays in its order; the bits are the same.
  template <class T, class Term>
  INCONTEXT_HD double sum(const T* values, std::int64_t count, const Term& term) const {
    double own = statistics::sum_of_way(values, count, lane(), term);
    // After add(half), ways from `half` on hold what nothing reads.
    statistics::fold_ways([&](int half) { own += from_after(half, own); });
    return from(0, own);
  }

  /// Waits until all sixteen are here; what one has written to memory is then seen by all.
  INCONTEXT_HD void sync() const {
#if defined(__CUDA_ARCH__)
    __syncwarp(mask());
#endif
  }

 private:
  INCONTEXT_HD unsigned mask() const {
#if defined(__CUDA_ARCH__)
    return 0xffffu << (threadIdx.x % 32 / lanes * lanes);
#else
    return 0xffffu;
#endif
  }
};

template <class Function>
__global__ void __launch_bounds__(gpu_block, gpu_blocks_at_once)
    call_by_half_warps(std::int64_t count, const __grid_constant__ Function function) {
  const std::int64_t index = (std::int64_t{blockIdx.x} * gpu_block + threadIdx.x) / HalfWarp::lanes;
  if (index < count) function(index, HalfWarp{});
}

/// Calls function(index, HalfWarp) for every index below count by the sixteen threads of half a warp.
///
/// Errors    as for_each_on_gpu.
template <class Function>
void for_each_by_half_warps_on_gpu(std::int64_t count, const Function& function) {
  if (count <= 0) return;
  tell_gpu();
  call_by_half_warps<<<gpu_blocks(count * HalfWarp::lanes), gpu_block, 0, gpu_stream()>>>(count, function);
  require_finished(task_of<Function>());
}

/// One of the threads of a block, which share memory.
struct GpuBlock {
  static constexpr int threads = gpu_block;
  std::byte* shared;  // for the whole block, aligned to 16 bytes

  [[nodiscard]] INCONTEXT_HD int thread() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }

  /// Waits until all threads of the block are here; what one has written is then seen by all.
  INCONTEXT_HD void sync() const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
};

/// The most bytes of memory that a block's threads can share.
inline std::size_t gpu_shared_bytes() {
  int gpu = 0, bytes = 0;
  require_done(cudaGetDevice(&gpu), "asking for the GPU");
  require_done(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu),
               "asking for the size of shared memory");
  return static_cast<std::size_t>(bytes);
}

template <class Function>
__global__ void __launch_bounds__(gpu_block, gpu_blocks_at_once)
    call_by_blocks(std::int64_t count, const __grid_constant__ Function function) {
  extern __shared__ __align__(16) std::byte shared_by_block[];
  for (std::int64_t index = blockIdx.x; index < count; index += gridDim.x) {
    function(index, GpuBlock{shared_by_block});
    __syncthreads();  // the next index finds the shared memory free, also after functions that end without a wait
  }
}

/// Calls function(index, GpuBlock) for every index below count by the threads of a block, which share so many bytes.
///
/// Errors    as for_each_on_gpu.
template <class Function>
void for_each_by_blocks_on_gpu(std::int64_t count, std::size_t shared_bytes, const Function& function) {
  if (count <= 0) return;
  constexpr std::size_t without_asking = 48 << 10;
  if (shared_bytes > without_asking) {
    require_done(cudaFuncSetAttribute(call_by_blocks<Function>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shared_bytes)),
                 "asking for shared memory");
  }
  const auto blocks = static_cast<unsigned>((std::min<std::int64_t>)(count, (std::numeric_limits<int>::max)()));
  tell_gpu();
  call_by_blocks<<<blocks, gpu_block, shared_bytes, gpu_stream()>>>(count, function);
  require_finished(task_of<Function>());
}

}  // namespace incontext::simulate::detail
#endif
